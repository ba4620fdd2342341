// Constituencies and panels of the two chambers: what is asked, what was found, who is who, and in which order.
import * as z from 'zod';
import { compareText } from './order.ts';

export const CHAMBERS = ['dail', 'seanad'] as const;

const words = z.string().nullable();
const count = z.int().nullable();

const house = z.object({ chamber: words, houseNo: count, name: words, uri: words }).readonly();

/** Known by its `uri`: the same name recurs in many houses. */
const constituency = z.object({ uri: z.string(), name: z.string(), code: words, type: words, house });
export type Constituency = Readonly<z.infer<typeof constituency>>;

/** `null` and an empty list leave the choice open. */
const question = z.object({
  chamber: z.enum(CHAMBERS).nullable(),
  houseNo: count,
  /** House URIs without their host, sorted, each once. */
  chamberIds: z.array(z.string()).readonly(),
  skip: count,
  limit: count,
});
export type ConstituencyQuestion = Readonly<z.infer<typeof question>>;

const list = z.object({
  /** Unique by uri, in order; `null` when no reply has had a known shape yet. */
  constituencies: z.array(constituency.readonly()).readonly().nullable(),
  /** The rows that match, whatever `skip` and `limit` leave out; `null` if the service does not tell. */
  total: count,
  /** These are all that match; `null` when the service does not tell. */
  complete: z.boolean().nullable(),
  /** Rows that could not be read, and are left out. Lists of earlier builds do not tell. */
  unreadable: z.int().default(0),
  /** The newest reply, unaltered, when its shape was not known. */
  raw: z.record(z.string(), z.unknown()).readonly().nullable(),
});
export type ConstituencyList = Readonly<z.infer<typeof list>>;

/** A question and the list that answers it. */
export const answered = z.object({ question: question.readonly(), list: list.readonly() });
export type Answered = Readonly<z.infer<typeof answered>>;

/** Sorted by name in Irish order (a fada only breaks a tie), then by house: the order of the service changes. */
export function inOrder(rows: Iterable<Constituency>): Constituency[] {
  const irish = new Intl.Collator('ga');
  return [...rows].sort(
    (a, b) =>
      irish.compare(a.name, b.name) ||
      compareText(a.house.chamber ?? '', b.house.chamber ?? '') ||
      placeOf(a) - placeOf(b) ||
      compareText(a.uri, b.uri),
  );
}

/** Oldest first: a house with a year is older than those with numbers. */
function placeOf({ house: { houseNo } }: Constituency): number {
  const number = houseNo ?? 0;
  return isYear(number) ? number - OLDER_THAN_NUMBERS : number;
}
const OLDER_THAN_NUMBERS = 100_000;

/** `skip` and `limit` leave so many of `total` matching rows. */
export const rowsAskedFor = ({ skip, limit }: ConstituencyQuestion, total: number): number =>
  Math.min(limit ?? Number.POSITIVE_INFINITY, Math.max(0, total - (skip ?? 0)));

/** Why rows may be missing that the service has not given; `null`: it has given all of them. */
export function gapIn({ question, list }: Answered): string | null {
  const { constituencies, total, complete, unreadable } = list;
  if (constituencies === null) return 'The reply has a shape that is not known: it is passed on as it came.';
  const asked = total === null ? 0 : rowsAskedFor(question, total);
  const given = constituencies.length + unreadable;
  if (given < asked) return `The list is not whole: the service gave ${given} of ${asked}.`;
  const isPage = question.skip !== null || question.limit !== null;
  const isUnknown = total === null && !complete && !isPage;
  return isUnknown ? 'The service does not tell whether these are all.' : null;
}

/** A caveat about the list; `null` when there is none. */
export function caveat(answered: Answered): string | null {
  const { unreadable } = answered.list;
  const leftOut =
    unreadable === 0
      ? null
      : `Left out, as they cannot be read: ${unreadable} of the rows that the service gave.`;
  return gapIn(answered) ?? leftOut;
}

/** The rows that `skip` and `limit` leave of a list, with the figures of the whole list. */
export function pageOf(
  { skip, limit }: ConstituencyQuestion,
  rows: readonly Constituency[],
  { total, complete, unreadable }: Pick<ConstituencyList, 'total' | 'complete' | 'unreadable'>,
): ConstituencyList {
  const from = skip ?? 0;
  const constituencies = rows.slice(from, limit === null ? undefined : from + limit);
  const isAll = complete && constituencies.length === total;
  return { constituencies, total, complete: isAll, unreadable, raw: null };
}

// The Seanads of the Free State, of 1922 to 1934, have years in place of numbers.
const EARLIEST_YEAR = 1900;
const isYear = (houseNo: number): boolean => houseNo > EARLIEST_YEAR;

/** The newest of these houses of one chamber, by their numbers; `null`: there is none that has a number. */
export function newestHouse(houseNos: readonly (number | null)[]): number | null {
  const numbers = houseNos.filter((houseNo) => houseNo !== null && !isYear(houseNo));
  return numbers.reduce<number | null>((newest, houseNo) => Math.max(newest ?? 0, houseNo ?? 0), null);
}

/** The part of a chamber's whole list for the sitting house, the newest one. A list with gaps does not tell it. */
export function ofSittingHouse(question: ConstituencyQuestion, list: ConstituencyList): Answered {
  const rows = list.constituencies ?? [];
  const houseNo = newestHouse(rows.map(({ house }) => house.houseNo));
  const { total, unreadable } = list;
  const isWhole = list.complete || (total !== null && rows.length + unreadable >= total);
  if (!isWhole || houseNo === null) return { question: { ...question, skip: null, limit: null }, list };
  const ofHouse = rows.filter(({ house }) => house.houseNo === houseNo);
  // Rows that cannot be read may be of any house.
  const figures = { total: ofHouse.length, complete: list.complete, unreadable };
  return { question: { ...question, houseNo }, list: pageOf(question, ofHouse, figures) };
}
