// The fields of a statement: a value, or the reason why there is none, and what it rests on.
import { addMonths, type DaySpan } from '../../domain/period.ts';
import type { PayloadByTopic } from '../payloads/payloads.ts';

export type Statement = PayloadByTopic['meter/<meter>/statement'];
export type Field<T> = Omit<Statement['energy'], 'value'> & { readonly value: T | null };
export type Basis = NonNullable<Field<unknown>['basis']>;
type Reason = NonNullable<Field<unknown>['reason']>;

export const valued = <T>(value: T, basis: Basis): Field<T> => ({ value, reason: null, basis });
export const unknown = (reason: Reason): Field<never> => ({ value: null, reason, basis: null });

/** `2026-10` as its days. */
export const spanOf = (month: string): DaySpan => ({ from: `${month}-01`, to: addMonths(`${month}-01`, 1) });

/** `2026-10` of twelve months later: `2025-10`. */
export const monthBefore = (month: string, months: number): string =>
  addMonths(`${month}-01`, -months).slice(0, 7);
