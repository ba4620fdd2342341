// Real brokers that do not allow everything: each is told what it does not allow, and everything else is there.
import type { IClientOptions } from 'mqtt';
import { expect, test } from 'vitest';
import { HEALTH, home, METER, PROPERTY, person, quiet, STATE } from '../support/homes.ts';
import { type Probe, startProbe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  BRIDGE,
  hasDynamicSecurity,
  hasHiveMq,
  hasMochi,
  hasRabbitMq,
  OWNER,
  startDynamicSecurity,
  startHiveMq,
  startMochi,
  startRabbitMq,
} from './otherBrokers.ts';
import { openHome, outcome, SINCE } from './program.ts';

const BRIDGE_STATE = 'heat2mqtt/bridge/state';
const REQUESTS = 'heat2mqtt/bridge/request/+';
const BIRTH = 'homeassistant/status';
const HISTORIES = 'heat2mqtt/meter/+/history';
const INFO = 'heat2mqtt/bridge/info';
const DOCUMENT = `homeassistant/device/heat2mqtt_meter_${METER}/config`;

for (const [isThere, what] of [
  [hasDynamicSecurity, "Mosquitto's dynamic security; the package mosquitto has it"],
  [hasMochi, 'Mochi; HEAT2MQTT_MOCHI names none'],
  [hasHiveMq, 'HiveMQ; HEAT2MQTT_HIVEMQ names none'],
  [hasRabbitMq, 'RabbitMQ; the package rabbitmq-server has it'],
] as const)
  if (!isThere) process.stderr.write(`\n!! LEFT OUT: ${what}\n\n`);

interface Place {
  readonly url: string;
  readonly protocol?: '5' | '3.1.1';
  readonly login?: typeof BRIDGE;
  readonly probe?: IClientOptions;
}

/** The program beside such a broker, and a probe that may hear everything. */
async function beside(
  house: Awaited<ReturnType<typeof openHome>>,
  { url, protocol, login, probe = {} }: Place,
) {
  const ear = house.stack.use(await startProbe(url, probe));
  const mqtt = { url, ...(protocol ? { protocol } : {}), ...login };
  const config = await house.configure({ mqtt });
  const program = house.start(config);
  const said = (words: string) => program.output.split(words).length - 1;
  return {
    config,
    program,
    probe: ear,
    said,
    check: () => outcome(['check', '--live', '--config', config]),
    /** Everything is there, and the connection has stayed. */
    async isWhole(connections = 1): Promise<void> {
      await ear.until(STATE, ({ energy_total: total }) => typeof total === 'number');
      await waitFor('the device', () => ear.last(DOCUMENT));
      expect(ear.last(BRIDGE_STATE)?.payload).toBe('online');
      expect([said('connected to the broker'), said('"stack"')]).toEqual([connections, 0]);
    },
  };
}

const reasonsOf = async (probe: Probe, code: string) => {
  const pleases = (health: Record<string, unknown>) => JSON.stringify(health).includes(code);
  const { reasons } = await probe.until(HEALTH, pleases);
  return (reasons as { code: string; message: string }[]).filter((one) => one.code === code);
};

test.skipIf(!hasDynamicSecurity).each([
  ['5', ['heat2mqtt/#'], [BIRTH], 'not authorized'],
  ['3.1.1', ['heat2mqtt/#'], [BIRTH], 'it does not say why'],
  ['5', [], [REQUESTS, BIRTH, INFO, BRIDGE_STATE], 'not authorized'],
  ['3.1.1', [], [REQUESTS, BIRTH, INFO, BRIDGE_STATE], 'it does not say why'],
] as const)(
  'Mosquitto with dynamic security, MQTT %s, which lets us subscribe to %j only',
  async (protocol, allowed, denied, why) => {
    const house = await openHome();
    const broker = await startDynamicSecurity(house.stack, allowed);
    const place = { url: broker.url, protocol, login: BRIDGE, probe: OWNER };
    const { program, probe, check, said, isWhole } = await beside(house, place);
    await isWhole();
    const reasons = await reasonsOf(probe, 'subscribe_refused');
    expect(reasons.map(({ message }) => message.split('. Lost with it: ')[0]).sort()).toEqual(
      denied.map((filter) => `The broker refuses the subscription to ${filter}: ${why}`).sort(),
    );
    const { code, output } = await check();
    expect([code, output]).toEqual([6, expect.stringContaining('FAILED subscriptions: ')]);
    for (const filter of denied)
      expect(output).toContain(`the subscription to ${filter}: ${why}. Lost with it`);
    // And the history of the meter, by its exact topic.
    const histories = allowed.length === 0 ? 1 : 0;
    expect(said('refuses the subscription')).toBe(denied.length + histories);
    // Mosquitto ends connections whose rights change: the next one has everything.
    for (const filter of [...denied, HISTORIES]) await broker.allow(filter);
    await program.says('connection to the broker lost');
    await probe.until(HEALTH, ({ reasons: left }) => !JSON.stringify(left).includes('subscribe_refused'));
    expect((await check()).code).toBe(0);
    expect((await program.end('SIGTERM')).code).toBe(0);
  },
);

