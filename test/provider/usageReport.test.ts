// The usage question as it goes out, and the traps of honest answers: no document, Euro alone, registers, late days.
import { describe, expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { usageQuery } from '../../src/provider/monetization/usageReport.ts';
import type { UsageQuestion } from '../../src/provider/provider.ts';
import { look } from '../simulator/visitor.ts';
import { openHome, PROPERTY, QUESTION, REPORT, reading } from './readings.ts';

const question = (over: Partial<UsageQuestion> = {}) =>
  usageQuery({ ...QUESTION, span: { from: '2025-03-29', to: '2025-04-01' }, ...over }, 'interval');
const FILTERS = 'query.bool.filter';
const HISTOGRAM = 'aggs.resources.aggs.readings.aggs.intervals.date_histogram';

describe('the question', () => {
  test('goes out once, to the one path, with nothing of the daemon’s own', async () => {
    const home = await openHome([reading('2026-03-01', 1, 1)]);
    await home.report();
    const asked = home.simulator.requests.filter(({ path }) => path === REPORT);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ method: 'POST', authorized: true, query: {} });
    expect(Object.keys(Object(asked[0]?.body)).sort()).toEqual(['aggs', 'query', 'size']);
    expect(asked[0]?.body).toMatchObject({ size: 0 });
  });

  test('narrows down to the property, the heat service, both resources and the days', () => {
    const range = {
      'event_fields.time_of_read.date': {
        gte: '2025-03-29T00:00:00.000Z',
        // Summer time began on the 30th.
        lte: '2025-03-31T22:59:59.999Z',
        format: 'strict_date_optional_time',
      },
    };
    expect(look(question(), FILTERS)).toEqual([
      { query_string: { query: 'HEAT_METER_READ_SERVICE', fields: ['service_type'] } },
      { query_string: { query: '512001', fields: ['customer_id'] } },
      { terms: { resource_name: ['Euro', 'Heat - Meter Value'] } },
      { nested: { path: 'event_fields', query: { range } } },
    ]);
  });

  test.each(['day', 'week', 'month', 'quarter', 'year'] as const)(
    'cuts by %s in the given zone, the old way, empty buckets included',
    (interval) => {
      const histogram = look(question({ interval, zone: zone('Asia/Kathmandu') }), HISTOGRAM);
      const format = 'strict_date_optional_time';
      const time_zone = 'Asia/Kathmandu';
      expect(histogram).toMatchObject({ interval, time_zone, min_doc_count: 0, format });
      expect(histogram).not.toHaveProperty('calendar_interval');
    },
  );

  test('asks one day further when a reading closes the day before', () => {
    const bounds = look(question({ readingCloses: 'previous_day' }), `${HISTOGRAM}.extended_bounds`);
    expect(bounds).toEqual({ min: '2025-03-30T00:00:00.000Z', max: '2025-04-01T22:59:59.999Z' });
  });

  test.each([
    ['512001', '512001'],
    ['p_12', 'p_12'],
    ['a-b OR *', '"a-b OR *"'],
    ['a" OR "b', '"a\\" OR \\"b"'],
    ['AND', '"AND"'],
    ['OR', '"OR"'],
    ['NOT', '"NOT"'],
    ['ANDREW', 'ANDREW'],
  ])('an id is no query of its own: %s', (propertyCustomerId, written) => {
    expect(look(question({ propertyCustomerId }), `${FILTERS}.1.query_string.query`)).toBe(written);
  });
});

describe('the answer', () => {
  const day = (date: string, energy: number | null, cost: number | null) => ({ day: date, energy, cost });

  test('days without a document are not there: no reading is not zero', async () => {
    const home = await openHome([reading('2026-03-01', 12.5, 1.55), reading('2026-03-04', 3, 0.372)]);
    const days = [day('2026-03-01', 12_500_000, 1_550_000), day('2026-03-04', 3_000_000, 372_000)];
    expect(await home.report()).toEqual(days);
  });

  test('a reading of zero is a reading', async () => {
    const home = await openHome([reading('2026-03-01', 0, 0), reading('2026-03-02', 0, 0.686)]);
    expect(await home.report()).toEqual([day('2026-03-01', 0, 0), day('2026-03-02', 0, 686_000)]);
  });

  test('a day of charges alone has a cost and no energy; a day of heat alone the other way round', async () => {
    const home = await openHome([reading('2026-03-01', null, 0.686), reading('2026-03-02', 9, null)]);
    const days = [day('2026-03-01', null, 686_000), day('2026-03-02', 9_000_000, null)];
    expect(await home.report()).toEqual(days);
  });

  test('the register in the heat resource’s amount is no money, the quantity of a charge no heat', async () => {
    const home = await openHome([
      reading('2026-03-01', 9, 1.8, { register: 98_765.4 }),
      reading('2026-03-02', 4, null, { register: 98_769.4 }),
      reading('2026-03-03', 5, 0, { charges: [0.62, 0.686, -0.1] }),
    ]);
    expect(await home.report()).toEqual([
      day('2026-03-01', 9_000_000, 1_800_000),
      day('2026-03-02', 4_000_000, null),
      day('2026-03-03', 5_000_000, 1_206_000),
    ]);
  });

  test('two readings on one day are one bucket', async () => {
    const home = await openHome([reading('2026-03-01', 0.1, 0.01), reading('2026-03-01', 0.2, 0.02)]);
    expect(await home.report()).toEqual([day('2026-03-01', 300_000, 30_000)]);
  });

  test('a day that is booked late comes late; a correction replaces', async () => {
    const at = (text: string) => Date.parse(text);
    const home = await openHome([
      reading('2026-03-08', 7, 0.9, { bookedAt: at('2026-03-10T13:00:00Z') }),
      reading('2026-03-09', 5, 0.6, {
        corrections: [{ from: at('2026-03-10T13:00:00Z'), kwh: 6, eur: 0.7 }],
      }),
    ]);
    expect(await home.report()).toEqual([day('2026-03-09', 5_000_000, 600_000)]);
    home.clock.advance(3_600_000);
    expect(await home.report()).toEqual([
      day('2026-03-08', 7_000_000, 900_000),
      day('2026-03-09', 6_000_000, 700_000),
    ]);
  });

  test('nothing read at all is an empty list', async () => {
    expect(await (await openHome()).report()).toEqual([]);
  });

  test('a property that the provider does not show is refused, not empty', async () => {
    const home = await openHome([reading('2026-03-01', 1, 1)]);
    home.simulator.renumberProperty(PROPERTY, PROPERTY + 1);
    await expect(home.report()).rejects.toMatchObject({ code: 'provider_refused', status: 404 });
  });
});
