// A meter on MQTT: sums rounded once, null never 0, the newest buckets by local days, the whole history, and the tariff.
// Whole payloads, and its events: docs/topics.md.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toMicro } from '../../src/domain/amount.ts';
import type { Amounts, Ledger } from '../../src/domain/ledger.ts';
import type { Day } from '../../src/domain/period.ts';
import { Topics } from '../../src/publication/topics.ts';
import type { MeterView } from '../../src/publication/views.ts';
import { type Line, ledgerOf, row } from '../domain/ledgers.ts';
import { billed, days, usual } from '../domain/tariffs.ts';
import { bodyOf, EMPTY, FULL, meterMessages, meterView, NOW } from '../support/inventedHome.ts';
import { complaintAbout } from '../support/payloads.ts';
import { RUNS } from '../support/property.ts';

const METER = 'heat2mqtt/meter/70418235';
const topics = new Topics('heat2mqtt');
const payloadOf = (view: MeterView, end: string) =>
  bodyOf(meterMessages(topics, view).find(({ topic }) => topic === `${METER}/${end}`));
const state = (view: MeterView) => payloadOf(view, 'state');
const viewOf = (lines: readonly Line[], options: { origin?: string; today?: string } = {}) =>
  meterView(ledgerOf(lines, options), options.today ? { today: options.today } : {});

test('the history is every day, oldest first, to the last millionth', () => {
  const lines: Line[] = [
    ['2025-06-03', 0, null],
    ['2025-06-01', 5.000001, 1.3],
  ];
  expect(payloadOf(viewOf(lines), 'history')).toEqual({
    schema: 1,
    timezone: 'Europe/Dublin',
    reading_closes: 'same_day',
    currency: 'EUR',
    origin: '2025-01-01',
    days: lines.toReversed(),
  });
});

describe('the state', () => {
  test('is null for whatever is not known, and 0 for what is nothing', () => {
    const { schema, origin, history_since, meter_identifiers, missing_days, missing_day_list, ...more } =
      state(EMPTY);
    const { updated_at, currency, ...rest } = more;
    expect({ schema, currency, missing_days, missing_day_list }).toEqual({
      schema: 1,
      currency: 'EUR',
      missing_days: 0,
      missing_day_list: [],
    });
    expect(Object.entries(rest).filter(([, value]) => value !== null)).toEqual([]);
  });

  test.each<[string, Line[], object]>([
    ['nothing used', [['2025-06-29', 0, 0]], { energy_total: 0, cost_total: 0, energy_day: 0 }],
    ['no energy', [['2025-06-29', null, 2]], { energy_total: null, cost_total: 2, day: null }],
    [
      'a sum rounded after it was added',
      row('2025-06-01', 3, 0.0004, 0.0004),
      { energy_total: 0.001, energy_day: 0 },
    ],
  ])('of days with %s', (_, lines, expected) => {
    expect(state(viewOf(lines))).toMatchObject(expected);
  });
});

test('the missing days are named, those in a row together, and fit the attributes of an entity', () => {
  const two = [...row('2024-12-31', 4, 1, 1), ...row('2025-01-08', 1, 1, 1), ...row('2025-01-10', 1, 1, 1)];
  expect(state(viewOf(two))).toMatchObject({
    missing_days: 5,
    missing_day_list: ['2025-01-09', '2025-01-04..2025-01-07'],
  });
});

