// Restarts: what is on disk is neither asked for again nor paid for with a login.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { booked, EVENT, HEALTH, STATE, USAGE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

async function ranBefore() {
  const { story, probe, daemon, state } = await firstPoll();
  await story.stop(daemon);
  await story.rest();
  expect(probe.last('heat2mqtt/bridge/state')?.payload).toBe('offline');
  return { story, probe, state, requests: story.simulator.requests.length };
}

test('what is on disk is published again without a question; the next tick asks once, an expired access token costs a refresh', async () => {
  const { story, state, requests } = await ranBefore();
  await story.restartBroker();
  const probe = await story.listen();
  const second = await story.start();
  expect(await probe.until(STATE)).toEqual(state);
  await story.pass(60_000);
  expect(story.simulator.requests.length).toBe(requests);
  expect(story.logged('skipping the poll at start: the last one is recent')).toHaveLength(1);
  await story.nextPoll();
  expect(story.simulator.requests.slice(requests).map(({ route }) => route)).toEqual([USAGE]);
  const { counters } = story.simulator;
  expect(counters.refreshGrants.asked).toBe(0);

  await story.stop(second);
  story.clock.advance(1_900_000);
  await story.start();
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  await story.nextPoll();
  expect(counters.passwordGrants.asked).toBe(1);
  expect(counters.refreshGrants).toMatchObject({ asked: 1, ok: 1 });

  // All of it is kept privately.
  const entries = await readdir(story.stateDir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o777]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }
  const texts = await story.stateFiles();
  expect(texts.length).toBeGreaterThan(4);
  expect(texts.filter((text) => text.includes('of me'))).toEqual([]);
});

test('a poll that brought nothing new is not forgotten; after a long rest the poll comes at once, with the days that were missed', async () => {
  const { story, probe, restart } = await firstPoll();
  await story.nextPoll(2 * HOUR_MS);
  const state = await probe.until(STATE, ({ updated_at }) => updated_at === '2025-03-10T14:00:00+00:00');
  const second = await restart();
  expect(await probe.until(STATE)).toEqual(state);

  await story.stop(second);
  story.clock.advance(48 * HOUR_MS);
  probe.forget();
  await story.start();
  const later = await probe.until(STATE, ({ day }) => day === '2025-03-12');
  expect(later.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(Number(later.energy_total)).toBeGreaterThan(Number(state.energy_total));
  expect(probe.all(EVENT).map(({ event_type, day }) => [event_type, day])).toEqual([
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