test.skipIf(!hasRabbitMq)(
  'RabbitMQ, which ends the connection over a subscription: it is left out, and told',
  async () => {
    const house = await openHome();
    const { url } = await startRabbitMq(house.stack);
    const { program, probe, check, isWhole, said } = await beside(house, {
      url,
      login: BRIDGE,
      probe: OWNER,
    });
    await isWhole();
    expect(await reasonsOf(probe, 'subscribe_refused')).toMatchObject([
      { message: expect.stringContaining(`${BIRTH}: it ends the connection when that is asked for.`) },
    ]);
    const { code, output } = await check();
    expect([code, output]).toEqual([6, expect.stringContaining(`${BIRTH}: it ends the connection`)]);
    expect(output).not.toContain(`subscription to ${REQUESTS}`);
    await probe.publish('heat2mqtt/bridge/request/health', '');
    await waitFor('the answer', () => probe.last('heat2mqtt/bridge/response/health'));
    expect(said('connection to the broker lost')).toBe(0);
    expect((await program.end('SIGTERM')).code).toBe(0);
    await waitFor('the farewell', () => probe.last(BRIDGE_STATE)?.payload === 'offline');
  },
);

/** So many that all they have to say at once is more than ten messages. */
const MANY = person(
  'me',
  Array.from({ length: 12 }, (_, at) =>
    home(String(70_418_235 + at), quiet({ since: SINCE }), PROPERTY + at),
  ),
);

test.skipIf(!hasHiveMq)(
  'HiveMQ takes ten messages at once and no more: it stays connected, also when Home Assistant starts',
  async () => {
    const house = await openHome(MANY);
    const { url } = await startHiveMq(house.stack, 'homeassistant/never');
    const { program, probe, check, said, isWhole } = await beside(house, { url });
    await isWhole();
    const last = `homeassistant/device/heat2mqtt_meter_${70_418_235 + 11}/config`;
    await waitFor('the last device', () => probe.last(last));
    for (let starts = 1; starts <= 3; starts += 1) {
      const before = probe.on(last).length;
      await probe.publish(BIRTH, 'online');
      await waitFor('the devices again', () => probe.on(last).length > before);
    }
    expect([said('connection to the broker lost'), said('connected to the broker')]).toEqual([0, 1]);
    expect((await check()).code).toBe(0);
    expect((await program.end('SIGTERM')).code).toBe(0);
    // Everything at once, as at each start.
    const again = house.start(await house.configure({ mqtt: { url } }));
    await again.says('connected to the broker');
    const before = probe.on(last).length;
    await waitFor('the devices again', () => probe.on(last).length > before);
    expect(again.output).not.toContain('connection to the broker lost');
  },
);

test.skipIf(!hasHiveMq)('HiveMQ, which refuses a subscription: told with what is lost', async () => {
  const house = await openHome();
  const { url } = await startHiveMq(house.stack, 'homeassistant/');
  const { probe, isWhole } = await beside(house, { url, protocol: '3.1.1' });
  await isWhole();
  expect(await reasonsOf(probe, 'subscribe_refused')).toMatchObject([
    { message: expect.stringContaining("Lost with it: Home Assistant's birth message") },
  ]);
});

test.skipIf(!hasMochi)(
  'Mochi, which retains nothing: everything is published, and again for Home Assistant',
  async () => {
    const house = await openHome();
    const { url } = await startMochi(house.stack, { retain_available: 0 });
    const { program, probe, check, isWhole } = await beside(house, { url });
    await isWhole();
    expect(await reasonsOf(probe, 'retain_unavailable')).toHaveLength(1);
    probe.forget();
    await probe.publish(BIRTH, 'online');
    await waitFor('the device again', () => probe.last(DOCUMENT));
    await probe.until(STATE);
    const { code, output } = await check();
    expect([code, output]).toEqual([0, expect.stringContaining('The broker does not retain messages')]);
    await program.end('SIGKILL');
    await waitFor('the will', () => probe.last(BRIDGE_STATE)?.payload === 'offline');
  },
);

test.skipIf(!hasMochi).each([0, 1])('Mochi with a Maximum QoS of %i', async (maximum) => {
  const house = await openHome();
  const { url } = await startMochi(house.stack, { maximum_qos: maximum });
  const { program, probe, isWhole } = await beside(house, { url });
  await isWhole();
  if (maximum === 0) expect(await reasonsOf(probe, 'qos_unavailable')).toHaveLength(1);
  else await probe.until(HEALTH, ({ state }) => state === 'ok');
  expect((await program.end('SIGTERM')).code).toBe(0);
});

test.skipIf(!hasMochi)(
  'Mochi, which ends the connection over what has more than 5,000 bytes: that is left out, and told',
  async () => {
    const house = await openHome();
    const { url } = await startMochi(house.stack, { receive_maximum: 1, maximum_packet_size: 5_000 });
    const { program, probe } = await beside(house, { url });
    await probe.until(STATE, ({ energy_total: total }) => typeof total === 'number');
    const left = (topic: string) => `The broker refuses ${topic}: it ends the connection when that is sent.`;
    const { reasons } = await probe.until(HEALTH, (health) =>
      JSON.stringify(health).includes(left(`heat2mqtt/meter/${METER}/history`)),
    );
    expect(JSON.stringify(reasons)).toContain(left(DOCUMENT));
    expect((await program.end('SIGTERM')).code).toBe(0);
  },
);
