// The ledger of one property: the provider's latest word on each day, and what a new reply changes in it.
import type { Micro } from './amount.ts';
import { addDays, chunks, type Day, type DaySpan, daysBetween } from './period.ts';
import type { Bucket } from './reading.ts';

export interface Amounts {
  readonly energy: Micro | null;
  readonly cost: Micro | null;
}

export interface DayRecord extends Amounts {
  /** 0 as first given; one more for each correction. */
  readonly revision: number;
  /** Epoch milliseconds of the reply that brought these amounts. */
  readonly receivedAt: number;
}

export interface Ledger {
  /** First day of the totals. Frozen when the ledger is opened. */
  readonly origin: Day;
  readonly days: ReadonlyMap<Day, DayRecord>;
  /** Days of absurd amounts, kept out of `days` until the provider has given them twice; negative ones for good. */
  readonly held: ReadonlyMap<Day, Amounts>;
  /** Every day before this one has been asked for at least once. */
  readonly readTo: Day;
  /** The history since the origin has been read to its end: totals may be published. */
  readonly complete: boolean;
  /** The last day on which the long window was read again. */
  readonly sweptOn: Day | null;
}

export interface Change {
  readonly kind: 'new_day' | 'corrected';
  readonly day: Day;
  readonly before: Amounts | null;
  readonly after: Amounts;
}

export interface Merge {
  readonly ledger: Ledger;
  readonly changes: readonly Change[];
  /** Days held back by this reply, oldest first. */
  readonly heldBack: readonly Day[];
}

/** The provider answers at most this many day buckets for one question. */
export const LONGEST_QUESTION_DAYS = 366;
const SWEEP_DAYS = 90;
const SWEEP_EVERY_DAYS = 7;

export function openLedger(origin: Day): Ledger {
  return {
    origin,
    days: new Map(),
    held: new Map(),
    readTo: origin,
    complete: false,
    sweptOn: null,
  };
}

/**
 * The questions of the next poll, oldest first: what is left of the history, afterwards one trailing window, or the
 * days that somebody wants to have read `again`.
 */
export function questions(ledger: Ledger, today: Day, rereadDays: number, again?: DaySpan): DaySpan[] {
  const to = addDays(today, 1);
  if (again && ledger.complete) {
    const from = again.from > ledger.origin ? again.from : ledger.origin;
    return chunks({ from, to: again.to < to ? again.to : to }, LONGEST_QUESTION_DAYS);
  }
  if (!ledger.complete && ledger.readTo === ledger.origin)
    return chunks({ from: ledger.origin, to }, LONGEST_QUESTION_DAYS);
  const window = sweepIsDue(ledger, today) ? Math.max(SWEEP_DAYS, rereadDays) : rereadDays;
  const lastRead = ledger.readTo < to ? ledger.readTo : to;
  const oldestHeld = daysAwaitingProof(ledger).sort()[0] ?? to;
  const wanted = [addDays(lastRead, -window), oldestHeld].sort()[0] ?? lastRead;
  const from = wanted > ledger.origin ? wanted : ledger.origin;
  return chunks({ from, to }, LONGEST_QUESTION_DAYS);
}

export const sweepIsDue = (ledger: Ledger, today: Day): boolean =>
  ledger.sweptOn === null || Math.abs(daysBetween(ledger.sweptOn, today)) >= SWEEP_EVERY_DAYS;

// A negative day stays held whatever is asked; it must not stretch every question back to itself for ever.
const daysAwaitingProof = ({ held }: Ledger): Day[] =>
  [...held].filter(([, amounts]) => !isNegative(amounts)).map(([day]) => day);

