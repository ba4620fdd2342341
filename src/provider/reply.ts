// Reads the provider's JSON: checks what we need, ignores the rest, and says exactly what was wrong. Lists, page by page; and the
// shape of a reply, for reports.
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type Micro, toMicro } from '../domain/amount.ts';
import { listOf } from '../domain/listOf.ts';
import type { Log } from '../foundation/log.ts';
import { type Ask, type Exchange, UnexpectedReply } from './request.ts';

const LONGEST_SHOWN = 64;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** Text of the other side that reaches a topic: cut, and printable. Other characters become spaces. */
export const printable = (text: string, most = LONGEST_SHOWN): string =>
  beginning(text, most).replace(UNPRINTABLE, ' ');

/** A slice would keep the whole text in memory: what is joined anew does not. */
const beginning = (text: string, most: number): string =>
  text.length <= most ? text : Array.from(text.slice(0, most)).join('');

/**
 * An id counts as it is written: integers beyond 2^53 come as text (foundation/json.ts), and other numbers that large are of no
 * use as an id.
 */
const isWrittenSo = (id: string | number): boolean =>
  typeof id === 'string' || Math.abs(id) <= Number.MAX_SAFE_INTEGER;
export const numberOrText = z
  .union([z.string().min(1), z.number()])
  .refine(isWrittenSo, 'an id in digits or text')
  .transform((id) => String(id));

/** Ids are numbers at the provider and opaque text for us. What would have to be changed to be shown is none. */
export const opaqueId = numberOrText.refine(
  (id) => id === printable(id),
  `an id of at most ${LONGEST_SHOWN} printable characters`,
);

/** A type or a status. */
export const shortText = z.string().transform((text) => printable(text));

/** The number of a meter, as it is shown. */
export const meterIdentifier = numberOrText.transform((text) => printable(text));

/** Above this, millionths are no longer exact integers. */
export const LARGEST_UNITS = 1_000_000_000;
/** Later ones are beyond what JavaScript and our day texts can write. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31);

const decimal = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d{1,16}(\.\d{1,12})?$/)
    .transform(Number),
]);
const isExact = (units: number) => Math.abs(units) <= LARGEST_UNITS;

/** A number, also written as text; anything else is not known. */
export const looseAmount: z.ZodType<Micro | null> = decimal
  .refine(isExact)
  .transform(toMicro)
  .nullable()
  .catch(null);

/** Epoch milliseconds, also written as text; anything else is not known. */
export const looseInstant: z.ZodType<number | null> = decimal
  .refine((ms) => ms > 0 && ms <= LAST_INSTANT)
  .transform(Math.round)
  .nullable()
  .catch(null);

/** Resolves to the answer, which has this shape; rejects with UnexpectedReply, which names what was asked for. */
export const askFor = async <T>(ask: Ask, exchange: Exchange, shape: z.ZodType<T>): Promise<T> =>
  parseReply(exchange.what, shape, await ask(exchange));

/** Parses or throws UnexpectedReply, which names the path and the type found there, never its value. */
export function parseReply<T>(what: string, schema: z.ZodType<T>, json: unknown): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path ?? [];
  throw new UnexpectedReply(
    what,
    `${expectedBy(issue)} at ${writePath(path)}`,
    kindInWords(valueAt(json, path)),
  );
}

function expectedBy(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'custom') return issue.message;
  return issue && 'expected' in issue ? String(issue.expected) : 'another shape';
}

const writePath = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? 'the top' : path.map(String).join('.');

function valueAt(json: unknown, path: readonly PropertyKey[]): unknown {
  let value = json;
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return value;
}

