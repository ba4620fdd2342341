// Invented meters: repeatable, late, carried over and corrected.
import { expect, test } from 'vitest';
import { demoAccounts, HEAT_SERVICE, settle } from '../../src/simulator/accounts.ts';
import { propertiesOf } from '../../src/simulator/billing.ts';
import { type ExplicitEvent, Meter } from '../../src/simulator/meter.ts';
import { truthAt, usageDocuments } from '../../src/simulator/usage/report.ts';
import { propertyWith } from './usageQuestion.ts';

const at = (iso: string) => Date.parse(iso);
const CALM = { late: 0, missing: 0, corrected: 0, withoutStandingCharge: 0, idle: 0 };

test('the same seed tells the same story, whenever it is asked', () => {
  const now = at('2026-03-10T12:00:00Z');
  const atOnce = new Meter({ seed: 5, since: '2025-01-01' }).readingsAt(now);
  const grown = new Meter({ seed: 5, since: '2025-01-01' });
  for (let day = at('2025-01-01'); day < now; day += 5 * 86_400_000) grown.readingsAt(day);
  expect(grown.readingsAt(now)).toEqual(atOnce);
  expect(new Meter({ seed: 6, since: '2025-01-01' }).readingsAt(now)).not.toEqual(atOnce);
});

test('a reading is taken just after local midnight and known from about 01:40 UTC on', () => {
  const meter = new Meter({ since: '2025-07-01', ...CALM });
  const known = (iso: string) => meter.readingsAt(at(iso)).length;
  expect(known('2025-07-01T01:39:59Z')).toBe(0);
  expect(known('2025-07-01T01:50:01Z')).toBe(1);
  expect(known('2025-07-02T01:39:59Z')).toBe(1);
  const [first] = meter.readingsAt(at('2025-07-02T00:00:00Z'));
  expect(first?.at).toBeGreaterThanOrEqual(at('2025-06-30T23:00:00Z'));
  expect(first?.at).toBeLessThan(at('2025-06-30T23:10:00Z'));
});

test('cost follows from the tariff, the register from the readings', () => {
  const readings = new Meter({ since: '2025-01-01', ...CALM }).readingsAt(at('2025-12-31T12:00:00Z'));
  expect(readings).toHaveLength(365);
  let register: number | undefined;
  for (const { kwh, charges, register: reached } of readings) {
    expect(charges).toEqual([Math.round(0.124 * Number(kwh) * 10_000) / 10_000, 0.686]);
    if (register !== undefined) expect(reached - register).toBeCloseTo(Number(kwh), 6);
    register = reached;
  }
  const january = readings.slice(0, 31).reduce((sum, { kwh }) => sum + Number(kwh), 0);
  const july = readings.slice(181, 212).reduce((sum, { kwh }) => sum + Number(kwh), 0);
  expect(january).toBeGreaterThan(3 * july);
});

test('a missing reading is made up for by the next, in energy and in days', () => {
  const since = '2025-01-01';
  const now = at('2026-01-01T12:00:00Z');
  const whole = new Meter({ seed: 3, since, ...CALM }).readingsAt(now);
  const gappy = new Meter({ seed: 3, since, ...CALM, missing: 0.1 }).readingsAt(now);
  expect(gappy.length).toBeLessThan(whole.length - 10);
  expect(gappy.at(-1)?.register).toBeCloseTo(Number(whole.at(-1)?.register), 6);
  expect(gappy.some(({ charges }) => charges[1] === 1.372)).toBe(true);
});

test('the day before the newest is an estimate until it is corrected', () => {
  const estimate = { until: Number.POSITIVE_INFINITY };
  const now = at('2025-03-10T12:00:00Z');
  const meter = new Meter({ since: '2025-01-01', estimate, ...CALM });
  const before = meter.readingsAt(now);
  estimate.until = now;
  const after = meter.readingsAt(now);
  expect(after).toEqual(new Meter({ since: '2025-01-01', ...CALM }).readingsAt(now));
  expect(before.filter(({ kwh }, index) => kwh !== after[index]?.kwh)).toEqual([before.at(-2)]);
  expect(before.at(-2)?.charges[0]).toBeLessThan(Number(after.at(-2)?.charges[0]));
});

test('late readings come one to four days after their day', () => {
  const readings = new Meter({ since: '2025-01-01', ...CALM, late: 1 }).readingsAt(
    at('2025-06-01T12:00:00Z'),
  );
  for (const { at: taken, bookedAt } of readings) {
    expect(bookedAt - taken).toBeGreaterThan(24 * 3_600_000);
    expect(bookedAt - taken).toBeLessThan(4 * 86_400_000 + 4 * 3_600_000);
  }
});

test('a correction replaces what was told before', () => {
  const oneDay = { seed: 9, since: '2025-01-01', until: '2025-01-01', ...CALM };
  const meter = new Meter({ ...oneDay, corrected: 1 });
  const [before] = meter.readingsAt(at('2025-01-02T12:00:00Z'));
  const [after] = meter.readingsAt(at('2025-01-20T12:00:00Z'));
  const [truth] = new Meter(oneDay).readingsAt(at('2025-01-20'));
  expect(before?.kwh).not.toBe(after?.kwh);
  expect(after).toMatchObject({ kwh: truth?.kwh, register: truth?.register, charges: truth?.charges });
});

test('explicit readings appear, change and count to the truth of their local day', () => {
  const corrections = [{ from: at('2025-07-05'), kwh: 2, eur: 1 }];
  const events: ExplicitEvent[] = [
    { at: at('2025-07-01T23:00:30Z'), kwh: 1.5, eur: 0.9, corrections },
    { at: at('2025-07-02T22:59:59Z'), kwh: 0.1, eur: 0.2, bookedAt: at('2025-07-04') },
  ];
  const property = propertyWith(events);
  const truth = (iso: string) => Object.fromEntries(truthAt(property, at(iso)));
  expect(truth('2025-07-01')).toEqual({});
  expect(truth('2025-07-03')).toEqual({ '2025-07-02': { kwh: 1.5, eur: 0.9, readings: 1 } });
  expect(truth('2025-07-04')).toEqual({ '2025-07-02': { kwh: 1.6, eur: 1.1, readings: 2 } });
  expect(truth('2025-07-05')).toEqual({ '2025-07-02': { kwh: 2.1, eur: 1.2, readings: 2 } });
  events.push({ at: at('2025-07-09'), kwh: 3, eur: 1, bookedAt: at('2025-07-09') });
  expect(Object.keys(truth('2025-07-09'))).toEqual(['2025-07-02', '2025-07-09']);
});

test('the index holds more Euro documents than readings, and an amount that is no money', () => {
  const [property] = settle(demoAccounts()).flatMap(propertiesOf);
  const documents = usageDocuments(property, HEAT_SERVICE, at('2026-01-31T12:00:00Z'));
  const heat = documents.filter(({ resource }) => resource === 'Heat - Meter Value');
  expect(documents.length - heat.length).toBeGreaterThan(1.9 * heat.length);
  expect(Math.min(...heat.map(({ amount }) => amount))).toBeGreaterThan(500);
});
