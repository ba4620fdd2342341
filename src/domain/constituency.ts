// Constituencies and panels of the two chambers: what is asked, what was found, who is who, and in which order.

export type Chamber = 'dail' | 'seanad';

export interface House {
  readonly chamber: string | null;
  readonly houseNo: number | null;
  readonly name: string | null;
  readonly uri: string | null;
}

/** Known by its `uri`: the same name recurs in many houses. */
export interface Constituency {
  readonly uri: string;
  readonly name: string;
  readonly code: string | null;
  readonly type: string | null;
  readonly house: House;
}

/** `null` and an empty list leave the choice open. */
export interface ConstituencyQuestion {
  readonly chamber: Chamber | null;
  readonly houseNo: number | null;
  /** House URIs without their host, sorted, each once. */
  readonly chamberIds: readonly string[];
  readonly skip: number | null;
  readonly limit: number | null;
}

export interface ConstituencyList {
  /** Unique by uri, in order; `null` when no reply has had a known shape yet. */
  readonly constituencies: readonly Constituency[] | null;
  /** How many there are, by the service's own word, before `skip` and `limit`; `null` when it does not say. */
  readonly total: number | null;
  /** The service gave everything that it says it has and that was asked for. */
  readonly complete: boolean;
  /** The newest reply, unaltered, when its shape was not known. */
  readonly raw: Readonly<Record<string, unknown>> | null;
}

/** By name as Irish sorts it (a fada only breaks a tie), then by house; the provider's own order does not hold still. */
export function inOrder(rows: Iterable<Constituency>): Constituency[] {
  const irish = new Intl.Collator('ga');
  return [...rows].sort(
    (a, b) =>
      irish.compare(a.name, b.name) ||
      compareText(a.house.chamber ?? '', b.house.chamber ?? '') ||
      (a.house.houseNo ?? 0) - (b.house.houseNo ?? 0) ||
      compareText(a.uri, b.uri),
  );
}

/** What a reader should know before trusting the list; `null` when there is nothing. */
export function caveat({ constituencies, total, complete }: ConstituencyList): string | null {
  if (constituencies === null) return 'The reply has a shape that is not known: it is passed on as it came.';
  if (complete) return null;
  return `The list is not whole: the service gave ${constituencies.length} of ${total ?? 'an unknown number'}.`;
}

/** Whether both say the same of the constituencies, whenever they were fetched. */
export const saysTheSame = (a: ConstituencyList, b: ConstituencyList): boolean =>
  JSON.stringify([a.constituencies, a.raw]) === JSON.stringify([b.constituencies, b.raw]);

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
