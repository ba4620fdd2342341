// Restarts: what is on disk is neither asked for again nor paid for with a login.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { booked, HEALTH, STATE, USAGE } from '../support/homes.ts';
import { HOUR_MS, openHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

async function ranBefore() {
  const house = await openHouse();
  const probe = await house.listen();
  const daemon = await house.start();
  await house.polled(1);
  const state = await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  await house.stop(daemon);
  await waitFor('offline', () => probe.last('heat2mqtt/bridge/state')?.payload === 'offline');
  return { house, probe, state, requests: house.simulator.requests.length };
}

test('fresh: no login, no discovery, no poll, and yet everything is published again', async () => {
  const { house, state, requests } = await ranBefore();
  await house.stopBroker();
  await house.startBroker();
  const probe = await house.listen();
  await house.start();
  expect(await probe.until(STATE, () => true)).toEqual(state);
  await house.pass(60_000);
  expect(house.simulator.requests.length).toBe(requests);
  expect(house.log.some(({ msg }) => msg === 'the last poll is fresh: none at start')).toBe(true);
});

test('a poll that brought nothing new is not forgotten: updated_at stays when the provider last answered', async () => {
  const house = await openHouse();
  const probe = await house.listen();
  const daemon = await house.start();
  await house.polled(1);
  await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  house.clock.advance(2 * HOUR_MS);
  house.tick();
  await house.polled(2);
  const state = await probe.until(STATE, ({ updated_at }) => updated_at === '2025-03-10T14:00:00+00:00');
  await house.stop(daemon);
  probe.forget();
  await house.start();
  expect(await probe.until(STATE, () => true)).toEqual(state);
});

test('the next tick asks once for each property, with the session from the disk', async () => {
  const { house, requests } = await ranBefore();
  const probe = await house.listen();
  await house.start();
  await probe.until(STATE, () => true);
  house.tick();
  await house.polled(2);
  expect(house.simulator.requests.slice(requests).map(({ route }) => route)).toEqual([USAGE]);
  expect(house.simulator.counters.passwordGrants.asked).toBe(1);
});

test('an expired access token with a living refresh token costs a refresh, no login', async () => {
  const { house, requests } = await ranBefore();
  house.clock.advance(1_900_000);
  const probe = await house.listen();
  await house.start();
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  house.tick();
  await house.polled(2);
  const { counters } = house.simulator;
  expect(house.simulator.requests.length).toBeGreaterThan(requests);
  expect(counters.passwordGrants.asked).toBe(1);
  expect(counters.refreshGrants).toMatchObject({ asked: 1, ok: 1 });
});

test('after a long rest the poll comes at once, and brings the days that were missed', async () => {
  const { house, probe, state } = await ranBefore();
  house.clock.advance(50 * HOUR_MS);
  probe.forget();
  await house.start();
  const later = await probe.until(STATE, ({ day }) => day === '2025-03-12');
  expect(later.energy_total).toBeCloseTo(booked(house.simulator).kwh, 3);
  expect(Number(later.energy_total)).toBeGreaterThan(Number(state.energy_total));
  const events = probe.on(STATE.replace('/state', '/event')).map(({ payload }) => JSON.parse(payload));
  expect(events.map(({ event_type, day }) => [event_type, day])).toEqual([
    ['new_day', '2025-03-11'],
    ['new_day', '2025-03-12'],
  ]);
});

test('what is kept is kept privately', async () => {
  const { house } = await ranBefore();
  const entries = await readdir(house.stateDir, { recursive: true, withFileTypes: true });
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
