// Odd amounts of real meters: blocks of flats and days of net credit are counted, and no burst of events tells of them.
import { expect, test } from 'vitest';
import { EVENT, HEALTH, home, METER, person, reading, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

async function openMeter(events: readonly ReturnType<typeof reading>[]) {
  const { story, probe } = await firstPoll({
    accounts: [person('me', [home(METER, { events: [...events] })])],
  });
  return {
    probe,
    pollAgain: (hours = 4) => story.nextPoll(hours * HOUR_MS),
    kinds: () => probe.all(EVENT).map(({ event_type }) => event_type),
  };
}

const days = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    new Date(Date.UTC(2025, 2, 11 - count + at)).toISOString().slice(0, 10),
  );

test('sixty days of a block of flats are its history, whole after the first poll and no news after the second', async () => {
  const block = days(60).map((day, at) => reading(day, 2_000 + 100 * (at % 30), 250 + at));
  const { probe, pollAgain, kinds } = await openMeter(block);
  const energy = block.reduce((sum, { kwh }) => sum + Number(kwh), 0);
  expect(await probe.until(STATE)).toMatchObject({ energy_total: energy });
  await pollAgain();
  await probe.until(STATE, ({ energy_total }) => energy_total === energy);
  expect(kinds()).toEqual([]);
  expect(await probe.until(HEALTH, ({ state }) => state === 'ok')).toMatchObject({ reasons: [] });
});

test('a history too short to judge is published once the provider has given it twice, without events', async () => {
  const { probe, pollAgain, kinds } = await openMeter(days(3).map((day) => reading(day, 4_000, 500)));
  await pollAgain();
  expect(await probe.until(STATE)).toMatchObject({ energy_total: 12_000, cost_total: 1_500 });
  // Never published as a complete history of nothing.
  expect(probe.on(STATE).filter(({ payload }) => JSON.parse(payload).energy_total === null)).toEqual([]);
  expect(kinds()).toEqual([]);
});

test.each([
  ['a net credit', 1, -0.5],
  ['energy and money below zero', -2, -0.5],
])('a day with %s is counted when it comes again, and the meter is well again', async (_, kwh, eur) => {
  const ordinary = days(60).map((day) => reading(day, 10, 2));
  const { probe, pollAgain, kinds } = await openMeter([...ordinary, reading('2025-03-11', kwh, eur)]);
  await pollAgain(24);
  const health = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(health).toMatchObject({
    reasons: [{ code: 'implausible_reading', meter: METER, message: expect.stringContaining('2025-03-11') }],
  });
  expect(probe.json(STATE)).toMatchObject({ energy_total: 600, cost_total: 120 });
  await pollAgain();
  const counted = { energy_total: 600 + kwh, cost_total: 120 + eur };
  expect(probe.json(STATE)).toMatchObject(counted);
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  expect(kinds()).toEqual(['new_day']);
});
