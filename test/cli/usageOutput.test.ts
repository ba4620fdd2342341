// The usage command's output as its reader sees it: aligned, with bars on a terminal, and honest about what is not known.
import { expect, test } from 'vitest';
import { printUsage } from '../../src/cli/usage.ts';
import { addDays, type Interval, piecesOf } from '../../src/domain/period.ts';
import type { Tariff } from '../../src/domain/tariff/tariff.ts';
import { amounts } from '../domain/ledgers.ts';
import { ioTo } from '../support/typed.ts';

const TARIFF: Tariff = {
  unitRate: 0.124,
  standingCharge: 686_000,
  from: '2025-01-16',
  to: '2025-03-09',
  daysExplained: 51,
  daysSeen: 53,
  tolerance: 10_000,
};

interface Asked {
  readonly interval: Interval;
  readonly from: string;
  readonly to: string;
  /** kWh and EUR of each row. */
  readonly values: readonly (readonly [number | null, number | null])[];
  readonly tariff?: Tariff;
}

function printed(
  { interval, from, to, values, tariff }: Asked,
  {
    format = 'table' as 'table' | 'json' | 'csv',
    isTerminal = true,
    columns = 60,
    currency = 'EUR',
    friendlyName = null as string | null,
    readTo = null as string | null,
  } = {},
): string {
  const lines: string[] = [];
  const io = { ...ioTo(lines), isTerminal, columns };
  const span = { from, to: addDays(to, 1) };
  const rows = piecesOf(span, interval).map((piece, at) => {
    const [kwh, eur] = values[at] ?? [null, null];
    return { ...piece, ...amounts(kwh, eur), costAtTariff: null };
  });
  const closing = { closes: 'same_day', from: 'readings', days: 20 } as const;
  const meter = {
    meter: '70418235',
    friendlyName,
    closing,
    rows,
    tariff: tariff ?? null,
    readTo,
  };
  printUsage(format, [meter], { interval, span, currency, zone: 'Europe/Dublin', prices: null }, io);
  return lines.join('');
}

const MONTHS: Asked = {
  interval: 'month',
  from: '2025-01-15',
  to: '2025-04-10',
  values: [
    [386.44, 59.58],
    [1561.681, 188.864],
    [null, null],
    [0, 6.86],
  ],
  tariff: TARIFF,
};

test('a table on a terminal', () => {
  expect(printed(MONTHS)).toBe(`Meter 70418235, 2025-01-15 to 2025-04-10, Europe/Dublin

month          kWh     EUR
2025-01 *   386.44   59.58  ███████▉
2025-02    1561.68  188.86  ████████████████████████████████
2025-03          –       –  no reading
2025-04 *     0.00    6.86
─────────  ───────  ──────
total      1948.12  255.30

* 2025-01: only 2025-01-15 to 2025-01-31.
* 2025-04: only 2025-04-01 to 2025-04-10.
1 of 4 months without a reading: not known, which is not 0.
Each reading counts for the day on which it is taken (seen from the times of the newest readings).
Tariff (derived): 0.124 EUR/kWh + 0.686 EUR/day, explains 51 of 53 days, 2025-01-16 to 2025-03-09.

`);
});

test.each([
  ['2025-04-08', '* 2025-04: only 2025-04-01 to 2025-04-08.', '1 of 4 months without'],
  ['2025-04-10', '* 2025-04: only 2025-04-01 to 2025-04-10.', '1 of 4 months without'],
])('read to %s: %s', (readTo, ...lines) => {
  const table = printed(MONTHS, { readTo });
  for (const line of lines) expect(table).toContain(line);
});

test('a day that has not been read yet is not missing', () => {
  const days: Asked = {
    interval: 'day',
    from: '2025-04-06',
    to: '2025-04-10',
    values: [
      [1, 1],
      [null, null],
      [1, 1],
    ],
  };
  const table = printed(days, { readTo: '2025-04-08' });
  expect(table).toContain('1 of 3 days without a reading');
  expect(table.match(/no reading yet$/gm)).toHaveLength(2);
  expect(table.match(/no reading$/gm)).toHaveLength(1);
});

test('a meter with a friendly name', () => {
  expect(printed(MONTHS, { friendlyName: 'Flat 3' })).toMatch(/^Flat 3 \(meter 70418235\), 2025-01-15 to/);
});

test('no line is wider than the terminal, and a narrow one goes without bars', () => {
  for (const columns of [20, 36, 37, 38, 50, 80, 200]) {
    const rows = printed(MONTHS, { columns }).split('\n').slice(2, 9);
    expect(Math.max(...rows.slice(0, 3).map((row) => row.length))).toBeLessThanOrEqual(Math.max(columns, 26));
    expect(rows.some((row) => row.includes('█'))).toBe(columns > 37);
  }
});

test('no bars where no terminal is, but still no reading', () => {
  const table = printed(MONTHS, { isTerminal: false });
  expect(table).not.toContain('█');
  expect(table).toContain('–  no reading\n');
});

test('nothing known at all: no total, no tariff, in another currency', () => {
  const table = printed(
    { interval: 'week', from: '2025-03-24', to: '2025-04-06', values: [] },
    { currency: 'SEK' },
  );
  expect(table).toContain('week of     kWh  SEK\n');
  expect(table).toContain('total         –    –\n');
  expect(table).toContain('2 of 2 weeks without a reading');
  expect(table).toContain('Tariff (derived): none explains these days');
});

test.each([
  ['quarter', '2024-Q4', '2025-Q1'],
  ['year', '2024 *', '2025 *'],
  ['day', '2024-12-31', '2025-01-01'],
] as const)('the names of a %s', (interval, first, second) => {
  const from = interval === 'day' ? '2024-12-31' : '2024-10-01';
  const to = interval === 'day' ? '2025-01-01' : '2025-03-31';
  const both = [1, 1] as const;
  const rows = printed({ interval, from, to, values: [both, both] }).split('\n');
  expect([rows[3], rows[4]].map((row) => row?.split('  ')[0])).toEqual([first, second]);
});

test('JSON and CSV: null and an empty cell for what is not known, all decimals, what is partial', () => {
  const records = JSON.parse(printed(MONTHS, { format: 'json' }));
  expect(records).toHaveLength(4);
  const common = { meter: '70418235', currency: 'EUR', partial: false, reading_closes: 'same_day' };
  const february = { start: '2025-02-01', from: '2025-02-01', to: '2025-02-28' };
  const march = { start: '2025-03-01', from: '2025-03-01', to: '2025-03-31' };
  expect(records.slice(1, 3)).toEqual([
    { ...common, ...february, energy_kwh: 1561.681, cost_eur: 188.864 },
    { ...common, ...march, energy_kwh: null, cost_eur: null },
  ]);
  expect(printed(MONTHS, { format: 'csv' }).split('\r\n')).toEqual([
    'meter,start,energy_kwh,cost_eur,currency,from,to,partial',
    '70418235,2025-01-01,386.44,59.58,EUR,2025-01-15,2025-01-31,true',
    '70418235,2025-02-01,1561.681,188.864,EUR,2025-02-01,2025-02-28,false',
    '70418235,2025-03-01,,,EUR,2025-03-01,2025-03-31,false',
    '70418235,2025-04-01,0,6.86,EUR,2025-04-01,2025-04-10,true',
    '',
  ]);
});
