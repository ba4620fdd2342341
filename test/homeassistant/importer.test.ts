// One series brought up to date: what is read, and what is sent. Batches and cuts are in the stories of statistics.
import { expect, test } from 'vitest';
import type { Ledger } from '../../src/domain/ledger.ts';
import { zone } from '../../src/domain/period.ts';
import { bringUpToDate, type ImportOptions, seriesOf } from '../../src/homeassistant/recorder.ts';
import { ledgerOf, row } from '../domain/ledgers.ts';
import { waitFor } from '../support/waitFor.ts';
import { open } from './opened.ts';

const DUBLIN = zone('Europe/Dublin');
const ENERGY = 'heat2mqtt:x_energy';
const YEAR = ledgerOf(row('2024-01-01', 366, 10, 2), { origin: '2024-01-01' });

async function opened() {
  const { ha, clock, ending, connect } = await open();
  const home = await connect();
  return {
    ha,
    clock,
    ending,
    bring(
      ledger: Ledger,
      more: Partial<ImportOptions> = {},
      { currency = 'EUR', friendlyName = null as string | null, kind = 0 as 0 | 1 } = {},
    ) {
      const series = seriesOf('heat2mqtt', { meter: 'x', friendlyName, currency }, ['x'])[kind];
      if (!series) throw new Error('no such series');
      return bringUpToDate(home, series, {
        ledger,
        placement: { zone: DUBLIN, hours: 'midnight' },
        clock,
        signal: ending.signal,
        thorough: false,
        onProgress: () => undefined,
        ...more,
      });
    },
    /** What was read since the last call, and from when on. */
    read() {
      const asked = ha.asked.splice(0);
      const reads = asked.filter(({ type }) => type === 'recorder/statistics_during_period');
      return reads.map(({ period, start_time }) => `${period} ${String(start_time).slice(0, 10)}`);
    },
  };
}

test('what is well is seen by its newest rows alone, unless a thorough look is wanted', async () => {
  const { bring, read } = await opened();
  expect(await bring(YEAR)).toBe(366);
  read();
  expect(await bring(YEAR)).toBe(0);
  expect(read()).toEqual(['hour 2024-11-30', 'hour 2025-12-01']);
  expect(await bring(YEAR, { thorough: true })).toBe(0);
  expect(read()).toEqual(['month 1990-01-01', 'hour 2024-01-01']);
});

test('three years of hours are read in answers of bearable size, and nothing where there is nothing', async () => {
  const { ha, bring, read } = await opened();
  await bring(YEAR);
  const rows = ha.series.get(ENERGY) ?? new Map();
  for (let start = Date.UTC(2022, 0, 1); start < Date.UTC(2025, 0, 1); start += 3_600_000)
    if (!rows.has(start)) rows.set(start, { state: 0, sum: 0 });
  rows.set(Date.UTC(2001, 4, 5), { state: 0, sum: 0 });
  read();
  expect(await bring(YEAR, { thorough: true })).toBeGreaterThan(8_000);
  expect(read().slice(0, 5)).toEqual([
    'month 1990-01-01',
    'hour 2001-05-01',
    'hour 2022-01-01',
    'hour 2023-01-01',
    'hour 2024-01-01',
  ]);
});

test.each<[string, object]>([
  ['begin at no time', { start: 1e300, end: 1e300 }],
  ['begin before all times', { start: -1e300, end: 0 }],
  ['end in a year of five digits', { start: Date.UTC(2024, 0), end: 8e15 }],
  ['end thousands of years after they begin', { start: Date.UTC(2024, 0), end: Date.UTC(9000, 0) }],
  ['end before they begin', { start: Date.UTC(2024, 1), end: Date.UTC(2024, 0) }],
])('rows that %s are no answer, and one question is all that they cost', async (_, months) => {
  const { ha, bring, read } = await opened();
  ha.answerNext('recorder/statistics_during_period', { [ENERGY]: [months] });
  const trouble = await bring(YEAR, { thorough: true }).catch((err) => err);
  expect(trouble).toMatchObject({ kind: 'strange' });
  expect(read()).toHaveLength(1);
});