/** The kind of what came, without its value. */
export function kindInWords(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const PAGE_ROWS = 50;
// Ends a list that a confused server goes on with for ever.
const MOST_PAGES = 100;
const MOST_ROWS = MOST_PAGES * PAGE_ROWS;

/**
 * A list has at most so many rows on all its pages. One that cannot be read refuses all of them: without a property its meter would be
 * withdrawn, and without a bucket a day would look unread. Bills and registers do without such rows.
 */
export const rowsOf = <T>(row: z.ZodType<T>): z.ZodType<T[]> => listOf(row, MOST_ROWS);

export interface ListQuestion<T> {
  readonly what: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The needed part of a row alone, since all are in memory until the last page has come. */
  readonly row: z.ZodType<T>;
  readonly signal?: AbortSignal | undefined;
  /** Told what is missing. Absent where that does no harm. */
  readonly log?: Log;
}

/** The identity of a row that has no other. */
export const digestOf = (given: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(given) ?? '')
    .digest('base64');

/**
 * All rows, each id once. Ends at `total_num`, or with a page that brings nothing new; a server that gives the
 * same page whatever is asked is asked for everything in one. What is missing after that is told to the log.
 */
export async function readList<T extends { readonly id: unknown }>(
  ask: Ask,
  question: ListQuestion<T>,
): Promise<T[]> {
  const { what, path, query, row, signal, log } = question;
  const page = z.object({ objects: rowsOf(row), total_num: z.int().min(0).nullish() });
  const rows = new Map<unknown, T>();
  // It is not a number where the provider tells none: no count is less, or enough.
  let total = Number.NaN;

  /** Resolves to how many rows the page has. */
  async function read(number: number, count: number): Promise<number> {
    const paged = new URLSearchParams({ ...query, page: String(number), count: String(count) });
    const json = await ask({ method: 'GET', path, query: paged, what, signal });
    const { objects, total_num } = parseReply(what, page, Array.isArray(json) ? { objects: json } : json);
    for (const object of objects) rows.set(object.id, object);
    total = total_num ?? Number.NaN;
    return objects.length;
  }

  for (let number = 1; number <= MOST_PAGES && rows.size < MOST_ROWS; number += 1) {
    const before = rows.size;
    const given = await read(number, PAGE_ROWS);
    if (rows.size === before) {
      const ignoresPage = rows.size < total || (Number.isNaN(total) && given >= PAGE_ROWS);
      if (ignoresPage && given > 0) await read(1, MOST_ROWS);
      break;
    }
    if (rows.size >= total) break;
  }
  if (rows.size < total) log?.warn({ what, rows: rows.size, total }, 'the list is not whole');
  return [...rows.values()];
}

/** A list without the rows that cannot be read, unless none can. `needed`: what each has to have, in words. */
export async function readKnown<T extends object>(
  ask: Ask,
  question: ListQuestion<T | null>,
  needed: string,
): Promise<T[]> {
  const row = z.unknown().transform((given) => {
    const known = question.row.safeParse(given).data ?? null;
    return { known, id: known !== null && 'id' in known ? known.id : digestOf(given) };
  });
  const rows = await readList(ask, { ...question, row });
  const known = rows.flatMap((each) => each.known ?? []);
  if (rows.length > 0 && known.length === 0)
    throw new UnexpectedReply(question.what, needed, `${rows.length} without`);
  return known;
}

const MOST_PATHS = 250;
const DEEPEST = 12;
const MOST_ROWS_SHOWN = 1_000;
// An id or a name used as a key is a value, and must not be shown.
const ORDINARY_KEY = /^[@_]?[A-Za-z](?!.*\d{3})[\w-]{0,39}$/;

/** One line for each path, such as `objects[].id: number|null`, sorted. Lists are one row of all types seen in them. */
export function shapeOf(json: unknown): string[] {
  const kinds = new Map<string, Set<string>>();
  collect(json, '', 0, kinds);
  return [...kinds]
    .map(([path, types]) => `${path.replace(/^\./, '') || 'top'}: ${[...types].sort().join('|')}`)
    .sort();
}

function collect(value: unknown, path: string, depth: number, kinds: Map<string, Set<string>>): void {
  const types = kinds.get(path) ?? new Set();
  if (kinds.size >= MOST_PATHS && !kinds.has(path)) return;
  kinds.set(path, types);
  types.add(kindOf(value));
  if (typeof value !== 'object' || value === null || depth >= DEEPEST) return;
  const inner = Array.isArray(value)
    ? value.map((row) => ['[]', row] as const)
    : Object.entries(value).map(
        ([key, field]) => [ORDINARY_KEY.test(key) ? `.${key}` : '.<key>', field] as const,
      );
  for (const [step, each] of inner.slice(0, MOST_ROWS_SHOWN)) collect(each, path + step, depth + 1, kinds);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return typeof value;
}
