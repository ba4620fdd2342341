// A ledger lost at any moment of any history: equal to the provider's truth, and never lower when the provider forgets.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toMicro, toUnits } from '../../src/domain/amount.ts';
import type { Ledger } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import { openingAfter, type Remembered, reopen } from '../../src/domain/recovery.ts';
import { totals } from '../../src/domain/totals.ts';
import { believableTurns, birth, type Life, live, REREAD_DAYS, type Turn } from '../domain/providerModel.ts';

const RUNS = Number(process.env.HEAT2MQTT_PROPERTY_RUNS ?? 20_000);
const FEWEST_STEPS = RUNS * 5;

/** As the retained state tells it: totals in three decimals, the opening balance in full. `null` while there is nothing to tell. */
function published(ledger: Ledger, today: Day): Remembered | null {
  const { total, newestDay, missingDays } = totals(ledger, today);
  if (!ledger.complete || newestDay === null) return null;
  const rounded = (amount: number | null) => toMicro(toUnits(amount ?? 0));
  const { energy, cost } = ledger.opening;
  return {
    origin: ledger.origin,
    energy: rounded(total.energy),
    cost: rounded(total.cost),
    opening: { energy, cost },
    newestDay,
    missingDays,
  };
}

interface Fate {
  readonly turn: Turn;
  readonly loses: boolean;
  /** So many of its oldest days the provider forgets at the same time. */
  readonly forgets: number;
}

const fates: fc.Arbitrary<Fate[]> = believableTurns.chain((turns) =>
  fc
    .array(fc.record({ loses: fc.nat({ max: 3 }), forgets: fc.nat({ max: 4 }) }), {
      minLength: turns.length,
      maxLength: turns.length,
    })
    .map((losses) =>
      turns.map((turn, at) => {
        const { loses = 1, forgets = 0 } = losses[at] ?? {};
        // A clock that runs back while the state is lost is a story of its own.
        const daysPass = Math.max(0, turn.daysPass);
        return { turn: { ...turn, daysPass }, loses: loses === 0, forgets };
      }),
    ),
);

/** The life, and what the broker remembers of it until the history has been read again. */
interface Lost {
  readonly life: Life;
  readonly remembered: Remembered | null;
  readonly said: Remembered | null;
}

function lose({ life, said }: Lost, forgets: number): Lost {
  if (said === null) return { life: { ...life, ledger: { ...birth().ledger } }, remembered: null, said };
  const oldest = [...life.truth.keys()].sort();
  // The newest day stays: a provider without any day has nothing to say.
  const gone = new Set(oldest.slice(0, Math.min(forgets, oldest.length - 1)));
  const truth = new Map([...life.truth].filter(([day]) => !gone.has(day)));
  return { life: { ...life, truth, ledger: reopen(said) }, remembered: said, said };
}

function goOn({ life, remembered, said }: Lost, turn: Turn, at: number): Lost {
  const next = live(life, turn, at);
  if (!next.ledger.complete) return { life: next, remembered, said };
  const ledger =
    remembered === null ? next.ledger : { ...next.ledger, opening: openingAfter(next.ledger, remembered) };
  const after = { ...next, ledger };
  return { life: after, remembered: null, said: published(ledger, after.today) ?? said };
}

test('lost at any moment, the provider has everything: totals are its newest words, from the same origin', () => {
  let steps = 0;
  let losses = 0;
  fc.assert(
    fc.property(fates, (all) => {
      let lost: Lost = { life: birth(), remembered: null, said: null };
      for (const [at, { turn, loses }] of all.entries()) {
        // What the provider has said stays said: only words that are whole are corrected by words that are whole.
        const deeds = turn.deeds.filter(({ energy, cost }) => energy !== null && cost !== null);
        if (loses) lost = lose(lost, 0);
        lost = goOn(lost, { ...turn, deeds }, at + 1);
        steps += 1;
        losses += Number(loses);
        const { ledger, newestWord, today } = lost.life;
        expect(ledger.origin).toBe(birth().ledger.origin);
        if (!ledger.complete) continue;
        const { total } = totals(ledger, today);
        for (const kind of ['energy', 'cost'] as const) {
          const words = [...newestWord.values()].map((word) => word[kind] ?? 0);
          expect(total[kind] ?? 0).toBe(words.reduce((sum, one) => sum + one, 0));
        }
      }
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(`${steps} steps, ${losses} losses\n`);
  expect(steps).toBeGreaterThan(FEWEST_STEPS);
});

test('lost at any moment, the provider has forgotten its oldest days: no published total falls', () => {
  let steps = 0;
  let losses = 0;
  fc.assert(
    fc.property(fates, (all) => {
      let lost: Lost = { life: birth(), remembered: null, said: null };
      let highest = { energy: 0, cost: 0 };
      for (const [at, { turn, loses, forgets }] of all.entries()) {
        // New days only, in time for the window: corrections may lower a total, and gaps filled while days are forgotten
        // cannot be told from days that are still there.
        const newest = [...lost.life.truth.keys()].sort().at(-1) ?? '';
        const later = addDays(lost.life.today, turn.daysPass);
        const today = later > birth().today ? later : birth().today;
        const deeds = turn.deeds.filter(
          ({ energy, cost, daysAgo }) =>
            energy !== null &&
            cost !== null &&
            daysAgo >= 0 &&
            daysAgo < REREAD_DAYS &&
            addDays(today, -daysAgo) > newest,
        );
        if (loses) lost = lose(lost, forgets);
        lost = goOn(lost, { ...turn, deeds }, at + 1);
        steps += 1;
        losses += Number(loses);
        expect(lost.life.ledger.origin).toBe(birth().ledger.origin);
        if (lost.said === null || !lost.life.ledger.complete) continue;
        const { energy, cost } = lost.said;
        expect(energy).toBeGreaterThanOrEqual(highest.energy);
        expect(cost).toBeGreaterThanOrEqual(highest.cost);
        highest = { energy, cost };
      }
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(`${steps} steps, ${losses} losses\n`);
  expect(steps).toBeGreaterThan(FEWEST_STEPS);
});
