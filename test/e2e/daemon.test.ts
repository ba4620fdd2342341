// The built daemon against a real Mosquitto: first run, requests, sudden death, polite end.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { booked, RETAINED, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { ME, openHomeWithBroker } from './program.ts';

const BRIDGE = 'heat2mqtt/bridge/state';
const LONGEST_STOP_MS = 8_000;
const INVOICES = 'heat2mqtt/account/home/invoices';

async function livingHome() {
  const home = await openHomeWithBroker();
  const config = await home.configure();
  const probe = await home.listen();
  const start = () => home.start(config);
  const program = start();
  const state = await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  await probe.until(INVOICES, () => true);
  return { ...home, probe, start, program, state };
}

test('first run: everything on its topic, retained where it should be, with the right numbers', async () => {
  const { listen, state, simulator, probe, program } = await livingHome();
  expect(program.output).toContain('"mqtt":"5"');
  expect(state.energy_total).toBeCloseTo(booked(simulator).kwh, 3);
  expect(state.cost_total).toBeCloseTo(booked(simulator).eur, 3);
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });

  const late = await listen();
  const topics = () => [...new Set(late.heard.map(({ topic }) => topic))].sort();
  await waitFor('every topic', () => topics().length >= RETAINED.length, { diagnose: topics });
  expect(topics()).toEqual(RETAINED);
  expect(late.last(BRIDGE)?.payload).toBe('online');
  // Something may be published anew in between, but it was there before.
  for (const topic of RETAINED) expect(late.on(topic)[0], topic).toMatchObject({ retained: true });
  const said = [...probe.heard.map(({ payload }) => payload), program.output, program.errors].join('\n');
  for (const secret of [ME.password, ME.username, ME.customerCode ?? '', 'eyJ'])
    expect(said).not.toContain(secret);
});

test('a request with the retain flag is not answered, also while connected; one over MQTT 5 where it wants to be', async () => {
  const { probe, simulator, program } = await livingHome();
  const asked = simulator.requests.length;
  await probe.publish('heat2mqtt/bridge/request/refresh', '{}', { retain: true });
  await program.says(/retained request ignored/);
  expect(probe.on('heat2mqtt/bridge/response/refresh')).toEqual([]);
  expect(simulator.requests.length).toBe(asked);

  const properties = { responseTopic: 'node-red/reply', correlationData: Buffer.from('c-42') };
  await probe.publish('heat2mqtt/bridge/request/refresh', '{"transaction":"t-1"}', { properties });
  const answer = await probe.until('node-red/reply', () => true);
  expect(answer).toMatchObject({ schema: 1, status: 'ok', transaction: 't-1' });
  expect(probe.last('node-red/reply')).toMatchObject({ correlation: 'c-42', retained: false });
  expect(await probe.until('heat2mqtt/bridge/response/refresh', () => true)).toEqual(answer);
});

test('a request whose answer would switch a lamp is not done and says so; what the configuration allows is answered', async () => {
  const home = await openHomeWithBroker();
  const probe = await home.listen();
  const mqtt = { url: home.broker.url, response_topics: ['phone/inbox'] };
  home.start(await home.configure({ mqtt }));
  await probe.until(STATE, () => true);
  const ask = (responseTopic: string) =>
    probe.publish('heat2mqtt/bridge/request/health', '', { properties: { responseTopic } });
  const code = 'response_topic_refused';
  for (const topic of ['zigbee2mqtt/lamp/set', 'homeassistant/status', 'heat2mqtt/bridge/state']) {
    probe.forget();
    await ask(topic);
    const answer = await probe.until('heat2mqtt/bridge/response/health');
    expect(answer).toMatchObject({
      status: 'error',
      error: { code, message: expect.stringContaining(topic) },
    });
    expect(probe.on(topic)).toEqual([]);
  }
  await ask('phone/inbox/7');
  expect(await probe.until('phone/inbox/7')).toMatchObject({ status: 'ok' });
});

test('kill -9: the broker says offline, and the next start says online without a login; a second one beside it leaves it alone', async () => {
  const { program, probe, listen, start, simulator, folder } = await livingHome();
  await program.end('SIGKILL');
  await waitFor('the will', () => probe.last(BRIDGE)?.payload === 'offline');
  expect(probe.last(BRIDGE)?.qos).toBe(1);
  const late = await listen();
  const will = { payload: 'offline', retained: true };
  expect(await waitFor('the will', () => late.last(BRIDGE))).toMatchObject(will);
  const again = start();
  await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
  expect(simulator.counters.passwordGrants.asked).toBe(1);

  const second = start();
  expect(await second.exited).toBe(2);
  expect(second.errors).toContain(`already runs with this state directory: ${join(folder, 'state')}.`);
  expect(probe.last(BRIDGE)?.payload).toBe('online');
  const { code, ms } = await again.end('SIGTERM');
  expect([code, ms < LONGEST_STOP_MS]).toEqual([0, true]);
  await waitFor('offline', () => probe.last(BRIDGE)?.payload === 'offline');
});
