// Restarts: what is on disk is neither asked for again nor paid for with a login.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { booked, HEALTH, STATE, USAGE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

async function ranBefore() {
  const { story, probe, daemon, state } = await firstPoll();
  await story.stop(daemon);
  await story.rest();
  expect(probe.last('heat2mqtt/bridge/state')?.payload).toBe('offline');
  return { story, probe, state, requests: story.simulator.requests.length };
}

test('fresh: no login, no discovery, no poll, and yet everything is published again', async () => {
  const { story, state, requests } = await ranBefore();
  await story.restartBroker();
  const probe = await story.listen();
  await story.start();
  expect(await probe.until(STATE)).toEqual(state);
  await story.pass(60_000);
  expect(story.simulator.requests.length).toBe(requests);
  expect(story.log.some(({ msg }) => msg === 'skipping the poll at start: the last one is recent')).toBe(
    true,
  );
});

test('a poll that brought nothing new is not forgotten: updated_at stays when the provider last answered', async () => {
  const { story, probe, restart } = await firstPoll();
  await story.nextPoll(2 * HOUR_MS);
  const state = await probe.until(STATE, ({ updated_at }) => updated_at === '2025-03-10T14:00:00+00:00');
  await restart();
  expect(await probe.until(STATE)).toEqual(state);
});

test('the next tick asks once for each property, with the session from the disk', async () => {
  const { story, requests } = await ranBefore();
  const probe = await story.listen();
  await story.start();
  await probe.until(STATE);
  await story.nextPoll();
  expect(story.simulator.requests.slice(requests).map(({ route }) => route)).toEqual([USAGE]);
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
});

test('an expired access token with a living refresh token costs a refresh, no login', async () => {
  const { story, requests } = await ranBefore();
  story.clock.advance(1_900_000);
  const probe = await story.listen();
  await story.start();
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  await story.nextPoll();
  const { counters } = story.simulator;
  expect(story.simulator.requests.length).toBeGreaterThan(requests);
  expect(counters.passwordGrants.asked).toBe(1);
  expect(counters.refreshGrants).toMatchObject({ asked: 1, ok: 1 });
});

test('after a long rest the poll comes at once, and brings the days that were missed', async () => {
  const { story, probe, state } = await ranBefore();
  story.clock.advance(50 * HOUR_MS);
  probe.forget();
  await story.start();
  const later = await probe.until(STATE, ({ day }) => day === '2025-03-12');
  expect(later.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(Number(later.energy_total)).toBeGreaterThan(Number(state.energy_total));
  const events = probe.on(STATE.replace('/state', '/event')).map(({ payload }) => JSON.parse(payload));
  expect(events.map(({ event_type, day }) => [event_type, day])).toEqual([
    ['new_day', '2025-03-11'],
    ['new_day', '2025-03-12'],
  ]);
});

test('a failed poll is told after a restart too, until one succeeds', async () => {
  const { story, probe, daemon } = await firstPoll();
  story.simulator.switches.fault('/api/', FAULTS.serverError);
  await story.nextPoll(2 * HOUR_MS);
  await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  await story.stop(daemon);
  probe.forget();
  await story.start();
  const { reasons } = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(reasons).toMatchObject([{ code: 'provider_unreachable', account: 'home' }]);
  story.simulator.switches.clearFaults();
  await story.nextPoll();
  await probe.until(HEALTH, ({ state }) => state === 'ok');
});

test('what is kept is kept privately', async () => {
  const { story } = await ranBefore();
  const entries = await readdir(story.stateDir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o777]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }
  const texts = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')),
  );
  expect(texts.length).toBeGreaterThan(4);
  expect(texts.filter((text) => text.includes('of me'))).toEqual([]);
});
