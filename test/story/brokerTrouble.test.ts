// Brokers that come and go, or never come back: no busy loop, no growing memory, and the newest value once they are there.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'mqtt';
import { expect, test } from 'vitest';
import { startBroker } from '../../src/mqtt/broker.ts';
import { freePort } from '../e2e/mosquitto.ts';
import { booked, EVENT, STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { untilAtRest, untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, type Story } from '../support/story.ts';
import { openWire } from '../support/wire.ts';

const MINUTE_MS = 60_000;
const BRIDGE = 'heat2mqtt/bridge/state';

/** A story whose daemon reaches the broker over a wire that the test can cut. */
async function wiredStory() {
  const { story, probe, daemon: own } = await firstPoll();
  const { brokerUrl } = own;
  await story.stop(own);
  probe.forget();
  const wire = story.stack.use(await openWire(Number(new URL(brokerUrl).port)));
  const daemon = await story.start({ mqtt: { url: wire.url } });
  await story.pass(2_000, 100);
  await probe.until(STATE);
  return { story, probe, wire, daemon, brokerUrl };
}

const complaints = ({ log }: Story): unknown[] =>
  log
    .filter(({ msg }) => msg === 'no connection to the broker')
    .map(({ message }) => String(message).replace(/:.*/, ''));

test('a broker that closes every connection is tried with MQTT 5 and 3.1.1, every half minute, and logged once', async () => {
  const story = await openStory();
  const wire = story.stack.use(await openWire());
  await story.start({ mqtt: { url: wire.url } });
  await story.pass(HOUR_MS / 4, 10_000);
  expect(wire.attempts).toBeGreaterThan(30);
  expect(wire.attempts).toBeLessThanOrEqual(80);
  expect(complaints(story)).toEqual(['The broker cannot be reached (closed without a reason).']);
  expect(story.logged('no connection to the broker')).toMatchObject([
    { code: 'broker_unreachable', hint: expect.stringContaining('Check mqtt.url') },
  ]);
});

test('another kind of trouble is told as well, and the password that was mended then is taken', async () => {
  const story = await openStory();
  const port = await freePort();
  const passwordFile = join(story.stateDir, 'mqtt-password');
  await writeFile(passwordFile, 'wr0ng-pass');
  const url = `mqtt://127.0.0.1:${port}`;
  await story.start({ mqtt: { url, username: 'bridge', password_file: passwordFile } });
  await story.pass(MINUTE_MS);
  expect(complaints(story)).toEqual(['The broker cannot be reached (ECONNREFUSED).']);
  const password = 'r1ght-pass';
  story.stack.use(await startBroker({ port, username: 'bridge', password }));
  await story.pass(5 * MINUTE_MS);
  expect(complaints(story).slice(1)).toEqual(['The broker refused the user name or password.']);
  await writeFile(passwordFile, password);
  const probe = story.stack.use(await startProbe(url, { username: 'bridge', password }, untilAtRest));
  await story.pass(MINUTE_MS);
  expect((await probe.until(STATE)).energy_total).toBe(booked(story.simulator).kwh);
  expect(JSON.stringify(story.log)).not.toMatch(/wr0ng-pass|r1ght-pass/);
});

test('accepting and cutting every five seconds: pauses grow, and the newest total comes through', async () => {
  const { story, probe, wire } = await wiredStory();
  const before = wire.attempts;
  const cutting = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      await story.pass(5_000);
      wire.cut();
    }
  };
  await cutting(5 * MINUTE_MS);
  // Without a pause there would be sixty.
  expect(wire.attempts - before).toBeGreaterThan(5);
  expect(wire.attempts - before).toBeLessThanOrEqual(20);
  await story.nextPoll(24 * HOUR_MS);
  await cutting(MINUTE_MS);
  const kwh = booked(story.simulator).kwh;
  await untilTrue('the newest total', () => Number(probe.json(STATE)?.energy_total) === kwh);
  expect(probe.on(EVENT).map(({ payload }) => JSON.parse(payload).day)).toContain('2025-03-11');
});

test('another client with our client id: no duel, and ours is back once the other has gone', async () => {
  const { story, probe, wire, brokerUrl } = await wiredStory();
  const { clientId } = JSON.parse(await readFile(join(story.stateDir, 'installation.json'), 'utf8'));
  const before = wire.attempts;
  let taken = 0;
  // It comes back at once, however often it is thrown out.
  const rival = connect(brokerUrl, { clientId, reconnectPeriod: 5, protocolVersion: 4 });
  story.stack.defer(() => rival.endAsync(true));
  rival.on('connect', () => (taken += 1));
  await untilTrue('the first take-over', () => taken > 0);
  await story.pass(5 * MINUTE_MS, 1_000);
  expect(wire.attempts - before).toBeGreaterThan(5);
  expect(wire.attempts - before).toBeLessThanOrEqual(20);
  await rival.endAsync(true);
  await story.nextPoll(24 * HOUR_MS);
  await story.pass(MINUTE_MS);
  const kwh = booked(story.simulator).kwh;
  await untilTrue('the newest total', () => Number(probe.json(STATE)?.energy_total) === kwh);
  expect(probe.last(BRIDGE)?.payload).toBe('online');
});
