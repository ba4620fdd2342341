// usage.reading_closes: auto: which day a reading closes is looked at once, kept, doubted aloud, and decided anew on request.
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { look } from '../simulator/visitor.ts';
import { EVENT, HEALTH, home, METER, PROPERTY, person, STATE, USAGE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { DAY_MS, firstPoll, HOUR_MS, type Story } from '../support/story.ts';

const FIRST = Date.parse('2025-01-01T00:00:00Z');
const AUTO = { usage: { reading_closes: 'auto' } };
const HISTORY = `heat2mqtt/meter/${METER}/history`;
const INFO = 'heat2mqtt/bridge/info';
const NIGHT = 30_000;
const NOON = 12 * HOUR_MS;

/** One reading a day, `after` that many milliseconds from midnight UTC; the n-th has n tenths of a kWh. */
const daily = (after: number, from = 0, days = 69): ExplicitEvent[] =>
  Array.from({ length: days }, (_, at) => ({
    at: FIRST + (from + at) * DAY_MS + after,
    kwh: (from + at + 1) / 10,
    eur: 1,
    // Known at noon of the next day at the latest.
    bookedAt: FIRST + (from + at) * DAY_MS + after + HOUR_MS,
  }));

const opened = (events: ExplicitEvent[], config: Readonly<Record<string, unknown>> = AUTO) =>
  firstPoll({ accounts: [person('me', [home(METER, { events })])], config });

/** Of all questions for usage, or of those for one property. */
const intervals = ({ simulator }: Story, property = '') =>
  simulator.requests
    .filter(({ route, body }) => route === USAGE && JSON.stringify(body).includes(property))
    .map(({ body }) => look(body, 'aggs.resources.aggs.readings.aggs.intervals.date_histogram.interval'));
const closes = (probe: Probe, nth = 0) => look(probe.json(INFO), `meters.${nth}.reading_closes`);
const days = (probe: Probe) => probe.json(HISTORY)?.days as [string, number, number][];
const reasons = (probe: Probe) => look(probe.json(HEALTH), 'reasons') as { code: string; hint: string }[];

test('readings at 00:00:30 UTC: one more question, each counts for the day before; those at noon stay; silent meters are asked about their last weeks', async () => {
  const homes = [daily(NIGHT), daily(NOON), daily(NIGHT, 0, 20)].map((events, at) =>
    home(`${METER}${at || ''}`, { events }, PROPERTY + at),
  );
  const { story, probe, state } = await firstPoll({ accounts: [person('me', homes)], config: AUTO });
  const asked = (at: number) => intervals(story, `${PROPERTY + at}`);
  expect(asked(0)).toEqual(['hour', 'day']);
  expect(
    story.logged('readings are taken in the first hours of a day: each counts for the day before')[0],
  ).toMatchObject({ readingCloses: 'previous_day', from: '2025-02-11', to: '2025-03-10' });
  expect([0, 1, 2].map((at) => closes(probe, at))).toEqual(['previous_day', 'same_day', 'previous_day']);
  expect(probe.json(HISTORY)).toMatchObject({ reading_closes: 'previous_day' });
  // The reading of New Year's morning says what was used on New Year's Eve, before the origin.
  expect(days(probe)[0]).toEqual(['2025-01-01', 0.2, 1]);
  expect(state).toMatchObject({ day: '2025-03-09', reading_at: '2025-03-10T00:00:30+00:00' });
  expect(probe.json(`heat2mqtt/meter/${METER}1/state`)).toMatchObject({
    day: '2025-03-09',
    reading_at: '2025-03-09T12:00:00+00:00',
  });
  expect(asked(2)).toEqual(['hour', 'day', 'hour', 'day']);
  expect(reasons(probe)).toMatchObject([{ code: 'data_late', meter: `${METER}2` }]);
  await story.nextPoll(4 * HOUR_MS);
  expect(asked(0)).toEqual(['hour', 'day', 'day']);
});

test('state that was read by another decision keeps it, says so on health, and a backfill of everything decides anew', async () => {
  const explicit = { usage: { reading_closes: 'same_day' } };
  const { story, probe, restart } = await opened(daily(NIGHT), explicit);
  await story.nextPoll(4 * HOUR_MS);
  // An explicit value is never doubted.
  expect(reasons(probe)).toEqual([]);
  expect(days(probe)[0]).toEqual(['2025-01-01', 0.1, 1]);
  await restart(AUTO);
  const backfill = (from: string) =>
    probe.publish('heat2mqtt/bridge/request/backfill', JSON.stringify({ from }));
  await backfill('2025-01-02');
  await probe.until('heat2mqtt/bridge/response/backfill');
  // One of some days decides nothing.
  expect(closes(probe)).toBe('same_day');
  expect(intervals(story)).not.toContain('hour');
  await story.nextPoll(4 * HOUR_MS);
  expect(closes(probe)).toBe('same_day');
  expect(reasons(probe)).toEqual([
    expect.objectContaining({
      code: 'reading_closes_doubtful',
      meter: METER,
      hint: expect.stringContaining('2025-01-01'),
    }),
  ]);
  const total = probe.json(STATE)?.energy_total;
  probe.forget();
  await backfill('2025-01-01');
  await probe.until(HISTORY, ({ reading_closes }) => reading_closes === 'previous_day');
  await story.rest();
  expect(days(probe)[0]).toEqual(['2025-01-01', 0.2, 1]);
  expect(probe.json(STATE)).toMatchObject({ day: '2025-03-09' });
  // The reading of New Year's morning is of the year before now.
  expect(probe.json(STATE)?.energy_total).toBeCloseTo(Number(total) - 0.1, 3);
  expect(probe.on(EVENT)).toEqual([]);
  expect(reasons(probe)).toEqual([]);
});

test('a provider that does not understand hours is taken by the last readings of its days', async () => {
  const { story, probe } = await firstPoll({
    accounts: [person('me', [home(METER, { events: daily(NIGHT) })])],
    config: AUTO,
    prepare: ({ simulator }) =>
      void simulator.switches.fault(
        '/api/v1/reports',
        { kind: 'reply', status: 400, body: { error: 'no such interval' } },
        { when: ({ text }) => text.includes('"hour"') },
      ),
  });
  expect(closes(probe)).toBe('previous_day');
  expect(probe.json(STATE)).toMatchObject({ day: '2025-03-09' });
  expect(story.logged('poll failed')).toEqual([]);
});
