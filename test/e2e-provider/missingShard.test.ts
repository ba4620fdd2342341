// A search engine that has lost one of its shards: what it still answers is no answer, and no total moves.
import { expect, inject, test } from 'vitest';
import { createIndex, fillEngine, takeShardAway } from './engine.ts';
import { DAILY, readingsOf, SINCE, sums } from './readings.ts';
import { openRealm } from './realm.ts';
import { OFTEN, openStory } from './story.ts';

const MISSING = "1 of the index's 2 shards are missing";

test('the totals stay, health and commands tell, and the next whole answer ends it', async () => {
  const home = { ...DAILY, property: 612_011, meter: '70660111' };
  const engine = inject('engine');
  // A second try has an index of its own.
  const index = `events-${Date.now()}`;
  await createIndex(engine, index);
  await fillEngine(engine, home.property, readingsOf(home), index);
  const story = await openStory(await openRealm(), { home, index, usage: OFTEN });
  const topic = `heat2mqtt/meter/${home.meter}`;
  const program = story.start();
  await story.untilWell();
  const before = await story.probe.until(`${topic}/state`, () => true);
  const total = sums(home, () => 'total').get('total');
  expect(before.energy_total).toBeCloseTo(Number(total?.kwh) / 1e6, 3);

  const bringBack = await takeShardAway(engine, inject('engineFolder'), index);
  await story.until('it in health', ({ lastError }) => lastError?.includes(MISSING) ?? false);
  expect(story.health().auth).toBe('ok');
  const usage = await story.command('usage', '--from', SINCE);
  expect(usage).toMatchObject({ code: 5 });
  expect(usage.errors).toContain(MISSING);
  expect(usage.output).not.toContain('kWh');
  const check = await story.command('check', '--live');
  expect(check).toMatchObject({ code: 5, output: expect.stringContaining(MISSING) });

  await bringBack();
  await story.untilWell();
  expect(story.probe.json(`${topic}/state`)).toMatchObject({ energy_total: before.energy_total });
  expect(story.probe.on(`${topic}/event`)).toEqual([]);
  await program.end('SIGTERM');
});
