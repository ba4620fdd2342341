// Reading foreign JSON: strict about what we need, blind to the rest, and exact about what was wrong.
import * as z from 'zod';
import { type Micro, toMicro } from '../domain/amount.ts';
import { UnexpectedReply } from './request.ts';

/** Ids are numbers at the provider and opaque text at our walls. */
export const opaqueId = z.union([z.string().min(1), z.number()]).transform((id) => String(id));

/** Above this, millionths are no longer exact integers. */
export const LARGEST_UNITS = 1_000_000_000;
/** Within the calendar that JavaScript and our day texts can write. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31);

const decimal = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d{1,16}(\.\d{1,12})?$/)
    .transform(Number),
]);
const fits = (units: number) => Math.abs(units) <= LARGEST_UNITS;

/** A number, also written as text; whatever else stands there is not known. */
export const looseAmount: z.ZodType<Micro | null> = decimal
  .refine(fits)
  .transform(toMicro)
  .nullish()
  .transform((amount) => amount ?? null)
  .catch(null);

/** Epoch milliseconds, also written as text; whatever else stands there is not known. */
export const looseInstant: z.ZodType<number | null> = decimal
  .refine((ms) => ms > 0 && ms <= LAST_INSTANT)
  .transform(Math.round)
  .nullish()
  .transform((ms) => ms ?? null)
  .catch(null);

/** For one row of many, which must not lose the others: `null` when it is not understood. */
export const understandRow = <T>(schema: z.ZodType<T>, row: unknown): T | null =>
  schema.safeParse(row, ONCE).data ?? null;

// zod would compile code for each schema: that costs more than the few replies of a day, and pays for thousands.
const ONCE = { jitless: true };
const MANY = 500;
const timesRead = new WeakMap<z.ZodType, number>();

function contextFor(schema: z.ZodType): typeof ONCE | undefined {
  const times = (timesRead.get(schema) ?? 0) + 1;
  timesRead.set(schema, times);
  return times > MANY ? undefined : ONCE;
}

/** Parses or throws UnexpectedReply, which names the path and the type found there, never its value. */
export function understand<T>(what: string, schema: z.ZodType<T>, json: unknown): T {
  const result = schema.safeParse(json, contextFor(schema));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path ?? [];
  const expected = issue && 'expected' in issue ? String(issue.expected) : 'another shape';
  throw new UnexpectedReply(what, `${expected} at ${writePath(path)}`, kindOf(valueAt(json, path)));
}

const writePath = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? 'the top' : path.map(String).join('.');

function valueAt(json: unknown, path: readonly PropertyKey[]): unknown {
  let value = json;
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return value;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