describe('usage', () => {
  interface Bucket {
    readonly start: string;
    readonly end: string;
  }
  const bucketsOf = (view: MeterView, interval: string) =>
    payloadOf(view, `usage/${interval}`).buckets as Bucket[];
  const long = viewOf(row('2020-01-01', 2000, 1, 0.5), { origin: '2020-01-01' });

  test.each([
    ['day', 62, '2025-06-22T00:00:00+01:00'],
    ['week', 26, '2025-06-16T00:00:00+01:00'],
    ['month', 36, '2025-06-01T00:00:00+01:00'],
  ])(
    'by %s: the newest %d buckets, oldest first, each beginning where another ends',
    (interval, count, newest) => {
      const buckets = bucketsOf(long, interval);
      const starts = buckets.map(({ start }) => start);
      expect([buckets.length, starts.at(-1)]).toEqual([count, newest]);
      expect(starts).toEqual(starts.toSorted((a, b) => Date.parse(a) - Date.parse(b)));
      expect(buckets.slice(0, -1).map(({ end }) => end)).toEqual(starts.slice(1));
      expect(payloadOf(FULL, `usage/${interval}`)).toMatchObject({
        interval,
        timezone: 'Europe/Dublin',
        currency: 'EUR',
      });
      expect(bucketsOf(EMPTY, interval)).toEqual([]);
    },
  );

  test('a missing day is left out, a missing amount is null; revision and time of receipt are told', () => {
    const lines: Line[] = [
      ['2025-06-01', 5, null],
      ['2025-06-03', 0, 0.686],
      ['2025-06-04', null, 1],
    ];
    expect(bucketsOf(viewOf(lines), 'day')).toMatchObject([
      { energy_kwh: 5, cost_eur: null },
      { start: '2025-06-03T00:00:00+01:00', energy_kwh: 0, cost_eur: 0.686 },
      { energy_kwh: null, cost_eur: 1 },
    ]);
    const corrected = { energy: 4_000_000, cost: 900_000, revision: 1, receivedAt: NOW };
    const view = meterView({ ...ledgerOf([]), days: new Map([['2025-06-01', corrected]]) });
    expect(bucketsOf(view, 'day')).toMatchObject([{ revision: 1, received_at: '2025-06-30T13:00:00+01:00' }]);
  });
});

const PRICE = { rate: 0.124, standing: 0.686 };

function ledgerWith(known: ReadonlyMap<Day, Amounts>): Ledger {
  const records = [...known].map(
    ([day, amounts]) => [day, { ...amounts, revision: 0, receivedAt: 1 }] as const,
  );
  return { ...ledgerOf([]), days: new Map(records) };
}

/** The state on 2 March, with 60 days billed until the first. */
function stateOn2March(known: ReadonlyMap<Day, Amounts>): Record<string, unknown> {
  const view = meterView(ledgerWith(known), { today: '2025-03-02' });
  const [message] = meterMessages(topics, view);
  expect(message && complaintAbout(message)).toBeNull();
  return bodyOf(message);
}

test('rate, charge, the span they hold for, how well they explain it, and nothing of a day that they do not', () => {
  const odd = billed(days(60), PRICE, { decimals: 3, fate: (at) => (at === 59 ? 'odd' : 'billed') });
  expect(stateOn2March(odd)).toMatchObject({
    unit_rate: 0.124,
    standing_charge: 0.686,
    tariff: { from: '2025-01-02', days_explained: 58, days_seen: 59 },
    cost_day_standing: null,
    cost_day_consumption: null,
  });
});

test('the two parts add up to the published cost of the day, whatever the tariff and the rounding', () => {
  const price = fc.record({
    rate: fc.integer({ min: 60_000, max: 400_000 }).map((micro) => micro / 1e6),
    standing: fc.integer({ min: 100_000, max: 2_000_000 }).map((micro) => micro / 1e6),
  });
  const numRuns = Math.ceil(RUNS / 8);
  let explained = 0;
  const claim = fc.property(
    price,
    fc.integer({ min: 2, max: 6 }),
    fc.nat(5000),
    fc.boolean(),
    (truth, decimals, seed, isIdle) => {
      const energies = days(60, (at) => (at === 59 && isIdle ? 0 : usual(at + seed)));
      const state = stateOn2March(billed(energies, truth, { decimals }));
      const { cost_day: whole, cost_day_consumption: heat, cost_day_standing: standing } = state;
      if (heat === null) return;
      explained += 1;
      expect(toMicro(Number(heat)) + toMicro(Number(standing))).toBe(toMicro(Number(whole)));
      expect(Number(heat)).toBeGreaterThanOrEqual(0);
      if (isIdle) expect(heat).toBe(0);
    },
  );
  fc.assert(claim, { numRuns });
  expect(explained).toBeGreaterThan(numRuns / 2);
});
