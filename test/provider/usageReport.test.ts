// Honest usage reports: their sums in any zone, and when readings were taken.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { usageQuery, usageReports } from '../../src/provider/monetization/usageReport.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { look } from '../simulator/visitor.ts';
import { logLines } from '../support/logLines.ts';
import { RUNS } from '../support/property.ts';
import { expectedDays, openHome, QUESTION, REPORT, reading } from './readings.ts';

test.each([
  ['512001', '512001'],
  ['a-b OR *', '"a-b OR *"'],
  ['a" OR "b', '"a\\" OR \\"b"'],
  ['AND', '"AND"'],
  ['ANDREW', 'ANDREW'],
])('an id is no query of its own: %s', (propertyCustomerId, written) => {
  const asked = usageQuery({ ...QUESTION, propertyCustomerId }, 'interval');
  expect(look(asked, 'query.bool.filter.1.query_string.query')).toBe(written);
});

test('weeks and longer keep the bucket that the provider has cut, whichever day a reading closes', async () => {
  const home = await openHome([reading('2026-02-25', 2, 1), reading('2026-03-02', 3, 1)]);
  const week = { energy: 2_000_000, cost: 1_000_000 };
  for (const readingCloses of ['same_day', 'previous_day'] as const)
    expect(await home.report({ interval: 'week', readingCloses })).toEqual([
      { day: '2026-02-23', ...week },
      { day: '2026-03-02', ...week, energy: 3_000_000 },
    ]);
});

describe('whatever is read whenever', () => {
  const ZONES = [
    'Europe/Dublin',
    'UTC',
    'America/St_Johns',
    'America/Los_Angeles',
    'Asia/Kathmandu',
    'Pacific/Auckland',
    'Pacific/Kiritimati',
    // Their clocks change at midnight.
    'America/Santiago',
    'Asia/Beirut',
  ] as const;
  const decimal = (most: number) => fc.integer({ min: 0, max: most * 1000 }).map((milli) => milli / 1000);
  const FIRST = Date.parse('2025-01-01T00:00:00Z');
  const LAST = Date.parse('2025-12-30T00:00:00Z');
  const DAY = 86_400_000;
  const instants = (min: number, max: number) =>
    fc.integer({ min: min / 1000, max: max / 1000 }).map((seconds) => seconds * 1000);
  const event: fc.Arbitrary<ExplicitEvent> = fc.record({
    at: fc.oneof(instants(FIRST, LAST), instants(LAST - DAY, LAST)),
    kwh: fc.option(decimal(400)),
    eur: fc.option(decimal(90)),
  });
  const told = ({ kwh, eur }: ExplicitEvent) => kwh !== null || eur !== null;

  test('every day holds what was read on it', async () => {
    const home = await openHome();
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 30 }),
        fc.constantFrom(...ZONES),
        fc.boolean(),
        async (events, timezone, before) => {
          home.events.splice(0, home.events.length, ...events.filter(told));
          const buckets = await home.report({
            zone: zone(timezone),
            // Its last day is the last of a reading, in some zones; where that closes the day before, one more is asked for.
            span: { from: '2024-12-30', to: before ? '2025-12-30' : '2025-12-31' },
            readingCloses: before ? 'previous_day' : 'same_day',
          });
          expect(buckets).toEqual(expectedDays(home.events, timezone, before ? -1 : 0));
        },
      ),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });
});

describe('when readings were taken', () => {
  const at = (text: string): number => Date.parse(text);

  async function openReader(events: Parameters<typeof openHome>[0]) {
    const home = await openHome(events);
    const { usage, readingHours } = usageReports(home.ask, logLines().log);
    const { interval: _, readingCloses: __, ...question } = QUESTION;
    return {
      ...home,
      times: async (changes: Partial<typeof QUESTION> = {}) =>
        (await usage({ ...QUESTION, ...changes })).map(({ day, readAt }) => [day, readAt]),
      hours: (zone = QUESTION.zone) => readingHours({ ...question, zone }),
    };
  }

  test('a day tells when its last heat reading was taken, whatever the charges say', async () => {
    const { times } = await openReader([
      reading('2026-03-01', 1, 1, { at: at('2026-03-01T00:00:30Z') }),
      reading('2026-03-01', 1, null, { at: at('2026-03-01T09:15:00Z') }),
      reading('2026-03-01', null, 0.6, { at: at('2026-03-01T12:00:00Z') }),
      reading('2026-03-02', null, 0.6, { at: at('2026-03-02T13:00:00Z') }),
    ]);
    expect(await times()).toEqual([
      ['2026-03-01', at('2026-03-01T09:15:00Z')],
      ['2026-03-02', at('2026-03-02T13:00:00Z')],
    ]);
    expect(await times({ readingCloses: 'previous_day' })).toEqual([
      ['2026-02-28', at('2026-03-01T09:15:00Z')],
      ['2026-03-01', at('2026-03-02T13:00:00Z')],
    ]);
  });

  test.each([
    ['missing', undefined],
    ['no object', 'soon'],
    ['of another day', { value: at('2026-03-03T00:00:00Z') }],
    ['in seconds', { value: at('2026-03-01T00:00:30Z') / 1000 }],
    ['out of all calendars', { value: 1e300 }],
  ])('a time that is %s is not told, and disturbs nothing', async (_, newest) => {
    const { times, simulator, report } = await openReader([reading('2026-03-01', 2, 1)]);
    simulator.switches.fault(REPORT, {
      kind: 'change',
      change: (body) => {
        const text = JSON.stringify(body, (key, value) => (key === 'newest' ? newest : value));
        return JSON.parse(text);
      },
    });
    expect(await times()).toEqual([['2026-03-01', undefined]]);
    expect(await report()).toEqual([{ day: '2026-03-01', energy: 2_000_000, cost: 1_000_000 }]);
  });

  test('charges tell the hours where no heat was read, nothing tells none, and a zone may be half an hour off', async () => {
    const charged = await openReader([reading('2026-02-01', null, 0.6, { at: at('2026-02-01T13:20:00Z') })]);
    expect(await charged.hours()).toEqual([at('2026-02-01T13:00Z')]);
    expect(await (await openReader([])).hours()).toEqual([]);
    const { hours } = await openReader([reading('2026-03-01', 1, 1, { at: at('2026-02-28T18:31:00Z') })]);
    expect(await hours(zone('Asia/Kolkata'))).toEqual([at('2026-02-28T18:30Z')]);
  });
});
