// Odd amounts of real meters: blocks of flats and days of net credit are counted, and no burst of events tells of them.
import { expect, test } from 'vitest';
import { EVENT, HEALTH, home, METER, person, reading, STATE } from '../support/homes.ts';
import { HOUR_MS, openStory } from '../support/story.ts';

async function openMeter(events: readonly ReturnType<typeof reading>[]) {
  const story = await openStory({ accounts: [person('me', [home(METER, { events: [...events] })])] });
  const probe = await story.listen();
  await story.start();
  await story.polled(1);
  let polls = 1;
  return {
    probe,
    async pollAgain(hours = 4) {
      story.clock.advance(hours * HOUR_MS);
      story.tick();
      await story.polled(++polls);
    },
    kinds: () => probe.on(EVENT).map(({ payload }) => JSON.parse(payload).event_type),
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

test('a day with a net credit is counted when it comes again, and the meter is well again', async () => {
  const ordinary = days(60).map((day) => reading(day, 10, 2));
  const { probe, pollAgain, kinds } = await openMeter([...ordinary, reading('2025-03-11', 1, -0.5)]);
  await pollAgain(24);
  const health = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(JSON.stringify(health.reasons)).toContain('2025-03-11');
  expect(probe.json(STATE)).toMatchObject({ energy_total: 600, cost_total: 120 });
  await pollAgain();
  await probe.until(STATE, ({ energy_total, cost_total }) => energy_total === 601 && cost_total === 119.5);
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  expect(kinds()).toEqual(['new_day']);
});
