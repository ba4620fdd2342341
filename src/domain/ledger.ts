// The ledger of one property: the provider's latest word on each day, and what a new reply changes in it.
import type { Micro } from './amount.ts';
import { compareText } from './order.ts';
import { addDays, type Day, type DaySpan, daysBetween } from './period.ts';
import type { Bucket } from './reading.ts';
import { DAYS_LOOKED_AT } from './readingCloses.ts';

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

interface QuarantinedDay extends Amounts {
  /** The provider has given other amounts so often since the first ones. */
  readonly timesChanged: number;
  /** First given while the history was read for the first time: it is no news when it is taken later. */
  readonly isHistory: boolean;
}

export interface Ledger {
  /** First day of the totals. Frozen when the ledger is opened. */
  readonly origin: Day;
  readonly days: ReadonlyMap<Day, DayRecord>;
  /** The last reading of each of the newest days was taken then, epoch milliseconds. The provider may not tell it. */
  readonly readTimes: ReadonlyMap<Day, number>;
  /** Days of implausible amounts, kept out of `days` until the provider gives them twice the same. */
  readonly quarantined: ReadonlyMap<Day, QuarantinedDay>;
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

/** A reading carries no more missed days: periods of providers are months, and a longer gap is in none of them. */
export const LONGEST_CARRIED_DAYS = 31;
/** The provider answers at most this many day buckets for one question. */
export const LONGEST_QUESTION_DAYS = 366;
const SWEEP_DAYS = 90;
const SWEEP_EVERY_DAYS = 7;
/** A day that never comes twice the same is no longer asked for by itself: it would widen the window for ever. */
const MOST_TIMES_CHANGED = 5;

export function openLedger(origin: Day): Ledger {
  return {
    origin,
    days: new Map(),
    readTimes: new Map(),
    quarantined: new Map(),
    readTo: origin,
    complete: false,
    sweptOn: null,
  };
}

/** The ledger as if it had been opened on that day: what was before belongs to another tenant. */
export function ledgerSince(ledger: Ledger, since: Day): Ledger {
  if (since <= ledger.origin) return ledger;
  return { ...ledger, origin: since, days: new Map([...ledger.days].filter(([day]) => day >= since)) };
}

/**
 * The questions of the next poll, oldest first: what is left of the history, afterwards one trailing window, or the
 * days that are to be read `again`.
 */
export function questions(ledger: Ledger, today: Day, rereadDays: number, again?: DaySpan): DaySpan[] {
  const to = addDays(today, 1);
  const { origin, readTo, complete } = ledger;
  if (again && complete) return questionsOver({ from: later(again.from, origin), to: earlier(again.to, to) });
  const isSweep = sweepIsDue(ledger, today);
  const window = isSweep ? Math.max(SWEEP_DAYS, rereadDays) : rereadDays;
  const oldestQuarantined = daysToAskAgain(ledger).sort()[0] ?? to;
  const asked = addDays(earlier(readTo, to), -window);
  // A meter that has been silent for years is one question, too, but for one poll in a week.
  const longest = isSweep ? origin : addDays(to, -LONGEST_QUESTION_DAYS);
  const unread = later(addDays(endOfReadings(ledger, to), -window), longest);
  const from = later(earlier(earlier(asked, unread), oldestQuarantined), origin);
  return questionsOver({ from, to });
}

/** Each is short enough for one question, oldest first. */
function questionsOver(span: DaySpan): DaySpan[] {
  const pieces: DaySpan[] = [];
  for (let { from } = span; from < span.to; ) {
    const to = earlier(addDays(from, LONGEST_QUESTION_DAYS), span.to);
    pieces.push({ from, to });
    from = to;
  }
  return pieces;
}

/**
 * The day after the newest one that is known. Days that were asked for while the clock was ahead had no reading yet, although they count
 * as asked for: the readings alone tell how far the provider had come.
 */
function endOfReadings({ days }: Ledger, to: Day): Day {
  const newest = newestDay(days);
  return newest === null ? to : earlier(to, addDays(newest, 1));
}

export const newestDay = (days: Ledger['days']): Day | null =>
  [...days.keys()].reduce<Day | null>((newest, day) => (newest === null ? day : later(newest, day)), null);

const earlier = (one: Day, other: Day): Day => (one < other ? one : other);
const later = (one: Day, other: Day): Day => (one > other ? one : other);

const sweepIsDue = (ledger: Ledger, today: Day): boolean =>
  ledger.sweptOn === null || Math.abs(daysBetween(ledger.sweptOn, today)) >= SWEEP_EVERY_DAYS;

const daysToAskAgain = ({ quarantined }: Ledger): Day[] =>
  [...quarantined].filter(([, { timesChanged }]) => timesChanged < MOST_TIMES_CHANGED).map(([day]) => day);

/**
 * Notes that the span has been asked for; `today` ends the history once the span reaches it. A history of quarantined
 * days alone is not complete: the next poll tells whether they count.
 */
export function markRead(ledger: Ledger, span: DaySpan, today: Day): Ledger {
  const isReached = span.from <= ledger.readTo;
  const readTo = isReached ? later(span.to, ledger.readTo) : ledger.readTo;
  const isAllQuarantined = ledger.days.size === 0 && ledger.quarantined.size > 0;
  const complete = ledger.complete || (span.to > today && !isAllQuarantined);
  const isLong = span.from <= ledger.origin || daysBetween(span.from, span.to) >= SWEEP_DAYS;
  const swept = complete && (!ledger.complete || isLong);
  return { ...ledger, readTo, complete, sweptOn: swept ? today : ledger.sweptOn };
}

/**
 * Takes in the buckets of one reply. The newest word on a day replaces the older one; absence never erases:
 * a `null` amount leaves the known one. Days before the origin are not counted. A quarantined day within the span
 * `asked` for that the reply no longer gives is forgotten, and one that comes twice the same is taken. `quarantinedNow`: days that
 * it has put into quarantine, oldest first.
 */
export function merge(ledger: Ledger, buckets: readonly Bucket[], receivedAt: number, asked?: DaySpan) {
  const isPlausible = plausibility(ledger, buckets);
  const taken = new Map<Day, DayRecord>();
  const quarantined = withoutWithdrawn(ledger.quarantined, buckets, asked);
  const changes: Change[] = [];
  const quarantinedNow: Day[] = [];
  for (const bucket of countedFrom(ledger.origin, buckets)) {
    const { day } = bucket;
    const record = taken.get(day) ?? ledger.days.get(day);
    const after = newerAmounts(bucket, record);
    const isKnown = record !== undefined && isSame(record, after);
    const doubted = ledger.quarantined.get(day);
    const isConfirmed = doubted !== undefined && isSame(doubted, bucket);
    if (!isKnown && !isConfirmed && !isPlausible(bucket)) {
      quarantined.set(day, quarantinedDay(bucket, doubted, ledger));
      quarantinedNow.push(day);
      continue;
    }
    quarantined.delete(day);
    if (isKnown) continue;
    taken.set(day, { ...after, revision: record ? record.revision + 1 : 0, receivedAt });
    if (record || !doubted?.isHistory) changes.push(changeOf(day, record, after));
  }
  // An unchanged part stays the same object, so that nothing is written or summed again.
  const days = taken.size === 0 ? ledger.days : new Map([...ledger.days, ...taken]);
  const isUnchanged = quarantinedNow.length === 0 && quarantined.size === ledger.quarantined.size;
  return {
    ledger: {
      ...ledger,
      readTo: taken.size === 0 ? ledger.readTo : reachOf(ledger, asked),
      days,
      readTimes: readTimes(ledger.readTimes, buckets, days),
      quarantined: isUnchanged ? ledger.quarantined : quarantined,
    },
    changes,
    quarantinedNow,
  };
}

/** Buckets with an amount, of days that count, oldest first. */
const countedFrom = (origin: Day, buckets: readonly Bucket[]): Bucket[] =>
  buckets
    .filter(({ day, energy, cost }) => day >= origin && (energy !== null || cost !== null))
    .sort((a, b) => compareText(a.day, b.day));

/** Days of the span `asked` for that the reply no longer gives are left out. */
function withoutWithdrawn(
  quarantined: Ledger['quarantined'],
  buckets: readonly Bucket[],
  asked: DaySpan | undefined,
): Map<Day, QuarantinedDay> {
  const given = new Set(buckets.map(({ day }) => day));
  const isWithdrawn = (day: Day) => asked && day >= asked.from && day < asked.to && !given.has(day);
  return new Map([...quarantined].filter(([day]) => !isWithdrawn(day)));
}

const quarantinedDay = (
  { energy, cost }: Amounts,
  before: QuarantinedDay | undefined,
  { complete }: Ledger,
): QuarantinedDay => ({
  energy,
  cost,
  timesChanged: before ? before.timesChanged + 1 : 0,
  isHistory: before?.isHistory ?? !complete,
});

const changeOf = (day: Day, before: DayRecord | undefined, after: Amounts): Change => ({
  kind: before ? 'corrected' : 'new_day',
  day,
  before: before ? { energy: before.energy, cost: before.cost } : null,
  after,
});

/**
 * A meter that has been silent for longer than a question reaches back speaks again: the days between were asked for while they had no
 * reading, or by a clock that was ahead, and are asked for once more.
 */
function reachOf(ledger: Ledger, asked: DaySpan | undefined): Day {
  if (asked === undefined) return ledger.readTo;
  const end = endOfReadings(ledger, asked.from);
  return end < asked.from ? earlier(ledger.readTo, end) : ledger.readTo;
}

/** The map stays the same object if nothing has changed. */
function readTimes(
  before: Ledger['readTimes'],
  buckets: readonly Bucket[],
  days: Ledger['days'],
): Ledger['readTimes'] {
  const news = buckets.filter(
    ({ day, readAt }) => readAt !== undefined && days.has(day) && before.get(day) !== readAt,
  );
  if (news.length === 0) return before;
  const times = new Map([...before, ...news.map(({ day, readAt = 0 }): [Day, number] => [day, readAt])]);
  return new Map([...times].sort(([a], [b]) => compareText(a, b)).slice(-DAYS_LOOKED_AT));
}

/** A flat may need as much on its coldest day, or for some days at once: smaller amounts need no comparison. */
const ALWAYS_PLAUSIBLE = { energy: 150_000_000, cost: 50_000_000 };
const ABSURD_FACTOR = 20;
/** A day is not absurd beside so many that were nearly as high: winter after a long summer. Fewer may be errors. */
const FEWEST_HIGH_DAYS = 3;
const ABSURD_FACTOR_OF_HIGH_DAYS = 5;
/** A series of so many days tells what is usual for it. */
const FEWEST_USUAL_DAYS = 7;

/**
 * Both amounts have to be of the size that this property uses: not negative, and at most twenty times its usual day or five times
 * its third highest. The days of the reply count as usual too, so that a first history may be its own measure; known amounts come
 * first, so that a whole window of absurd corrections does not vouch for itself.
 */
function plausibility(ledger: Ledger, buckets: readonly Bucket[]): (amounts: Amounts) => boolean {
  const largest = new Map<'energy' | 'cost', Micro>();
  function mostOf(kind: 'energy' | 'cost'): Micro {
    const largestFirst = [...ledger.days.values()].map((record) => record[kind] ?? 0).sort((a, b) => b - a);
    const unknown = new Map(
      buckets.flatMap((bucket) => (ledger.days.has(bucket.day) ? [] : [[bucket.day, bucket[kind] ?? 0]])),
    );
    const usual = medianOfUsed([...largestFirst, ...unknown.values()]) ?? largestFirst[0] ?? 0;
    const high = largestFirst[FEWEST_HIGH_DAYS - 1] ?? 0;
    return Math.max(usual * ABSURD_FACTOR, high * ABSURD_FACTOR_OF_HIGH_DAYS);
  }
  const fits = (amount: Micro | null, kind: 'energy' | 'cost') => {
    if (amount === null || (amount >= 0 && amount <= ALWAYS_PLAUSIBLE[kind])) return true;
    const most = largest.get(kind) ?? mostOf(kind);
    largest.set(kind, most);
    return amount >= 0 && amount <= most;
  };
  return ({ energy, cost }) => fits(energy, 'energy') && fits(cost, 'cost');
}

/** The median of days on which something was used; `null` for too few of them. A few absurd days do not move it. */
function medianOfUsed(amounts: readonly Micro[]): Micro | null {
  const used = amounts.filter((amount) => amount > 0).sort((a, b) => a - b);
  return used.length < FEWEST_USUAL_DAYS ? null : (used[Math.floor((used.length - 1) / 2)] ?? null);
}

/** A given amount counts; a missing one leaves the amount that was known. */
export const newerAmounts = (given: Amounts, before: Amounts | undefined): Amounts => ({
  energy: given.energy ?? before?.energy ?? null,
  cost: given.cost ?? before?.cost ?? null,
});

const isSame = (one: Amounts, other: Amounts): boolean =>
  one.energy === other.energy && one.cost === other.cost;