/** Notes that the span has been asked for; `today` ends the history once the span reaches it. */
export function markRead(ledger: Ledger, span: DaySpan, today: Day): Ledger {
  const readTo = span.to > ledger.readTo ? span.to : ledger.readTo;
  const complete = ledger.complete || span.to > today;
  const isLong = span.from <= ledger.origin || daysBetween(span.from, span.to) >= SWEEP_DAYS;
  const swept = complete && (!ledger.complete || isLong);
  return { ...ledger, readTo, complete, sweptOn: swept ? today : ledger.sweptOn };
}

/**
 * Takes in the buckets of one reply. The newest word on a day replaces the older one; absence never erases:
 * a `null` amount leaves the known one. Days before the origin are not counted. A held day was never read: one
 * within the span `asked` for that the reply no longer gives is forgotten.
 */
export function merge(
  ledger: Ledger,
  buckets: readonly Bucket[],
  receivedAt: number,
  asked?: DaySpan,
): Merge {
  let days: Map<Day, DayRecord> | null = null;
  const given = new Set(buckets.map(({ day }) => day));
  const isWithdrawn = (day: Day) => asked && day >= asked.from && day < asked.to && !given.has(day);
  const held = new Map([...ledger.held].filter(([day]) => !isWithdrawn(day)));
  const changes: Change[] = [];
  const heldBack: Day[] = [];
  const inOrder = [...buckets].sort((a, b) => (a.day < b.day ? -1 : 1));
  const largest = largestDay(ledger);
  for (const bucket of inOrder) {
    const { day } = bucket;
    if (day < ledger.origin || (bucket.energy === null && bucket.cost === null)) continue;
    const known = (days ?? ledger.days).get(day);
    const after = {
      energy: bucket.energy ?? known?.energy ?? null,
      cost: bucket.cost ?? known?.cost ?? null,
    };
    if (known && known.energy === after.energy && known.cost === after.cost) {
      held.delete(day);
      continue;
    }
    if (isNegative(bucket) || (!isPlausible(bucket, largest) && !isSame(ledger.held.get(day), bucket))) {
      held.set(day, { energy: bucket.energy, cost: bucket.cost });
      heldBack.push(day);
      continue;
    }
    held.delete(day);
    days ??= new Map(ledger.days);
    // Written out: reading thousands of records that were made by a spread takes ten times as long.
    const { energy, cost } = after;
    days.set(day, { energy, cost, revision: known ? known.revision + 1 : 0, receivedAt });
    const before = known ? { energy: known.energy, cost: known.cost } : null;
    changes.push({ kind: known ? 'corrected' : 'new_day', day, before, after });
  }
  // What is as it was stays the same object: so it is seen at once that nothing has to be written or summed again.
  return {
    ledger: {
      ...ledger,
      days: days ?? ledger.days,
      held: heldBack.length === 0 && held.size === ledger.held.size ? ledger.held : held,
    },
    changes,
    heldBack,
  };
}

// Far above what heat pipes of one dwelling carry, and far above all this property ever used.
const ABSURD_UNITS = 1_000_000_000;
const ABSURD_FACTOR = 20;

function isPlausible(amounts: Amounts, largest: { energy: Micro; cost: Micro }): boolean {
  const fits = (amount: Micro | null, most: Micro) =>
    amount === null || amount <= Math.max(ABSURD_UNITS, most * ABSURD_FACTOR);
  return fits(amounts.energy, largest.energy) && fits(amounts.cost, largest.cost);
}

const isNegative = ({ energy, cost }: Amounts): boolean => (energy ?? 0) < 0 || (cost ?? 0) < 0;

function largestDay(ledger: Ledger): { energy: Micro; cost: Micro } {
  let [mostEnergy, mostCost] = [0, 0];
  for (const { energy, cost } of ledger.days.values()) {
    if (energy !== null && energy > mostEnergy) mostEnergy = energy;
    if (cost !== null && cost > mostCost) mostCost = cost;
  }
  return { energy: mostEnergy, cost: mostCost };
}

const isSame = (held: Amounts | undefined, given: Amounts): boolean =>
  held !== undefined && held.energy === given.energy && held.cost === given.cost;
