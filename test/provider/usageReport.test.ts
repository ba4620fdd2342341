// The usage question as it goes out, and honest answers: their traps, their sums in any zone, and when readings were taken.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { usageQuery, usageReports } from '../../src/provider/monetization/usageReport.ts';
import type { UsageQuestion } from '../../src/provider/provider.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { look } from '../simulator/visitor.ts';
import { logLines } from '../support/logLines.ts';
import { RUNS } from '../support/property.ts';
import { expectedDays, openHome, QUESTION, REPORT, reading } from './readings.ts';

const question = (over: Partial<UsageQuestion> = {}) =>
  usageQuery({ ...QUESTION, span: { from: '2025-03-29', to: '2025-04-01' }, ...over }, 'interval');
const FILTERS = 'query.bool.filter';
const HISTOGRAM = 'aggs.resources.aggs.readings.aggs.intervals.date_histogram';

describe('the question', () => {
  test('narrows down to property, service, resources and days, and cuts by the interval in the given zone', () => {
    const asked = question();
    const readAt = 'event_fields.time_of_read.date';
    const format = 'strict_date_optional_time';
    // Summer time began on the 30th.
    const [min, max] = ['2025-03-29T00:00:00.000Z', '2025-03-31T22:59:59.999Z'];
    expect(asked).toMatchObject({ size: 0 });
    expect(look(asked, FILTERS)).toEqual([
      { query_string: { query: 'HEAT_METER_READ_SERVICE', fields: ['service_type'] } },
      { query_string: { query: '512001', fields: ['customer_id'] } },
      { terms: { resource_name: ['Euro', 'Heat - Meter Value'] } },
      { nested: { path: 'event_fields', query: { range: { [readAt]: { gte: min, lte: max, format } } } } },
    ]);
    const histogram = {
      field: readAt,
      interval: 'day',
      time_zone: 'Europe/Dublin',
      min_doc_count: 0,
      format,
    };
    expect(look(asked, HISTOGRAM)).toEqual({ ...histogram, extended_bounds: { min, max } });
    const others = question({ interval: 'quarter', zone: zone('Asia/Kathmandu') });
    expect(look(others, HISTOGRAM)).toMatchObject({ interval: 'quarter', time_zone: 'Asia/Kathmandu' });
  });

  test('asks one day further when a reading closes the day before', () => {
    const bounds = look(question({ readingCloses: 'previous_day' }), `${HISTOGRAM}.extended_bounds`);
    expect(bounds).toEqual({ min: '2025-03-30T00:00:00.000Z', max: '2025-04-01T22:59:59.999Z' });
  });

  test.each([
    ['512001', '512001'],
    ['a-b OR *', '"a-b OR *"'],
    ['a" OR "b', '"a\\" OR \\"b"'],
    ['AND', '"AND"'],
    ['ANDREW', 'ANDREW'],
  ])('an id is no query of its own: %s', (propertyCustomerId, written) => {
    expect(look(question({ propertyCustomerId }), `${FILTERS}.1.query_string.query`)).toBe(written);
  });
});

test('the register in the heat resource’s amount is no money, the quantity of a charge no heat', async () => {
  const home = await openHome([
    reading('2026-03-01', 9, 1.8, { register: 98_765.4 }),
    reading('2026-03-02', 4, null, { register: 98_769.4 }),
    reading('2026-03-03', 5, 0, { charges: [0.62, 0.686, -0.1] }),
  ]);
  expect(await home.report()).toEqual([
    { day: '2026-03-01', energy: 9_000_000, cost: 1_800_000 },
    { day: '2026-03-02', energy: 4_000_000, cost: null },
    { day: '2026-03-03', energy: 5_000_000, cost: 1_206_000 },
  ]);
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
  const event: fc.Arbitrary<ExplicitEvent> = fc.record({
    at: fc.integer({ min: FIRST / 1000, max: LAST / 1000 }).map((seconds) => seconds * 1000),
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
            span: { from: '2024-12-30', to: '2025-12-31' },
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
      intervals: () =>
        home.simulator.requests
          .filter(({ path }) => path === REPORT)
          .map(({ body }) => look(body, 'aggs.resources.aggs.readings.aggs.intervals.date_histogram')),
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

  test('the hours of readings, by one question like that for days', async () => {
    const { hours, intervals } = await openReader([
      reading('2026-02-28', 1, 1, { at: at('2026-02-28T00:00:30Z') }),
      reading('2026-03-01', 1, 1, { at: at('2026-03-01T00:59:59Z') }),
      reading('2026-03-01', 1, 1, { at: at('2026-03-01T12:30:00Z') }),
      reading('2026-03-02', null, 0.6, { at: at('2026-03-02T13:00:00Z') }),
    ]);
    const found = ['2026-02-28T00:00Z', '2026-03-01T00:00Z', '2026-03-01T12:00Z'];
    expect(await hours()).toEqual(found.map(at));
    const bounds = { min: '2026-02-01T00:00:00.000Z', max: '2026-03-10T23:59:59.999Z' };
    expect(intervals()).toMatchObject([{ interval: 'hour', extended_bounds: bounds }]);
  });

  test('charges tell the hours where no heat was read, nothing tells none, and a zone may be half an hour off', async () => {
    const charged = await openReader([reading('2026-03-02', null, 0.6, { at: at('2026-03-02T13:20:00Z') })]);
    expect(await charged.hours()).toEqual([at('2026-03-02T13:00Z')]);
    expect(await (await openReader([])).hours()).toEqual([]);
    const { hours } = await openReader([reading('2026-03-01', 1, 1, { at: at('2026-02-28T18:31:00Z') })]);
    expect(await hours(zone('Asia/Kolkata'))).toEqual([at('2026-02-28T18:30Z')]);
  });
});
