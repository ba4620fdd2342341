// A search engine that has lost one of its shards: what it still answers is no answer, and no total moves.
import { expect, inject, test } from 'vitest';
import { createIndex, fillEngine, takeShardAway } from './engine.ts';
import { DAILY, type Home, readingsOf, SINCE, sums } from './readings.ts';
import { openRealm } from './realm.ts';
import { OFTEN, openStory, type Story } from './story.ts';

const MISSING = "1 of the index's 2 shards are missing";

/** A home whose readings are in an index of its own. */
async function openHome(home: Home) {
  const engine = inject('engine');
  const index = `events-${home.property}`;
  await createIndex(engine, index);
  await fillEngine(engine, home.property, readingsOf(home), index);
  const story = await openStory(await openRealm(), { home, index, usage: OFTEN });
  const total = sums(home, () => 'total').get('total');
  const topic = `heat2mqtt/meter/${home.meter}`;
  return {
    story,
    takeShardAway: () => takeShardAway(engine, inject('engineFolder'), index),
    energy: Number(total?.kwh) / 1e6,
    stateTopic: `${topic}/state`,
    eventTopic: `${topic}/event`,
  };
}

const told = (story: Story) =>
  story.until('the missing shard in health', ({ lastError }) => lastError?.includes(MISSING) ?? false);

test('at a poll: the totals stay, health and commands tell, and the next whole answer ends it', async () => {
  const home = await openHome({ ...DAILY, property: 612_011, meter: '70660111' });
  const { story, stateTopic, eventTopic } = home;
  const program = story.start();
  await story.untilWell();
  const before = await story.probe.until(stateTopic, () => true);
  expect(before.energy_total).toBeCloseTo(home.energy, 3);

  const bringBack = await home.takeShardAway();
  await told(story);
  expect(story.health()).toMatchObject({ state: 'degraded', auth: 'ok' });
  const usage = await story.command('usage', '--from', SINCE);
  expect(usage).toMatchObject({ code: 5 });
  expect(usage.errors).toContain(MISSING);
  expect(usage.output).not.toContain('kWh');
  const check = await story.command('check', '--live');
  expect(check).toMatchObject({ code: 5 });
  expect(check.output).toContain(MISSING);

  await bringBack();
  await story.untilWell();
  expect(story.probe.json(stateTopic)).toMatchObject({ energy_total: before.energy_total });
  expect(story.probe.on(eventTopic)).toEqual([]);
  await program.end('SIGTERM');
});

test('at a first history: nothing is published of the meter until all of it has been read', async () => {
  const home = await openHome({ ...DAILY, property: 612_012, meter: '70660112' });
  const { story, stateTopic } = home;
  const bringBack = await home.takeShardAway();
  const program = story.start();
  await told(story);
  expect(story.probe.on(stateTopic)).toEqual([]);

  await bringBack();
  const state = await story.probe.until(stateTopic, () => true);
  expect(state.energy_total).toBeCloseTo(home.energy, 3);
  await program.end('SIGTERM');
});
