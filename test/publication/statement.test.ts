// The statement of a month: every figure is that of its days, and what is not known says why.
import { expect, test } from 'vitest';
import type { DayRecord } from '../../src/domain/ledger.ts';
import type { Day } from '../../src/domain/period.ts';
import type { Language } from '../../src/publication/language.ts';
import { statementPage, statementText } from '../../src/publication/statement/page.ts';
import { completeMonths, statementOf } from '../../src/publication/statement/statement.ts';
import { DUBLIN, type Household } from '../support/household.ts';
import { factsOf } from '../support/statementFacts.ts';

const sumOf = (house: Household, month: string, pick: 'energy' | 'cost') =>
  house.readings.filter(({ day }) => day.startsWith(month)).reduce((sum, one) => sum + one[pick], 0) / 1e6;

test('has the figures of the days, the register and the bills when a month is whole', () => {
  const { house, facts } = factsOf();
  const statement = statementOf('2025-05', facts);
  for (const [told, month] of [
    [statement, '2025-05'],
    [statement.month_before, '2025-04'],
    [statement.year_before, '2024-05'],
  ] as const) {
    expect(told.energy.value).toBeCloseTo(sumOf(house, month, 'energy'), 3);
    expect(told.cost.value).toBeCloseTo(sumOf(house, month, 'cost'), 3);
  }
  expect(statement.months.map(({ month, energy_kwh }) => [month, energy_kwh])).toEqual(
    Array.from(
      { length: 13 },
      (_, at) => `${at < 8 ? 2024 : 2025}-${String(((at + 4) % 12) + 1).padStart(2, '0')}`,
    ).map((month) => [month, expect.closeTo(sumOf(house, month, 'energy'), 2)]),
  );
  const { register_first: first, register_last: last } = statement;
  expect((last.value?.kwh ?? 0) - (first.value?.kwh ?? 0)).toBeCloseTo(sumOf(house, '2025-05', 'energy'), 2);
  expect(statement.prices.value).toMatchObject([
    {
      from: '2025-05-01',
      to: '2025-05-31',
      unit_rate: expect.closeTo(0.124, 3),
      standing_charge: expect.closeTo(0.686, 2),
    },
  ]);
  const { heating, hot_water } = statement;
  expect((heating.value?.kwh ?? 0) + (hot_water.value?.kwh ?? 0)).toBeCloseTo(statement.energy.value ?? 0, 0);
  expect(statement.bills.value).toMatchObject([
    { from: '2025-05-01', to: '2025-05-31', verdict: 'as_expected' },
  ]);
  expect(statement).toMatchObject({
    energy: { basis: { kind: 'readings', days: 31, of: 31 } },
    energy_per_m2: {
      value: expect.closeTo((statement.energy.value ?? 0) / 62, 1),
      basis: { keys: ['statement.area_m2'] },
    },
    co2: { value: { kg: expect.closeTo((statement.energy.value ?? 0) * 0.19, 1) } },
    days: { of: 31, missing: [], carried: [], estimated: [], corrected: [] },
    revision: 0,
  });
});

test.each<[string, readonly Day[], object | null, string]>([
  [
    'at both ends of the month',
    ['2025-05-01', '2025-06-01'],
    { kwh: 412.3 },
    'The meter itself: 412.3 kWh; the provider: ',
  ],
  [
    'at one end only',
    ['2025-05-01', '2025-06-02'],
    null,
    'The meter itself: there is no reading of that time',
  ],
])('tells in one line what the meter itself says when it was heard %s', (_, days, value, line) => {
  const readings = days.map((day, at) => ({
    energy: 5_000_000_000 + at * 412_300_000,
    readAt: DUBLIN.startOf(day) + 60_000,
  }));
  const midnights = { energy: 5_412_300_000, readAt: 0, readings };
  const { facts } = factsOf();
  expect(statementOf('2025-05', facts)).not.toHaveProperty('witness');
  const statement = statementOf('2025-05', { ...facts, meter: { ...facts.meter, witness: { midnights } } });
  expect(statement.witness?.value ?? null).toEqual(
    value && { ...value, provider_kwh: statement.energy.value },
  );
  expect(statementText(statement, 'en', '2025-07-01')).toContain(line);
});

test('tells a saving within a few percent when there is weather', () => {
  const { facts } = factsOf({ changes: [{ from: '2024-12-01', factor: 0.8 }], holidays: 0 });
  const { value } = statementOf('2025-02', facts).weather_adjusted;
  expect(value?.percent).toBeGreaterThan(-28);
  expect(value?.percent).toBeLessThan(-12);
  expect(statementOf('2025-02', facts).conclusion).toEqual({
    code: 'less',
    amount: -(value?.percent ?? 0),
    day: null,
  });
});

