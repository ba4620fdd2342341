// The fields of a statement: a value, or the reason why there is none, and what it rests on.
import { addMonths, type DaySpan } from '../../domain/period.ts';
import type { PayloadByTopic } from '../payloads/payloads.ts';
import type { AccountView, MeterView, WitnessView } from '../views.ts';

export type Statement = PayloadByTopic['meter/<meter>/statement'];
export type Field<T> = Omit<Statement['energy'], 'value'> & { readonly value: T | null };
export type Basis = NonNullable<Field<unknown>['basis']>;
export type Price = NonNullable<Statement['prices']['value']>[number];
export type Bill = NonNullable<Statement['bills']['value']>[number];
type Reason = NonNullable<Field<unknown>['reason']>;

export const valued = <T>(value: T, basis: Basis): Field<T> => ({ value, reason: null, basis });
export const unknown = (reason: Reason): Field<never> => ({ value: null, reason, basis: null });

/** The facts that a statement is made from. */
export interface StatementFacts {
  readonly meter: MeterFacts;
  readonly account: AccountFacts;
}
export type AccountFacts = Pick<
  AccountView,
  'account' | 'zone' | 'invoices' | 'checks' | 'balance' | 'statement' | 'asked'
>;
export interface MeterFacts
  extends Pick<
    MeterView,
    | 'meter'
    | 'friendlyName'
    | 'area'
    | 'tenancy'
    | 'house'
    | 'currency'
    | 'identifiers'
    | 'register'
    | 'readingCloses'
    | 'zone'
  > {
  readonly witness?: Pick<WitnessView, 'midnights'> | undefined;
}

/** `2026-10` as its days. */
export const spanOf = (month: string): DaySpan => ({ from: `${month}-01`, to: addMonths(`${month}-01`, 1) });

/** `2026-10` of twelve months later: `2025-10`. */
export const monthBefore = (month: string, months: number): string =>
  addMonths(`${month}-01`, -months).slice(0, 7);
