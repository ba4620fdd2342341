// A ledger lost at any moment of any life, and read back from what was published; the model only remembers words.
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Ledger } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';
import { readRetainedHistory, restoreLedger } from '../../src/domain/recovery.ts';
import { totals } from '../../src/domain/totals.ts';
import { Topics } from '../../src/publication/topics.ts';
import { meterMessages, meterView } from '../support/inventedHome.ts';
import { believableTurns, birth, type Life, live, type Turn } from './providerModel.ts';

/** What comes between two polls, before the provider books what the turn says. */
export interface Fate {
  readonly turn: Turn;
  readonly loses: boolean;
  /** The broker is away as well: one poll goes by before it tells what it remembers. */
  readonly isDeaf: boolean;
  /** So many of its oldest days the provider forgets. */
  readonly forgets: number;
  /** Every day that it has forgotten is back. */
  readonly returns: boolean;
}

const chance = (oneIn: number) => fc.nat({ max: oneIn - 1 }).map((drawn) => drawn === 0);

export const fates: fc.Arbitrary<Fate[]> = believableTurns.chain((turns) =>
  fc
    .array(
      fc.record({
        loses: chance(3),
        isDeaf: chance(3),
        forgets: fc.oneof(fc.constant(0), fc.nat({ max: 9 })),
        returns: chance(5),
      }),
      { minLength: turns.length, maxLength: turns.length },
    )
    .map((all) =>
      turns.map((turn, at) => ({
        ...{ loses: false, isDeaf: false, forgets: 0, returns: false, ...all[at] },
        // A clock that runs back while the state is lost is a story of its own.
        turn: { ...turn, daysPass: Math.max(0, turn.daysPass) },
      })),
    ),
);

export interface Lives {
  readonly life: Life;
  /** What was published last, and the words it was made of. */
  readonly said: Pick<Life, 'ledger' | 'newestWord'> | null;
  readonly forgotten: ReadonlyMap<Day, Bucket>;
}

export const beginning = (): Lives => ({ life: birth(), said: null, forgotten: new Map() });

/** The origin that a daemon would take today, had it nothing to remember. */
const LATER_DAYS = 20;

export function suffer({ life, said, forgotten }: Lives, fate: Fate, at: number): Lives {
  const provider = memoryOf(life, forgotten, fate);
  let next: Life = { ...life, truth: provider.truth };
  if (fate.loses) {
    const born = birth();
    const origin = addDays(born.ledger.origin, said !== null && fate.isDeaf ? LATER_DAYS : 0);
    next = { ...next, ledger: { ...born.ledger, origin, readTo: origin }, newestWord: new Map() };
    if (fate.isDeaf) next = live(next, { ...fate.turn, deeds: [], daysPass: 0 }, at);
    if (said !== null) {
      const words = new Map(said.newestWord);
      for (const [day, { energy, cost }] of next.newestWord) {
        const before = words.get(day);
        words.set(day, { energy: energy ?? before?.energy ?? null, cost: cost ?? before?.cost ?? null });
      }
      next = { ...next, ledger: restoreLedger(next.ledger, published(said.ledger), at), newestWord: words };
    }
  }
  next = live(next, fate.turn, at);
  const { ledger, newestWord } = next;
  return { life: next, said: ledger.complete ? { ledger, newestWord } : said, forgotten: provider.forgotten };
}

function memoryOf({ truth }: Life, forgotten: Lives['forgotten'], { forgets, returns }: Fate) {
  const gone = [...truth].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, forgets);
  const left = new Map([...truth].filter(([day]) => !gone.some(([other]) => other === day)));
  const all = new Map([...forgotten, ...gone]);
  return returns
    ? { truth: new Map([...all, ...left]), forgotten: new Map() }
    : { truth: left, forgotten: all };
}

/** Through the very text that stands on the broker. */
export function published(ledger: Ledger) {
  const topics = new Topics('heat2mqtt');
  const view = meterView(ledger);
  const history = meterMessages(topics, view).find(({ topic }) => topic.endsWith('/history'));
  const found = readRetainedHistory(Buffer.from(history?.payload ?? ''));
  if (found === null) throw new Error(`not understood: ${history?.payload}`);
  return found;
}

/** Its totals are the newest words; after the whole history was asked for, all that the provider gives is in it. */
export function expectNewestWords({ life }: Lives, { turn }: Fate): void {
  const { ledger, newestWord, truth, today, asked } = life;
  if (!ledger.complete) return;
  expect(ledger.origin).toBe(birth().ledger.origin);
  for (const kind of ['energy', 'cost'] as const) {
    const words = [...newestWord.values()].flatMap((word) => word[kind] ?? []);
    expect(totals(ledger, today).total[kind] ?? 0).toBe(words.reduce((sum, one) => sum + one, 0));
  }
  if (asked[0]?.from !== ledger.origin || turn.answers !== null) return;
  for (const [day, { energy, cost }] of truth) {
    if (day < ledger.origin || day > today) continue;
    if (energy !== null) expect(ledger.days.get(day)?.energy).toBe(energy);
    if (cost !== null) expect(ledger.days.get(day)?.cost).toBe(cost);
  }
}
