// Tables on a terminal, and what usage prints: aligned, with bars where there is room, and honest about what is not known.
import { expect, test } from 'vitest';
import { tableLines } from '../../src/cli/printing.ts';
import { printUsage } from '../../src/cli/usage.ts';
import { addDays, type Interval, piecesOf } from '../../src/domain/period.ts';
import { amounts } from '../domain/ledgers.ts';
import { ioTo } from '../support/typed.ts';

const TARIFF = {
  unitRate: 0.124,
  standingCharge: 686_000,
  unitRateMargin: 0,
  standingChargeMargin: 0,
  from: '2025-01-16',
  to: '2025-03-09',
  daysExplained: 51,
  daysSeen: 53,
  tolerance: 10_000,
};

type Values = readonly (readonly [kWh: number | null, EUR: number | null])[];
const MONTHS: Values = [
  [386.44, 59.58],
  [1561.681, 188.864],
  [null, null],
  [0, 6.86],
];

/** Four months, two of them not whole, unless another period is given. */
function printed({
  interval = 'month' as Interval,
  from = '2025-01-15',
  to = '2025-04-10',
  values = MONTHS,
  tariff = null as typeof TARIFF | null,
  format = 'table' as 'table' | 'json' | 'csv',
  isTerminal = true,
  columns = 60,
  currency = 'EUR',
  friendlyName = null as string | null,
  readTo = null as string | null,
} = {}): string {
  const lines: string[] = [];
  const span = { from, to: addDays(to, 1) };
  const rows = piecesOf(span, interval).map((piece, at) => {
    const [kwh, eur] = values[at] ?? [null, null];
    return { ...piece, ...amounts(kwh, eur), costAtTariff: null };
  });
  const closing = { closes: 'same_day', from: 'readings', days: 20 } as const;
  const meter = { meter: '70418235', friendlyName, closing, rows, tariff, readTo };
  const period = { interval, span, currency, zone: 'Europe/Dublin', prices: null };
  printUsage(format, [meter], period, { ...ioTo(lines), isTerminal, columns });
  return lines.join('');
}

test('prints a table on a terminal', () => {
  expect(printed({ tariff: TARIFF })).toBe(`Meter 70418235, 2025-01-15 to 2025-04-10, Europe/Dublin

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

const DAYS = { interval: 'day', from: '2025-04-06', to: '2025-04-10' } as const;
const ONE = [1, 1] as const;
const WEEKS = { interval: 'week', from: '2025-03-24', to: '2025-04-06', values: [] } as const;

test.each<[string, Parameters<typeof printed>[0], readonly (string | RegExp)[]]>([
  ['read to a day within', { readTo: '2025-04-08' }, ['* 2025-04: only 2025-04-01 to 2025-04-08.', '1 of 4']],
  [
    'days that have not been read yet are not missing',
    { ...DAYS, values: [ONE, [null, null], ONE], readTo: '2025-04-08' },
    ['1 of 3 days without a reading', /no reading\n.*\n.*no reading yet\n.*no reading yet\n/],
  ],
  ['a friendly name', { friendlyName: 'Flat 3' }, [/^Flat 3 \(meter 70418235\), 2025-01-15 to/]],
  ['no terminal, no bars', { isTerminal: false }, [/^[^█]*$/, '–  no reading\n']],
  [
    'nothing known at all, in another currency',
    { ...WEEKS, currency: 'SEK' },
    ['week of     kWh  SEK\n', 'total         –    –\n', '2 of 2 weeks without', 'none explains these days'],
  ],
  [
    'quarters',
    { interval: 'quarter', from: '2024-10-01', to: '2025-03-31' },
    [/\n2024-Q4 {2}.*\n2025-Q1 {2}/],
  ],
  ['years', { interval: 'year', from: '2024-10-01', to: '2025-03-31' }, [/\n2024 \* .*\n2025 \* /]],
])('%s', (_, given, words) => {
  const table = printed(given);
  for (const one of words)
    expect(table).toEqual(
      typeof one === 'string' ? expect.stringContaining(one) : expect.stringMatching(one),
    );
});

test('prints no line wider than the terminal, and no bars on a narrow one', () => {
  for (const columns of [20, 36, 37, 38, 50, 80, 200]) {
    const rows = printed({ columns }).split('\n').slice(2, 9);
    expect(Math.max(...rows.slice(0, 3).map((row) => row.length))).toBeLessThanOrEqual(Math.max(columns, 26));
    expect(rows.some((row) => row.includes('█'))).toBe(columns > 37);
  }
});

test('prints null or an empty cell for what is not known, all decimals, and what is partial', () => {
  const records = JSON.parse(printed({ format: 'json' }));
  expect(records).toHaveLength(4);
  const common = { meter: '70418235', currency: 'EUR', partial: false, reading_closes: 'same_day' };
  const february = { start: '2025-02-01', from: '2025-02-01', to: '2025-02-28' };
  const march = { start: '2025-03-01', from: '2025-03-01', to: '2025-03-31' };
  expect(records.slice(1, 3)).toEqual([
    { ...common, ...february, energy_kwh: 1561.681, cost_eur: 188.864 },
    { ...common, ...march, energy_kwh: null, cost_eur: null },
  ]);
  expect(printed({ format: 'csv' }).split('\r\n')).toEqual([
    'meter,start,energy_kwh,cost_eur,currency,from,to,partial',
    '70418235,2025-01-01,386.44,59.58,EUR,2025-01-15,2025-01-31,true',
    '70418235,2025-02-01,1561.681,188.864,EUR,2025-02-01,2025-02-28,false',
    '70418235,2025-03-01,,,EUR,2025-03-01,2025-03-31,false',
    '70418235,2025-04-01,0,6.86,EUR,2025-04-01,2025-04-10,true',
    '',
  ]);
});

test('prints the amounts of a column with equally many decimals, and no control character', () => {
  const columns = { Status: 'status', EUR: 'amount', Days: 'days', Invoice: 'id' } as const;
  const rows = [
    { status: 'open', amount: 1000, days: null, id: '18' },
    { status: 'paid', amount: 79.1, days: 0, id: 'a\nb' },
    { status: null, amount: -12.25, days: 3, id: '\u001b[2J' },
  ];
  expect(tableLines(columns, rows)).toEqual([
    'Status      EUR  Days  Invoice',
    'open    1000.00     –  18',
    'paid      79.10     0  a b',
    '–        -12.25     3   [2J',
  ]);
});
