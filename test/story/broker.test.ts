// Brokers that are away, forget, refuse or come and go: nothing is lost, and the provider is not asked for it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startBroker } from '../../src/mqtt/broker.ts';
import { freePort } from '../e2e/mosquitto.ts';
import { booked, EVENT, HEALTH, METER, STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { untilAtRest, untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, MINUTE_MS, openStory, outboxOf, served } from '../support/story.ts';
import { startStrictBroker } from '../support/strictBroker.ts';

const NOT_AUTHORIZED = 0x87;

test('gone: polls go on, it is unhealthy after five minutes, and the newest state, and only that one, is there afterwards', async () => {
  const { story, daemon } = await firstPoll();
  const healthz = async () => (await served(daemon, 'healthz')).status;
  await story.broker.stop();
  await story.pass(4 * MINUTE_MS, 5_000);
  expect(await healthz()).toBe(200);
  await story.pass(2 * MINUTE_MS, 5_000);
  expect(await healthz()).toBe(503);
  const days = ['2025-03-11', '2025-03-12', '2025-03-13', '2025-03-14'];
  const waiting: number[] = [];
  const sleepers: number[] = [];
  for (const _ of days) {
    await story.nextPoll(24 * HOUR_MS);
    await story.pass(HOUR_MS / 2, 10 * MINUTE_MS);
    waiting.push(await outboxOf(daemon));
    sleepers.push(story.clock.sleepers);
  }
  expect(story.logged('poll failed')).toEqual([]);
  // Nothing grows but by one event a day.
  const [first = 0] = waiting;
  expect(first).toBeGreaterThan(0);
  for (const [at, count] of waiting.entries()) expect(count).toBeLessThanOrEqual(first + 2 * at);
  expect(Math.max(...sleepers)).toBeLessThanOrEqual(Math.min(...sleepers) + 2);

  const requests = story.simulator.requests.length;
  await story.broker.restart();
  const probe = await story.listen();
  await story.pass(40_000);
  await untilTrue('health', async () => (await healthz()) === 200);
  const state = await probe.until(STATE);
  expect(state).toMatchObject({ day: days.at(-1) });
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(probe.on(STATE)).toHaveLength(1);
  await probe.until(HEALTH, ({ state: verdict }) => verdict === 'ok');
  expect(probe.all(EVENT).map(({ day }) => day)).toEqual(days);
  const topics = probe.heard.map(({ topic }) => topic).filter((topic) => !topic.endsWith('/event'));
  expect(topics[0]).toBe('heat2mqtt/bridge/state');
  expect(topics.slice(1, 4).every((topic) => topic.startsWith('homeassistant/device/'))).toBe(true);
  expect(topics.slice(4).every((topic) => topic.startsWith('heat2mqtt/'))).toBe(true);
  expect(story.simulator.requests).toHaveLength(requests);
});

test.each(['5', '3.1.1'])(
  'one that lets us subscribe to nothing (MQTT %s): everything is published, and health names what is lost',
  async (protocol) => {
    const story = await openStory();
    const broker = await startStrictBroker({ subscribe: () => NOT_AUTHORIZED });
    const meters = { [METER]: { witness: { topic: 'wmbusmeters/58496405' } } };
    const daemon = await story.start({ mqtt: { url: broker.url, protocol }, meters });
    await story.polled(1);
    await untilTrue('readiness', async () => (await served(daemon, 'readyz')).status === 200);
    const last = (topic: string) =>
      JSON.parse(broker.taken.findLast((one) => one.topic === topic)?.payload ?? '{}');
    await untilTrue('the state', () => last(STATE).energy_total === booked(story.simulator).kwh);
    const { state, reasons } = last(HEALTH);
    const lost = reasons.map(({ message }: { message: string }) => message.split('Lost with it: ')[1]);
    expect([state, lost.sort()]).toEqual([
      'degraded',
      [
        expect.stringContaining("Home Assistant's birth message"),
        expect.stringContaining('an offline that another installation leaves'),
        expect.stringContaining('requests over MQTT'),
        expect.stringContaining('the history that the broker keeps'),
        expect.stringContaining('what a meter itself says'),
        expect.stringContaining('whether another installation'),
      ],
    ]);
    await story.pass(5 * MINUTE_MS, 5_000);
    expect([broker.connections, JSON.stringify(story.log).includes('stack')]).toEqual([1, false]);
  },
);

test('one that is not there at the start, then refuses the password: told once each, ready when everything is delivered', async () => {
  const story = await openStory();
  const port = await freePort();
  const passwordFile = join(story.stateDir, 'mqtt-password');
  await writeFile(passwordFile, 'wr0ng-pass');
  const url = `mqtt://127.0.0.1:${port}`;
  const daemon = await story.start({ mqtt: { url, username: 'bridge', password_file: passwordFile } });
  await story.polled(1);
  const readyz = async () => (await served(daemon, 'readyz')).status;
  const complaints = () =>
    story.logged('no connection to the broker').map(({ message }) => String(message).replace(/:.*/, ''));
  await story.pass(MINUTE_MS);
  expect(complaints()).toEqual(['The broker cannot be reached (ECONNREFUSED).']);
  expect(story.logged('no connection to the broker')).toMatchObject([
    { code: 'broker_unreachable', hint: expect.stringContaining('Check mqtt.url') },
  ]);
  const password = 'r1ght-pass';
  story.stack.use(await startBroker({ port, username: 'bridge', password }));
  await story.pass(5 * MINUTE_MS);
  expect(complaints().slice(1)).toEqual(['The broker refused the user name or password.']);
  expect(await readyz()).toBe(503);
  await writeFile(passwordFile, password);
  const probe = story.stack.use(await startProbe(url, { username: 'bridge', password }, untilAtRest));
  await story.pass(MINUTE_MS);
  expect((await probe.until(STATE)).energy_total).toBe(booked(story.simulator).kwh);
  await untilTrue('readiness', async () => (await readyz()) === 200);
  expect(JSON.stringify(story.log)).not.toMatch(/wr0ng-pass|r1ght-pass/);
});
