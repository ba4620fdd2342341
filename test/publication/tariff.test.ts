// The derived part of a meter's state: the tariff, what it makes of the latest day, the month to come, and its event.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toMicro } from '../../src/domain/amount.ts';
import type { Amounts, Ledger } from '../../src/domain/ledger.ts';
import type { Day } from '../../src/domain/period.ts';
import { changeMessage, meterStateMessage } from '../../src/publication/meterMessages.ts';
import { Topics } from '../../src/publication/topics.ts';
import { ledgerOf } from '../domain/ledgers.ts';
import { billed, days, usual } from '../domain/tariffs.ts';
import { bodyOf, meterView } from '../support/inventedHome.ts';
import { complaintAbout } from '../support/payloads.ts';
import { holds, RUNS } from '../support/property.ts';

const topics = new Topics('heat2mqtt');
const PRICE = { rate: 0.124, standing: 0.686 };

function ledgerWith(known: ReadonlyMap<Day, Amounts>): Ledger {
  const records = [...known].map(
    ([day, amounts]) => [day, { ...amounts, revision: 0, receivedAt: 1 }] as const,
  );
  return { ...ledgerOf([]), days: new Map(records) };
}

/** The state on 2 March, with 60 days billed until the first. */
function stateOf(known: ReadonlyMap<Day, Amounts>): Record<string, unknown> {
  const view = meterView(ledgerWith(known), { today: '2025-03-02' });
  const message = meterStateMessage(topics, view);
  expect(message && complaintAbout(message)).toBeNull();
  return bodyOf(message);
}

test('rate, charge, the span they hold for, and how well they explain it', () => {
  expect(
    stateOf(billed(days(60), PRICE, { decimals: 3, fate: (at) => (at === 30 ? 'odd' : 'billed') })),
  ).toMatchObject({
    unit_rate: 0.124,
    standing_charge: 0.686,
    tariff: { from: '2025-01-02', to: '2025-03-01', days_explained: 58, days_seen: 59 },
  });
});

test('null, all of it, while nothing explains the days; the forecast needs no tariff', () => {
  expect(
    stateOf(
      billed(
        days(59, () => 5),
        PRICE,
        { decimals: 2, from: '2025-01-02' },
      ),
    ),
  ).toMatchObject({
    cost_day: 1.31,
    unit_rate: null,
    standing_charge: null,
    tariff: null,
    cost_day_consumption: null,
    cost_day_standing: null,
    cost_month_forecast: expect.closeTo(39.55, 1),
  });
});

test.each([
  ['billed', 0.686],
  ['without charge', 0],
  ['odd', null],
] as const)('the latest day, %s: %s of it is standing charge', (what, standing) => {
  const state = stateOf(
    billed(days(60), PRICE, { decimals: 3, fate: (at) => (at === 59 ? what : 'billed') }),
  );
  expect(state.unit_rate).toBe(0.124);
  expect(state.cost_day_standing).toBe(standing);
  expect(state.cost_day_consumption === null).toBe(standing === null);
});

test('the two parts add up to the published cost of the day, whatever the tariff and the rounding', () => {
  const price = fc.record({
    rate: fc.integer({ min: 60_000, max: 400_000 }).map((micro) => micro / 1e6),
    standing: fc.integer({ min: 100_000, max: 2_000_000 }).map((micro) => micro / 1e6),
  });
  let explained = 0;
  holds(
    price,
    fc.integer({ min: 2, max: 6 }),
    fc.nat(5000),
    fc.boolean(),
    (truth, decimals, seed, isIdle) => {
      const energies = days(60, (at) => (at === 59 && isIdle ? 0 : usual(at + seed)));
      const state = stateOf(billed(energies, truth, { decimals }));
      const { cost_day: whole, cost_day_consumption: heat, cost_day_standing: standing } = state;
      if (heat === null) return;
      explained += 1;
      expect(toMicro(Number(heat)) + toMicro(Number(standing))).toBe(toMicro(Number(whole)));
      expect(Number(heat)).toBeGreaterThanOrEqual(0);
      if (isIdle) expect(heat).toBe(0);
    },
  );
  expect(explained).toBeGreaterThan(RUNS / 2);
});

test('the event of a change tells both tariffs', () => {
  const before = { unitRate: 0.124, standingCharge: 686_000, from: '2025-01-02', to: '2025-02-19' };
  const after = { unitRate: 0.138, standingCharge: 710_000, from: '2025-02-20', to: '2025-03-01' };
  const seen = { daysExplained: 10, daysSeen: 10, tolerance: 1000 };
  const change = {
    kind: 'tariff_changed',
    before: { ...before, ...seen },
    after: { ...after, ...seen },
  } as const;
  const message = changeMessage(topics, '7', change, '2025-03-02T12:00:00+00:00');
  expect(complaintAbout(message)).toBeNull();
  expect(message).toMatchObject({ topic: 'heat2mqtt/meter/7/event', retain: false });
  expect(bodyOf(message)).toEqual({
    schema: 1,
    event_type: 'tariff_changed',
    at: '2025-03-02T12:00:00+00:00',
    day: '2025-02-20',
    before: { unit_rate: 0.124, standing_charge: 0.686, from: '2025-01-02', to: '2025-02-19' },
    after: { unit_rate: 0.138, standing_charge: 0.71, from: '2025-02-20', to: '2025-03-01' },
  });
});