test('says why when a field has no value', () => {
  const { facts } = factsOf({
    meter: { house: null, register: null },
    config: {},
    bills: false,
    days: 40,
    from: '2025-05-01',
  });
  const reasons = Object.entries(statementOf('2025-05', facts)).flatMap(([key, field]) =>
    typeof field === 'object' && field !== null && 'reason' in field && field.reason !== null
      ? [[key, field.reason]]
      : [],
  );
  expect(Object.fromEntries(reasons)).toEqual({
    weather_adjusted: 'needs_outdoor_temperature',
    heating: 'needs_outdoor_temperature',
    hot_water: 'needs_outdoor_temperature',
    register_first: 'not_told',
    register_last: 'not_told',
    bills: 'not_told',
    energy_per_m2: 'not_configured',
    heat_source: 'not_configured',
    co2: 'not_configured',
    average_user: 'not_configured',
    contacts: 'not_configured',
  });
  const asked = { meter_reading: false, balance: false, invoices: false };
  const silent = statementOf('2025-05', { ...facts, account: { ...facts.account, balance: null, asked } });
  for (const { reason } of [silent.register_first, silent.bills, silent.due])
    expect(reason).toBe('switched_off');
  const { month_before, year_before, conclusion } = statementOf('2025-05', facts);
  expect([month_before.energy.reason, year_before.cost.reason, conclusion.code]).toEqual([
    'not_recorded',
    'not_recorded',
    'not_compared',
  ]);
});

test('marks the days when some are missing, estimated or corrected', () => {
  const { facts } = factsOf({
    change: (days) => {
      for (const day of ['2025-05-04', '2025-05-05']) days.delete(day);
      for (const day of ['2025-05-10', '2025-05-11', '2025-05-12', '2025-05-13']) {
        const record = days.get(day);
        if (record) days.set(day, { ...record, energy: 5_100_000 });
      }
      const corrected = days.get('2025-05-20');
      if (corrected) days.set('2025-05-20', { ...corrected, revision: 2 });
    },
  });
  expect(statementOf('2025-05', facts)).toMatchObject({
    revision: 2,
    days: {
      missing: ['2025-05-04', '2025-05-05'],
      carried: [],
      estimated: ['2025-05-10', '2025-05-11', '2025-05-12', '2025-05-13'],
      corrected: ['2025-05-20'],
    },
  });
});

test('tells both registers when the register has begun anew', () => {
  const { facts } = factsOf({ replacedOn: '2025-05-15' });
  const statement = statementOf('2025-05', facts);
  const shown = (kwh: unknown, day: string) => ({ kwh, at: `${day}T23:55:00+01:00`, meter_identifier: null });
  const [{ last, first }] = statement.exchanges as [(typeof statement.exchanges)[number]];
  expect([last, first]).toEqual([
    shown(expect.any(Number), '2025-05-14'),
    shown(expect.any(Number), '2025-05-15'),
  ]);
  expect(statement.register_first.value?.kwh).toBeLessThan(last.kwh);
  expect(statement.register_last.value?.kwh).toBeGreaterThan(first.kwh);
  expect(last.kwh).toBeGreaterThan(10 * first.kwh);
  for (const [language, sentence] of [
    ['en', 'The register has fallen'],
    ['de', 'Der Zählerstand ist gefallen'],
    ['ga', 'Tá an clár tar éis titim'],
  ] as const)
    expect(statementText(statement, language, '2025-07-01')).toContain(sentence);
  expect(statementOf('2025-04', facts).exchanges).toEqual([]);
  expect(statementOf('2025-06', facts).exchanges).toEqual([]);
});

