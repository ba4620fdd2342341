// The way out: offline is said, the state is whole, and nothing may take longer than eight seconds.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HEALTH, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, openStory } from '../support/story.ts';
import { openWire } from '../support/wire.ts';

const BRIDGE = 'heat2mqtt/bridge/state';
const LONGEST_MS = 8_000;

test.each([
  ['the usage report', '/api/v1/reports'],
  ['the login', '/auth/'],
])('in the middle of %s: offline within the time, and a new start goes on', async (_, prefix) => {
  const story = await openStory();
  story.simulator.switches.fault(prefix, { kind: 'hang' });
  const probe = await story.listen();
  const daemon = await story.start();
  await untilTrue('the question', () => story.simulator.requests.at(-1)?.path.startsWith(prefix));
  await untilTrue('online', () => probe.last(BRIDGE)?.payload === 'online');
  expect(await story.stop(daemon)).toBeLessThan(LONGEST_MS);
  await untilTrue('offline', () => probe.last(BRIDGE)?.payload === 'offline');
  const late = await story.listen();
  expect(await untilTrue('it', () => late.last(BRIDGE))).toMatchObject({
    payload: 'offline',
    retained: true,
  });

  story.simulator.switches.clearFaults();
  await story.start();
  await probe.until(STATE);
});

test('a poll that is broken off is no failed poll, and nothing is said after offline', async () => {
  const { story, probe, daemon } = await firstPoll();
  story.simulator.switches.fault('/api/v1/reports', { kind: 'hang' });
  story.tick();
  await untilTrue('the question', () => story.simulator.counters.requests[USAGE] === 2);
  probe.forget();
  await story.stop(daemon);
  expect(story.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  expect(probe.on('heat2mqtt/bridge/event')).toEqual([]);
  expect(probe.on(HEALTH)).toEqual([]);
  const { accounts } = JSON.parse(await readFile(join(story.stateDir, 'journal.json'), 'utf8'));
  expect(accounts.home.polls).toEqual([[expect.any(Number), null]]);
  await story.pass(60_000);
  expect(probe.heard.at(-1)).toMatchObject({ topic: BRIDGE, payload: 'offline' });
});

test('a broker that has fallen silent does not hold the way out', async () => {
  const story = await openStory();
  const silent = story.stack.use(await openWire(undefined, () => undefined));
  const daemon = await story.start({ mqtt: { url: silent.url } });
  await untilTrue('a connection', () => silent.attempts > 0);
  await story.polled(1);
  expect(await story.stop(daemon)).toBeLessThan(LONGEST_MS);
});

test('a start and a stop at once leave nothing running', async () => {
  const story = await openStory();
  const daemon = await story.start();
  expect(await story.stop(daemon)).toBeLessThan(LONGEST_MS);
  const asked = story.simulator.requests.length;
  await story.pass(120_000, 5_000);
  expect(story.simulator.requests.length).toBe(asked);
});
