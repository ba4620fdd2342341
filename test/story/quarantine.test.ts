// Odd amounts of real meters: blocks of flats and days of net credit are counted, and no burst of events tells of them.
import { expect, test } from 'vitest';
import { HEALTH, home, METER, PROPERTY, person, reading } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const days = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    new Date(Date.UTC(2025, 2, 11 - count + at)).toISOString().slice(0, 10),
  );
const ordinary = days(60).map((day) => reading(day, 10, 2));
const block = days(60).map((day, at) => reading(day, 2_000 + 100 * (at % 30), 250 + at));
const ODD = { credit: [1, -0.5], negative: [-2, -0.5] } as const;
const odd = ([kwh, eur]: readonly [number, number]) => [...ordinary, reading('2025-03-11', kwh, eur)];
const EVENTS = {
  block,
  // Too short to judge.
  short: days(3).map((day) => reading(day, 4_000, 500)),
  credit: odd(ODD.credit),
  negative: odd(ODD.negative),
};

test('blocks of flats and short histories are counted without events, days of net credit when they come again', async () => {
  const homes = Object.values(EVENTS).map((events, at) => home(`${METER}${at}`, { events }, PROPERTY + at));
  const { story, probe } = await firstPoll({ accounts: [person('me', homes)] });
  const topicOf = (kind: keyof typeof EVENTS) =>
    `heat2mqtt/meter/${METER}${Object.keys(EVENTS).indexOf(kind)}`;
  const state = (kind: keyof typeof EVENTS) => probe.json(`${topicOf(kind)}/state`);
  const kinds = (kind: keyof typeof EVENTS) =>
    probe.all(`${topicOf(kind)}/event`).map(({ event_type }) => event_type);
  const energy = block.reduce((sum, { kwh }) => sum + Number(kwh), 0);
  expect(state('block')).toMatchObject({ energy_total: energy });

  await story.nextPoll(24 * HOUR_MS);
  expect(state('block')).toMatchObject({ energy_total: energy });
  // Never published as a complete history of nothing.
  const told = probe.all(`${topicOf('short')}/state`).map(({ energy_total }) => energy_total);
  expect(new Set(told)).toEqual(new Set([12_000]));
  expect(state('short')).toMatchObject({ cost_total: 1_500 });
  const reason = (at: number) => ({
    code: 'implausible_reading',
    meter: `${METER}${at}`,
    message: expect.stringContaining('2025-03-11'),
  });
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded', reasons: [reason(2), reason(3)] });
  for (const kind of ['credit', 'negative'] as const)
    expect(state(kind)).toMatchObject({ energy_total: 600, cost_total: 120 });

  await story.nextPoll(4 * HOUR_MS);
  for (const kind of ['credit', 'negative'] as const) {
    const [kwh, eur] = ODD[kind];
    expect(state(kind)).toMatchObject({ energy_total: 600 + kwh, cost_total: 120 + eur });
    expect(kinds(kind)).toEqual(['new_day']);
  }
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
  expect([...kinds('block'), ...kinds('short')]).toEqual([]);
});
