// Brokers that come and go, or never come back: no busy loop, no growing memory, and the newest value once they are there.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'mqtt';
import { expect, test } from 'vitest';
import { startBroker } from '../../src/mqtt/embedded.ts';
import { freePort } from '../e2e/mosquitto.ts';
import { booked, EVENT, HEALTH, STATE } from '../support/homes.ts';
import { HOUR_MS, type House, openHouse } from '../support/house.ts';
import { startProbe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';

const MINUTE_MS = 60_000;
const BRIDGE = 'heat2mqtt/bridge/state';

/** A house whose daemon reaches the broker over a wire that the test can cut. */
async function wiredHouse() {
  const house = await openHouse();
  const probe = await house.listen();
  const own = await house.start();
  const { brokerUrl } = own;
  await house.polled(1);
  await house.stop(own);
  probe.forget();
  const wire = house.stack.use(await openWire(Number(new URL(brokerUrl).port)));
  const daemon = await house.start({ mqtt: { url: wire.url } });
  await house.pass(2_000, 100);
  await probe.until(STATE, () => true);
  return { house, probe, wire, daemon, brokerUrl };
}

async function metricsOf(port: number | null): Promise<(name: string) => number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

const complaints = ({ log }: House): unknown[] =>
  log
    .filter(({ msg }) => msg === 'no connection to the broker')
    .map(({ err }) => (err as { message: string }).message.replace(/:.*/, ''));

async function nextDay(house: House, polls: number): Promise<void> {
  house.clock.advance(24 * HOUR_MS);
  house.tick();
  await house.polled(polls);
}

test('gone for a minute: the newest total is there once it is back, and only that one', async () => {
  const { house, probe } = await wiredHouse();
  await house.stopBroker();
  await house.pass(MINUTE_MS, 1_000);
  await nextDay(house, 2);
  await nextDay(house, 3);
  await house.startBroker();
  const late = await house.listen();
  await house.pass(40_000);
  const state = await late.until(STATE, () => true);
  expect(state.energy_total).toBeCloseTo(booked(house.simulator).kwh, 3);
  expect(late.on(STATE)).toHaveLength(1);
  await late.until(HEALTH, ({ state: verdict }) => verdict === 'ok');
  expect(probe.on(STATE)).toHaveLength(1);
});

test('gone for ever: after a week no more waits than after a day, but for one event a day', async () => {
  const { house, daemon } = await wiredHouse();
  await house.stopBroker();
  const waiting: number[] = [];
  const sleepers: number[] = [];
  for (let day = 1; day <= 7; day += 1) {
    await nextDay(house, day + 1);
    await house.pass(2 * HOUR_MS, 10 * MINUTE_MS);
    waiting.push((await metricsOf(daemon.httpPort))('heat2mqtt_mqtt_outbox'));
    sleepers.push(house.clock.sleepers);
  }
  const [first = 0] = waiting;
  expect(first).toBeGreaterThan(0);
  for (const [at, count] of waiting.entries()) expect(count).toBeLessThanOrEqual(first + 2 * at);
  expect(Math.max(...sleepers)).toBeLessThanOrEqual(Math.min(...sleepers) + 2);
});

test('a broker that slams the door is knocked at with MQTT 5 and 3.1.1, every half minute, and told of once', async () => {
  const house = await openHouse();
  const wire = house.stack.use(await openWire());
  await house.start({ mqtt: { url: wire.url } });
  await house.pass(HOUR_MS, 5_000);
  expect(wire.attempts).toBeGreaterThan(120);
  expect(wire.attempts).toBeLessThanOrEqual(260);
  expect(complaints(house)).toEqual(['The broker cannot be reached (closed without a word).']);
});

test('another kind of trouble is told as well, and the password that was mended then is taken', async () => {
  const house = await openHouse();
  const port = await freePort();
  const passwordFile = join(house.stateDir, 'mqtt-password');
  await writeFile(passwordFile, 'wr0ng-pass');
  const url = `mqtt://127.0.0.1:${port}`;
  await house.start({ mqtt: { url, username: 'bridge', password_file: passwordFile } });
  await house.pass(MINUTE_MS);
  expect(complaints(house)).toEqual(['The broker cannot be reached (ECONNREFUSED).']);
  const password = 'r1ght-pass';
  house.stack.use(await startBroker({ port, username: 'bridge', password }));
  await house.pass(5 * MINUTE_MS);
  expect(complaints(house).slice(1)).toEqual(['The broker refused the user name or password.']);
  await writeFile(passwordFile, password);
  const probe = house.stack.use(await startProbe(url, { username: 'bridge', password }));
  await house.pass(MINUTE_MS);
  expect((await probe.until(STATE, () => true)).energy_total).toBe(booked(house.simulator).kwh);
  expect(JSON.stringify(house.log)).not.toMatch(/wr0ng-pass|r1ght-pass/);
});

test('accepting and cutting every five seconds: pauses grow, and the newest total comes through', async () => {
  const { house, probe, wire } = await wiredHouse();
  const before = wire.attempts;
  const cutting = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      await house.pass(5_000, 500);
      wire.cut();
    }
  };
  await cutting(10 * MINUTE_MS);
  // Without a pause there would be a hundred and twenty.
  expect(wire.attempts - before).toBeGreaterThan(5);
  expect(wire.attempts - before).toBeLessThanOrEqual(30);
  await nextDay(house, 2);
  await cutting(2 * MINUTE_MS);
  const kwh = booked(house.simulator).kwh;
  await waitFor('the newest total', () => Number(probe.json(STATE)?.energy_total) === kwh);
  expect(probe.on(EVENT).map(({ payload }) => JSON.parse(payload).day)).toContain('2025-03-11');
});

test('another client with our client id: no duel, and ours is back once the other has gone', async () => {
  const { house, probe, wire, brokerUrl } = await wiredHouse();
  const { clientId } = JSON.parse(await readFile(join(house.stateDir, 'installation.json'), 'utf8'));
  const before = wire.attempts;
  let taken = 0;
  // It comes back at once, however often it is thrown out.
  const rival = connect(brokerUrl, { clientId, reconnectPeriod: 5, protocolVersion: 4 });
  house.stack.defer(() => rival.endAsync(true));
  rival.on('connect', () => (taken += 1));
  await waitFor('the first take-over', () => taken > 0);
  await house.pass(10 * MINUTE_MS, 1_000);
  expect(wire.attempts - before).toBeGreaterThan(5);
  expect(wire.attempts - before).toBeLessThanOrEqual(35);
  await rival.endAsync(true);
  await nextDay(house, 2);
  await house.pass(MINUTE_MS);
  const kwh = booked(house.simulator).kwh;
  await waitFor('the newest total', () => Number(probe.json(STATE)?.energy_total) === kwh);
  expect(probe.last(BRIDGE)?.payload).toBe('online');
});