test('names the meter of each month when another was put in', () => {
  const { facts } = factsOf({ replacedOn: '2025-05-15' });
  const { register } = facts.meter;
  const readings = (register?.readings ?? []).map((one) => ({
    ...one,
    meter: one.readAt < DUBLIN.startOf('2025-05-15') ? '70418235' : '70999001',
  }));
  const meter = {
    ...facts.meter,
    identifiers: ['70999001'],
    register: register && { ...register, meter: '70999001', readings },
  };
  const statement = (month: string) => statementOf(month, { ...facts, meter });
  const named = ['2024-07', '2025-04', '2025-05', '2025-06'].map(
    (month) => statement(month).meter_identifiers,
  );
  expect(named).toEqual([['70418235'], ['70418235'], ['70999001'], ['70999001']]);
  expect(statement('2025-05').meter).toBe(facts.meter.meter);
  const text = statementText(statement('2025-05'), 'en', '2025-07-01');
  expect(text).toMatch(/^Meter 70999001 ·/m);
  expect(text).toContain('The meter has been replaced: 70999001 is in the place of 70418235.');
  expect(text).toMatch(/Last register before: [\d,.]+ kWh on 14 May 2025/);
  expect(text).toMatch(/First register after: [\d,.]+ kWh on 15 May 2025/);
});

test('tells two prices when the tariff has changed in the month', () => {
  const { facts } = factsOf({
    tariffs: [
      { from: '2000-01-01', unitRate: 0.124, standing: 0.686 },
      { from: '2025-05-12', unitRate: 0.141, standing: 0.72 },
    ],
  });
  expect(statementOf('2025-05', facts).prices.value).toMatchObject([
    { from: '2025-05-01', unit_rate: expect.closeTo(0.124, 3) },
    { from: '2025-05-12', to: '2025-05-31', unit_rate: expect.closeTo(0.141, 3) },
  ]);
});

test('tells the margin of a rate when it is fitted on few days of whole cents', () => {
  const { facts } = factsOf({
    change: (days) => {
      for (const [day, record] of days) {
        if (day < '2025-05-18' || day > '2025-05-31') days.delete(day);
        else days.set(day, { ...record, cost: Math.round((record.cost ?? 0) / 10_000) * 10_000 });
      }
    },
  });
  const statement = statementOf('2025-05', facts);
  expect(statement.prices.value?.[0]?.unit_rate_margin).toBeGreaterThan(0.000_1);
  expect(statementText(statement, 'en', '2025-07-01')).toMatch(
    /Unit rate: €0\.1\d+ for each kWh \(± €0\.00\d+\)/,
  );
  const exact = statementOf('2025-05', factsOf().facts);
  expect(statementText(exact, 'en', '2025-07-01')).not.toContain('±');
});

/** Days that are not read, and whose heat and charges are in the reading of another day. */
function carriedBy(reading: Day, gone: readonly Day[]) {
  return (days: Map<Day, DayRecord>) => {
    const record = days.get(reading);
    const lost = gone.flatMap((day) => days.get(day) ?? []);
    for (const day of gone) days.delete(day);
    const sumOfAll = (kind: 'energy' | 'cost') =>
      lost.reduce((sum, one) => sum + (one[kind] ?? 0), record?.[kind] ?? 0);
    if (record) days.set(reading, { ...record, energy: sumOfAll('energy'), cost: sumOfAll('cost') });
  };
}

test('compares nothing, and says so, when a gap lies over the end of the month', () => {
  const gone = ['2025-04-28', '2025-04-29', '2025-04-30', '2025-05-01'];
  const { house, facts } = factsOf({ change: carriedBy('2025-05-02', gone) });
  const april = statementOf('2025-04', facts);
  const read = house.readings.filter(({ day }) => day.startsWith('2025-04') && !gone.includes(day));
  expect(april.energy.value).toBeCloseTo(read.reduce((sum, { energy }) => sum + energy, 0) / 1e6, 3);
  expect(april.conclusion).toEqual({ code: 'gap_at_end', amount: 3, day: '2025-05-02' });
  for (const field of [april.weather_adjusted, april.heating, april.hot_water])
    expect(field).toMatchObject({ value: null, reason: 'gap_at_edge' });
  expect(april.months.at(-1)?.year_before_adjusted_kwh).toBeNull();
  const may = statementOf('2025-05', facts);
  expect(may.conclusion).toEqual({ code: 'gap_at_start', amount: 3, day: '2025-05-02' });
  expect(may.month_before.energy).toMatchObject({ value: null, reason: 'gap_at_edge' });
  expect(statementText(april, 'en', '2025-07-01')).toMatch(/too low by their heat/);
  expect(statementText(may, 'de', '2025-07-01')).toMatch(/zu hoch/);
});