test('a sum that differs in the newest rows leads to the first row that does', async () => {
  const { ha, bring, read } = await opened();
  await bring(YEAR);
  const days = new Map(YEAR.days);
  days.set('2024-03-01', { energy: 12_000_000, cost: 0, revision: 1, receivedAt: 2 });
  read();
  expect(await bring({ ...YEAR, days })).toBe(366 - 60);
  expect(ha.rows(ENERGY).at(-1)).toEqual(['2024-12-31T00:00:00.000Z', 10, 3662]);
});

const EVEN = { placement: { zone: DUBLIN, hours: 'even' } } as const;
const withDay = (ledger: Ledger, day: string, energy: number): Ledger => ({
  ...ledger,
  days: new Map([...ledger.days, [day, { energy, cost: 0, revision: 0, receivedAt: 2 }]]),
});

test('spread over hours, a new day sends its hours, and reads back a month and them', async () => {
  const { ha, bring, read } = await opened();
  expect(await bring(YEAR, EVEN)).toBe(366 * 24);
  read();
  expect(await bring(withDay(YEAR, '2025-01-01', 24_000_000), EVEN)).toBe(24);
  expect(read()).toEqual(['hour 2024-12-01', 'hour 2025-12-02', 'hour 2025-01-01']);
  expect(ha.rows(ENERGY).at(-1)).toEqual(['2025-01-01T23:00:00.000Z', 1, 3684]);
});

test('a corrected day rewrites its hours and those after it, and nothing before', async () => {
  const { bring } = await opened();
  await bring(YEAR, EVEN);
  expect(await bring(withDay(YEAR, '2024-12-30', 24_000_000), EVEN)).toBe(48);
});

test('a change of the setting writes all rows again, and going back gives each hour the sum of its day', async () => {
  const { ha, bring } = await opened();
  await bring(YEAR);
  const before = ha.rows(ENERGY);
  expect(await bring(YEAR, { ...EVEN, thorough: true })).toBe(366 * 24);
  expect(await bring(YEAR, { ...EVEN, thorough: true })).toBe(0);
  expect(await bring(YEAR, { thorough: true })).toBe(366 * 24);
  expect(await bring(YEAR)).toBe(0);
  const after = ha.rows(ENERGY);
  expect(after.filter(([, state]) => state !== 0)).toEqual(before);
  const dayOf = (start: string) => DUBLIN.dayAt(Date.parse(start));
  const sums = new Map(before.map(([start, , sum]) => [dayOf(start), sum]));
  expect(after.filter(([start, , sum]) => sum !== sums.get(dayOf(start)))).toEqual([]);
});

test('Home Assistant is told what the Energy dashboard takes', async () => {
  const { ha, bring } = await opened();
  await bring(YEAR);
  await bring(YEAR, {}, { kind: 1 });
  const told = { has_sum: true, mean_type: 0, source: 'heat2mqtt' };
  expect([...ha.metadata.values()]).toMatchObject([
    { ...told, unit_class: 'energy', unit_of_measurement: 'kWh' },
    { ...told, unit_class: null, unit_of_measurement: 'EUR' },
  ]);
});

test('another currency or name is told with all rows, and then once', async () => {
  const { ha, bring } = await opened();
  for (const [named, rows, told] of [
    [{}, 366, { unit_of_measurement: 'EUR', name: 'Heat meter x cost' }],
    [{ currency: 'GBP' }, 366, { unit_of_measurement: 'GBP', name: 'Heat meter x cost' }],
    [{ currency: 'GBP' }, 0, {}],
    [{ currency: 'GBP', friendlyName: 'Flat 3' }, 366, { name: 'Flat 3 cost' }],
    [{ currency: 'GBP', friendlyName: 'Flat 3' }, 0, {}],
  ] as const) {
    expect(await bring(YEAR, {}, { ...named, kind: 1 })).toBe(rows);
    expect(ha.metadata.get('heat2mqtt:x_cost')).toMatchObject(told);
  }
});

test('the wait for a recorder ends with the daemon', async () => {
  const { ha, clock, ending, bring } = await opened();
  ha.switches.slow = true;
  const left = bring(YEAR);
  left.catch(() => undefined);
  // Not that of a reply, which is far longer: what was read back was not all there.
  await waitFor('a wait', () => clock.untilNext === 250 && ha.imports().length === 1);
  ending.abort();
  await expect(left).rejects.toMatchObject({ code: 'home_assistant_cut' });
});
