// The way out: offline is said, the state is whole, and nothing may take longer than eight seconds.
import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { HEALTH, STATE, USAGE } from '../support/homes.ts';
import { openHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

const BRIDGE = 'heat2mqtt/bridge/state';
const LONGEST_MS = 8_000;

test.each([
  ['the usage report', '/api/v1/reports'],
  ['discovery', '/api/v1/customers'],
  ['the login', '/auth/'],
])('in the middle of %s: offline within the time, and a new start goes on', async (_, prefix) => {
  const house = await openHouse();
  house.simulator.switches.fault(prefix, { kind: 'hang' });
  const probe = await house.listen();
  const daemon = await house.start();
  await waitFor('the question', () => house.simulator.requests.at(-1)?.path.startsWith(prefix));
  await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
  expect(await house.stop(daemon)).toBeLessThan(LONGEST_MS);
  await waitFor('offline', () => probe.last(BRIDGE)?.payload === 'offline');
  expect((await house.listen().then((late) => waitFor('it', () => late.last(BRIDGE))))?.retained).toBe(true);

  house.simulator.switches.clearFaults();
  await house.start();
  await probe.until(STATE, () => true);
});

test('a poll that is broken off is no failed poll', async () => {
  const house = await openHouse();
  const probe = await house.listen();
  const daemon = await house.start();
  await house.polled(1);
  house.simulator.switches.fault('/api/v1/reports', { kind: 'hang' });
  house.tick();
  await waitFor('the question', () => house.simulator.counters.requests[USAGE] === 2);
  probe.forget();
  await house.stop(daemon);
  expect(house.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  expect(probe.on('heat2mqtt/bridge/event')).toEqual([]);
  expect(probe.on(HEALTH)).toEqual([]);
});

test('nothing is said after offline', async () => {
  const house = await openHouse();
  const probe = await house.listen();
  const daemon = await house.start();
  await probe.until(STATE, () => true);
  await house.stop(daemon);
  await house.pass(60_000);
  await waitFor('offline', () => probe.last(BRIDGE)?.payload === 'offline');
  expect(probe.heard.at(-1)).toMatchObject({ topic: BRIDGE, payload: 'offline' });
});

test('a broker that has fallen silent does not hold the way out', async () => {
  const house = await openHouse();
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  const port = await new Promise<number>((resolve) => {
    silent.listen(0, '127.0.0.1', () => resolve((silent.address() as { port: number }).port));
  });
  house.stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const daemon = await house.start({ mqtt: { url: `mqtt://127.0.0.1:${port}` } });
  await waitFor('a connection', () => sockets.length > 0);
  await house.polled(1);
  expect(await house.stop(daemon)).toBeLessThan(LONGEST_MS);
});

test('a start and a stop at once leave nothing running', async () => {
  const house = await openHouse();
  const daemon = await house.start();
  expect(await house.stop(daemon)).toBeLessThan(LONGEST_MS);
  const asked = house.simulator.requests.length;
  await house.pass(120_000, 5_000);
  expect(house.simulator.requests.length).toBe(asked);
});
