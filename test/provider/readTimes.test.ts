// When readings were taken: the last of each day, and the hours of the newest weeks.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { usageReports } from '../../src/provider/monetization/usageReport.ts';
import { look } from '../simulator/visitor.ts';
import { logLines } from '../support/logLines.ts';
import { openHome, QUESTION, REPORT, reading } from './readings.ts';

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
  ['null', { value: null }],
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
  expect(await hours()).toEqual(
    ['2026-02-28T00', '2026-03-01T00', '2026-03-01T12'].map((h) => at(`${h}:00Z`)),
  );
  expect(intervals()).toEqual([
    {
      field: 'event_fields.time_of_read.date',
      interval: 'hour',
      format: 'strict_date_optional_time',
      time_zone: 'Europe/Dublin',
      min_doc_count: 0,
      extended_bounds: { min: '2026-02-01T00:00:00.000Z', max: '2026-03-10T23:59:59.999Z' },
    },
  ]);
});

test('charges tell the hours where no heat was read; nothing tells none', async () => {
  const charged = await openReader([reading('2026-03-02', null, 0.6, { at: at('2026-03-02T13:20:00Z') })]);
  expect(await charged.hours()).toEqual([at('2026-03-02T13:00Z')]);
  expect(await (await openReader([])).hours()).toEqual([]);
});

test('the hours of a zone that is half an hour off', async () => {
  const { hours } = await openReader([reading('2026-03-01', 1, 1, { at: at('2026-02-28T18:31:00Z') })]);
  expect(await hours(zone('Asia/Kolkata'))).toEqual([at('2026-02-28T18:30Z')]);
});
