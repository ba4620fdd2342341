// The broker away for a while, or back without its memory: nothing is lost, and the provider is not asked for it.
import { expect, test } from 'vitest';
import { HEALTH, METER, STATE } from '../support/homes.ts';
import { HOUR_MS, openHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

async function readHouse() {
  const house = await openHouse();
  const probe = await house.listen();
  const daemon = await house.start();
  const state = await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  await house.polled(1);
  return { house, probe, daemon, state };
}

const healthz = async (port: number | null) => (await fetch(`http://127.0.0.1:${port}/healthz`)).status;

test('gone: polls go on, and the newest state is there when the broker is back', async () => {
  const { house } = await readHouse();
  await house.stopBroker();
  for (const poll of [2, 3]) {
    house.clock.advance(24 * HOUR_MS);
    house.tick();
    await house.polled(poll);
  }
  expect(house.log.filter(({ msg }) => msg === 'poll failed')).toEqual([]);
  await house.startBroker();
  const probe = await house.listen();
  await house.pass(40_000);
  expect(await probe.until(STATE, () => true)).toMatchObject({ day: '2025-03-12' });
  expect(probe.on(STATE)).toHaveLength(1);
  const events = probe.on(`heat2mqtt/meter/${METER}/event`).map(({ payload }) => JSON.parse(payload).day);
  expect(events).toEqual(['2025-03-11', '2025-03-12']);
  expect(probe.heard[0]).toMatchObject({ topic: 'heat2mqtt/bridge/state', payload: 'online' });
});

test('gone for five minutes is unhealthy, a moment is not, and back is healthy again', async () => {
  const { house, daemon } = await readHouse();
  await house.stopBroker();
  await house.pass(4 * 60_000, 5_000);
  expect(await healthz(daemon.httpPort)).toBe(200);
  await house.pass(2 * 60_000, 5_000);
  expect(await healthz(daemon.httpPort)).toBe(503);
  await house.startBroker();
  await house.pass(40_000);
  await waitFor('health', async () => (await healthz(daemon.httpPort)) === 200);
});

test('not there at the start: ready is said only when everything has been delivered', async () => {
  const house = await openHouse();
  await house.stopBroker();
  const daemon = await house.start();
  await house.polled(1);
  const readyz = async () => (await fetch(`http://127.0.0.1:${daemon.httpPort}/readyz`)).status;
  expect(await readyz()).toBe(503);
  await house.startBroker();
  const probe = await house.listen();
  await house.pass(40_000);
  await probe.until(STATE, () => true);
  await waitFor('readiness', async () => (await readyz()) === 200);
});

test('forgot: everything is told again, in order, without a question to the provider', async () => {
  const { house, state } = await readHouse();
  const requests = house.simulator.requests.length;
  await house.stopBroker();
  await house.startBroker();
  const probe = await house.listen();
  await house.pass(5_000);
  expect(await probe.until(STATE, () => true)).toEqual(state);
  await probe.until(HEALTH, ({ state: verdict }) => verdict === 'ok');
  const topics = probe.heard.map(({ topic }) => topic);
  expect(topics[0]).toBe('heat2mqtt/bridge/state');
  expect(topics.slice(1, 4).every((topic) => topic.startsWith('homeassistant/device/'))).toBe(true);
  expect(topics.slice(4).every((topic) => topic.startsWith('heat2mqtt/'))).toBe(true);
  expect(house.simulator.requests.length).toBe(requests);
});

test('what a device had announced is withdrawn although the broker was away when it went', async () => {
  const { house, daemon } = await readHouse();
  await house.stop(daemon);
  const probe = await house.listen();
  await probe.until(STATE, () => true);
  await house.start({ accounts: [], constituencies: {} });
  const gone = [
    `homeassistant/device/heat2mqtt_meter_${METER}/config`,
    STATE,
    'heat2mqtt/account/home/state',
  ];
  await waitFor('withdrawals', () => gone.every((topic) => probe.last(topic)?.payload === ''), {
    diagnose: () => gone.map((topic) => probe.last(topic)?.payload),
  });
});
