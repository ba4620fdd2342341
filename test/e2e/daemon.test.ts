// The built daemon against a real Mosquitto: first run, sudden death, polite end, restart, and a broker without memory.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Child } from '../support/child.ts';
import { booked, HEALTH, METER, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openWire } from '../support/wire.ts';
import { freePort } from './mosquitto.ts';
import { ME, openHome, openHomeWithBroker } from './program.ts';

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
  const RETAINED = [
    INVOICES,
    'heat2mqtt/account/home/state',
    HEALTH,
    'heat2mqtt/bridge/info',
    BRIDGE,
    `heat2mqtt/meter/${METER}/history`,
    STATE,
    `heat2mqtt/meter/${METER}/statement`,
    ...['day', 'month', 'week'].map((interval) => `heat2mqtt/meter/${METER}/usage/${interval}`),
    'homeassistant/device/heat2mqtt_account_home/config',
    'homeassistant/device/heat2mqtt_bridge/config',
    `homeassistant/device/heat2mqtt_meter_${METER}/config`,
  ];
  await waitFor('every topic', () => topics().length >= RETAINED.length, { diagnose: topics });
  expect(topics()).toEqual(RETAINED);
  expect(late.last(BRIDGE)?.payload).toBe('online');
  // Something may be published anew in between, but it was there before.
  for (const topic of RETAINED) expect(late.on(topic)[0], topic).toMatchObject({ retained: true });
  const said = [...probe.heard.map(({ payload }) => payload), program.output, program.errors].join('\n');
  for (const secret of [ME.password, ME.username, ME.customerCode ?? '', 'eyJ'])
    expect(said).not.toContain(secret);
});

test('kill -9: the broker says offline, and the next start says online without a login', async () => {
  const { program, probe, listen, start, simulator } = await livingHome();
  await program.end('SIGKILL');
  await waitFor('the will', () => probe.last(BRIDGE)?.payload === 'offline');
  expect((await waitFor('the will', () => probe.last(BRIDGE))).qos).toBe(1);
  const late = await listen();
  expect(await waitFor('the will', () => late.last(BRIDGE))).toMatchObject({
    payload: 'offline',
    retained: true,
  });
  start();
  await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
  expect(simulator.counters.passwordGrants.asked).toBe(1);
});

test('a second one on the same state directory names the first, and leaves it alone', async () => {
  const { program, probe, start, folder } = await livingHome();
  const second = start();
  expect(await second.exited).toBe(2);
  expect(second.errors).toContain(`already runs with this state directory: ${join(folder, 'state')}.`);
  expect(probe.last(BRIDGE)?.payload).toBe('online');
  await expectPoliteEnd(program);
  const third = start();
  await third.says('connected to the broker');
});

test('SIGTERM: offline, exit code 0, within eight seconds', async () => {
  const { program, probe } = await livingHome();
  await expectPoliteEnd(program);
  await waitFor('offline', () => probe.last(BRIDGE)?.payload === 'offline');
});

async function expectPoliteEnd(program: Child): Promise<void> {
  const { code, ms } = await program.end('SIGTERM');
  expect([code, ms < LONGEST_STOP_MS]).toEqual([0, true]);
}

test.each([
  ['the usage report', '/api/v1/reports'],
  ['the login', '/auth/realms/energy/protocol'],
])('SIGTERM while %s hangs: exit code 0 within eight seconds', async (_, prefix) => {
  const { simulator, configure, start } = await openHomeWithBroker();
  simulator.switches.fault(prefix, { kind: 'hang' });
  const program = start(await configure());
  await waitFor('the request', () => simulator.requests.some(({ path }) => path.startsWith(prefix)));
  await program.says('connected to the broker');
  await expectPoliteEnd(program);
});

test.each([
  ['not there', 'no connection to the broker'],
  ['silent', '"polled"'],
])('SIGTERM while the broker is %s: exit code 0 within eight seconds', async (how, words) => {
  const home = await openHome();
  const silent = home.stack.use(await openWire(undefined, () => undefined));
  const url = how === 'silent' ? silent.url : `mqtt://127.0.0.1:${await freePort()}`;
  const program = home.start(await home.configure({ mqtt: { url } }));
  if (how === 'silent') await waitFor('a connection', () => silent.attempts > 0);
  await program.says(words);
  await expectPoliteEnd(program);
});

test('restart: the same state, no login, no discovery, no poll', async () => {
  const { program, probe, start, simulator, state } = await livingHome();
  await program.end('SIGTERM');
  const asked = simulator.requests.length;
  probe.forget();
  const again = start();
  expect(await probe.until(STATE, () => true)).toEqual(state);
  await again.says(/poll .*at start|at start.*poll|none at start/);
  expect(simulator.requests.slice(asked).map(({ route }) => route)).toEqual([]);
  expect((await again.end('SIGINT')).code).toBe(0);
});

test('a broker that comes back without its memory is told everything again', async () => {
  const { broker, program, listen, simulator, state } = await livingHome();
  const asked = simulator.requests.length;
  await broker.restart({ forget: true });
  await waitFor('a second connection', () => program.output.split('connected to the broker').length === 3);
  const late = await listen();
  expect(await late.until(STATE, () => true)).toEqual(state);
  await late.until(`homeassistant/device/heat2mqtt_meter_${METER}/config`, () => true);
  expect(simulator.requests.length).toBe(asked);
});

test('a request with the retain flag is not answered, also while connected', async () => {
  const { probe, simulator, program } = await livingHome();
  const asked = simulator.requests.length;
  await probe.publish('heat2mqtt/bridge/request/refresh', '{}', { retain: true });
  await program.says(/retained request ignored/);
  await probe.publish('heat2mqtt/bridge/request/health', '{}');
  await probe.until('heat2mqtt/bridge/response/health', () => true);
  expect(probe.on('heat2mqtt/bridge/response/refresh')).toEqual([]);
  expect(simulator.requests.length).toBe(asked);
});

test('a request over MQTT 5 is answered on its response topic with its correlation data', async () => {
  const { probe } = await livingHome();
  const properties = { responseTopic: 'node-red/reply', correlationData: Buffer.from('c-42') };
  await probe.publish('heat2mqtt/bridge/request/refresh', '{"transaction":"t-1"}', { properties });
  const answer = await probe.until('node-red/reply', () => true);
  expect(answer).toMatchObject({ schema: 1, status: 'ok', transaction: 't-1' });
  expect(probe.last('node-red/reply')).toMatchObject({ correlation: 'c-42', retained: false });
  expect(await probe.until('heat2mqtt/bridge/response/refresh', () => true)).toEqual(answer);
});