test.each<[Language, RegExp, RegExp]>([
  ['en', /2 days have no reading of their own/, /All days/],
  ['de', /2 Tage haben keine eigene Ablesung/, /Alle Tage/],
  ['ga', /Níl a léamh féin ag 2 lá/, /gach lá/],
])('names days in the headline when a later reading has them, in %s', (language, named, denied) => {
  const change = carriedBy('2025-05-12', ['2025-05-10', '2025-05-11']);
  const { facts } = factsOf({ change, meter: { house: null } });
  const statement = statementOf('2025-05', facts);
  expect(statement.days).toMatchObject({ missing: [], carried: ['2025-05-10', '2025-05-11'] });
  const text = statementText(statement, language, '2025-07-01');
  expect(text).toMatch(named);
  expect(text).not.toMatch(denied);
});

test('tells prices by the days after it when they began on the last days of the month', () => {
  const { facts } = factsOf({
    tariffs: [
      { from: '2000-01-01', unitRate: 0.124, standing: 0.686 },
      { from: '2025-05-28', unitRate: 0.141, standing: 0.72 },
    ],
  });
  expect(statementOf('2025-05', facts).prices.value).toMatchObject([
    { from: '2025-05-01', to: '2025-05-27', unit_rate: expect.closeTo(0.124, 3) },
    { from: '2025-05-28', to: '2025-05-31', unit_rate: expect.closeTo(0.141, 3) },
  ]);
});

const withoutDays = (days: Map<Day, unknown>) => {
  for (const day of days.keys()) if (day > '2025-05-19' || day < '2024-07-01') days.delete(day);
};
test.each<[string, Parameters<typeof factsOf>[0], object]>([
  ['a wrong bill', { wrong: { 34: 25 } }, { code: 'bill_differs', amount: expect.closeTo(25, 1) }],
  [
    'a bill that is too low',
    { wrong: { 34: -25 } },
    { code: 'bill_differs', amount: expect.closeTo(-25, 0) },
  ],
  ['another rule of the bills', { wrong: { 32: 5, 33: 5, 34: 5 } }, { code: 'rule_changed', amount: null }],
  [
    'days without a reading, before a wrong bill',
    { wrong: { 34: 25 }, change: withoutDays },
    { code: 'days_missing', amount: 12 },
  ],
])('concludes first what matters most when the case is: %s', (_, options, expected) => {
  const { facts } = factsOf(options);
  const statement = statementOf('2025-05', facts);
  expect(statement.conclusion).toEqual({ day: null, ...expected });
  // The amount has no sign in words.
  expect(statementText(statement, 'en', '2025-07-01').slice(0, 400)).not.toMatch(/[-−]€?2\d\.\d\d/);
  // A year that is not whole is not compared.
  const own = statement.average_user.value?.own_kwh_m2_year;
  expect(own === null).toBe(options?.change !== undefined);
});

test('offers a month when it is whole, since the origin, and read or long enough past', () => {
  const { facts } = factsOf({ origin: '2025-03-15' });
  const { tenancy } = facts.meter;
  const at = (now: string, lateAfterHours = 60) =>
    [...completeMonths(tenancy, { zone: DUBLIN, now: Date.parse(now), lateAfterHours })].reverse();
  expect(at('2025-06-01T00:30:00+01:00')).toEqual(['2025-04', '2025-05']);
  const gap = { ...tenancy, days: new Map([...tenancy.days].filter(([day]) => day !== '2025-05-31')) };
  const later = (now: string) =>
    [...completeMonths(gap, { zone: DUBLIN, now: Date.parse(now), lateAfterHours: 60 })].reverse();
  expect(later('2025-06-03T11:59:00+01:00')).toEqual(['2025-04']);
  expect(later('2025-06-03T12:00:00+01:00')).toEqual(['2025-04', '2025-05']);
});

const { facts: NAMED } = factsOf({ meter: { friendlyName: '<Flat> & "3"' } });
const WRITTEN = statementOf('2025-05', NAMED);
test.each<[Language, RegExp]>([
  ['en', /Heat in May 2025.*You used about|Heat in May 2025/s],
  ['de', /Wärme im Mai 2025/],
  ['ga', /Teas i Bealtaine 2025/],
])('has no script, nothing unescaped and every word when it is written in %s', (language, title) => {
  const [page, text] = [
    statementPage([WRITTEN], language, '2025-07-01'),
    statementText(WRITTEN, language, '2025-07-01'),
  ];
  for (const written of [page, text]) {
    expect(written).toMatch(title);
    expect(written).not.toMatch(/undefined|NaN|\[object|\{\w+\}(?![^<]*<\/style>)/);
  }
  expect(page).not.toMatch(/<script|<Flat>|https?:\/\//);
  expect(page).toContain('&lt;Flat&gt; &amp; &quot;3&quot;');
});
