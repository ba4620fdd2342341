// A provider made up at random, a daemon that polls it, and a model that only remembers the newest word on each day.
import fc from 'fast-check';
import {
  type Amounts,
  type Ledger,
  markRead,
  merge,
  openLedger,
  questions,
} from '../../src/domain/ledger.ts';
import { addDays, type Day, type DaySpan } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';
import { ledgerCodec } from '../../src/store/ledgerDocument.ts';

export const REREAD_DAYS = 14;
const ORIGIN = '2024-11-20';

/** Booked, corrected (the same day again) or withdrawn (both `null`) by the provider, so many days after the day. */
interface Deed {
  readonly daysAgo: number;
  readonly energy: number | null;
  readonly cost: number | null;
}

/** What happens up to one poll, and how the poll goes. */
export interface Turn {
  readonly daysPass: number;
  readonly deeds: readonly Deed[];
  /** Questions answered before the provider fails; `null` = it does not. */
  readonly answers: number | null;
  readonly shuffle: number;
  /** Buckets that come twice in each reply. */
  readonly repeats: number;
  readonly restart: boolean;
}

export const plausible = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 50_000_000 }) },
);
const anyAmount = fc.oneof(
  { weight: 6, arbitrary: plausible },
  { weight: 1, arbitrary: fc.integer({ min: 50_000_001, max: 5_000_000_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -1_000_000, max: -1 }) },
);

export const turns = (amount: fc.Arbitrary<number | null>): fc.Arbitrary<Turn[]> =>
  fc.array(
    fc.record({
      daysPass: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 0, max: 3 }) },
        { weight: 1, arbitrary: fc.integer({ min: -3, max: 500 }) },
      ),
      deeds: fc.array(
        fc.record({
          daysAgo: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: -1, max: 120 })),
          energy: amount,
          cost: amount,
        }),
        { maxLength: 8 },
      ),
      answers: fc.option(fc.nat({ max: 2 }), { freq: 3 }),
      shuffle: fc.nat(),
      repeats: fc.nat({ max: 3 }),
      restart: fc.boolean(),
    }),
    { minLength: 1, maxLength: 25 },
  );
export const believableTurns = turns(plausible);
export const anyTurns = turns(anyAmount);

export interface Life {
  readonly ledger: Ledger;
  readonly today: Day;
  /** What the provider would say now. */
  readonly truth: Map<Day, Bucket>;
  /** What it said last of each day, by kind: absence says nothing. */
  readonly newestWord: Map<Day, { energy: number | null; cost: number | null }>;
  readonly asked: readonly DaySpan[];
}

/** What the totals are to be: the newest words, added up. */
export function wordsAddedUp({ newestWord }: Life): Amounts {
  const sum = (kind: keyof Amounts) => {
    const known = [...newestWord.values()].map((word) => word[kind]).filter((amount) => amount !== null);
    return known.length === 0 ? null : known.reduce((all, amount) => all + amount, 0);
  };
  return { energy: sum('energy'), cost: sum('cost') };
}

export const birth = (): Life => ({
  ledger: openLedger(ORIGIN),
  today: ORIGIN,
  truth: new Map(),
  newestWord: new Map(),
  asked: [],
});

/** One turn: time passes, the provider books, the daemon polls. */
export function live(life: Life, turn: Turn, at: number): Life {
  const later = addDays(life.today, turn.daysPass);
  const today = later > ORIGIN ? later : ORIGIN;
  const truth = new Map(life.truth);
  for (const { daysAgo, energy, cost } of turn.deeds) {
    const day = addDays(today, -daysAgo);
    if (energy === null && cost === null) truth.delete(day);
    else truth.set(day, { day, energy, cost });
  }
  const newestWord = new Map(life.newestWord);
  let ledger = life.ledger;
  const asked = questions(ledger, today, REREAD_DAYS).slice(0, turn.answers ?? undefined);
  for (const span of asked) {
    const said = [...truth.values()].filter(({ day }) => day >= span.from && day < span.to);
    for (const { day, energy, cost } of said) {
      const before = newestWord.get(day);
      newestWord.set(day, {
        energy: energy ?? before?.energy ?? null,
        cost: cost ?? before?.cost ?? null,
      });
    }
    const reply = shuffled([...said, ...said.slice(0, turn.repeats)], turn.shuffle);
    ledger = markRead(merge(ledger, reply, at, span).ledger, span, today);
  }
  return { ledger: turn.restart ? restarted(ledger) : ledger, today, truth, newestWord, asked };
}

/** Written to disk and read again. */
export function restarted(ledger: Ledger): Ledger {
  const document = {
    timezone: 'Europe/Dublin',
    readingCloses: 'same_day',
    ledger,
    tariff: null,
    isNew: false,
    untold: [],
  } as const;
  return ledgerCodec.decode(JSON.parse(JSON.stringify(ledgerCodec.encode(document)))).ledger;
}

/** Some order that the seed decides. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const rank = (at: number) => ((at + 1) * ((seed % 99_991) + 1)) % 100_003;
  return items
    .map((item, at) => ({ item, at: rank(at) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
