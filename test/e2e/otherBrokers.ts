// Real brokers that do not allow everything, each on a free port of this machine: not all of them are there everywhere.
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, startChild } from '../support/child.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort, startMosquitto } from './mosquitto.ts';

/** `scripts/broker-parts.sh mochi` and `… hivemq` print them. */
const { HEAT2MQTT_MOCHI: MOCHI = '', HEAT2MQTT_HIVEMQ: HIVEMQ = '' } = process.env;

const below = (folder: string, file: RegExp, rest = ''): string | undefined =>
  (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => file.test(name))
    .map((name) => join(folder, name, rest))
    .find(existsSync);

const DYNAMIC_SECURITY = below('/usr/lib', /-linux-gnu/, 'mosquitto_dynamic_security.so');
const RABBITMQ = below('/usr/lib/rabbitmq/lib', /^rabbitmq_server-/, 'sbin/rabbitmq-server');

export const hasDynamicSecurity = DYNAMIC_SECURITY !== undefined;
export const hasMochi = existsSync(MOCHI);
export const hasHiveMq = existsSync(HIVEMQ);
export const hasRabbitMq = RABBITMQ !== undefined;

/** May do everything. */
export const OWNER = { username: 'owner', password: 'owner-at-the-broker' };
/** May publish everything, and subscribe as far as the broker was told. */
export const BRIDGE = { username: 'bridge', password: 'bridge-at-the-broker' };
const ADMIN = { username: 'admin', password: 'admin-at-the-broker' };

/** Mosquitto with its dynamic security. `allowed`: the filters to which BRIDGE may subscribe. */
export async function startDynamicSecurity(stack: Stack, allowed: readonly string[]) {
  const rules = join(await stack.folder(), 'dynamic-security.json');
  const control = async (...words: string[]) => {
    const child = startChild('mosquitto_ctrl', words);
    if ((await child.exited) !== 0) throw new Error(`mosquitto_ctrl: ${child.output}${child.errors}`);
  };
  await control('dynsec', 'init', rules, ADMIN.username, ADMIN.password);
  const broker = stack.use(
    await startMosquitto([
      'allow_anonymous false',
      `plugin ${DYNAMIC_SECURITY}`,
      `plugin_opt_config_file ${rules}`,
    ]),
  );
  const login = ['-h', '127.0.0.1', '-p', String(broker.port), '-u', ADMIN.username, '-P', ADMIN.password];
  const change = (...words: string[]) => control(...login, 'dynsec', ...words);
  for (const { username, password } of [OWNER, BRIDGE]) {
    await change('createRole', username);
    await change('addRoleACL', username, 'publishClientSend', '#', 'allow');
    await change('createClient', username, '-p', password);
    await change('addClientRole', username, username);
  }
  await change('addRoleACL', OWNER.username, 'subscribePattern', '#', 'allow');
  for (const filter of allowed)
    await change('addRoleACL', BRIDGE.username, 'subscribePattern', filter, 'allow');
  return {
    url: broker.url,
    allow: (filter: string) => change('addRoleACL', BRIDGE.username, 'subscribePattern', filter, 'allow'),
  };
}

async function listening(child: Child, port: number, sign: RegExp): Promise<{ url: string }> {
  const diagnose = () => child.output.slice(-3_000) + child.errors.slice(-3_000);
  await waitFor('the broker', () => sign.test(child.output), { diagnose });
  return { url: `mqtt://127.0.0.1:${port}` };
}

/** `capabilities`: as Mochi calls them, such as `retain_available`. */
export async function startMochi(stack: Stack, capabilities: Readonly<Record<string, number>>) {
  const port = await freePort();
  const child = startChild(MOCHI, [`127.0.0.1:${port}`, JSON.stringify(capabilities)]);
  stack.use(child);
  return listening(child, port, /^listening/m);
}

/** Its Receive Maximum is 10. `denied`: how the filters begin to which nobody may subscribe. */
export async function startHiveMq(stack: Stack, denied: string) {
  const port = await freePort();
  const path = `${HIVEMQ}/classes:${HIVEMQ}/jars/*`;
  const rules = [await stack.folder(), String(port), denied];
  const child = startChild('java', ['-Xmx256m', '-cp', path, 'Broker', ...rules]);
  stack.use(child);
  return listening(child, port, /^listening/m);
}

/** It ends the connection over a subscription that it refuses. BRIDGE may subscribe below heat2mqtt only. */
export async function startRabbitMq(stack: Stack) {
  const folder = await stack.folder();
  const mqttPort = await freePort();
  const amqpPort = await freePort();
  const distributionPort = await freePort();
  const epmdPort = await freePort();
  const vhost = '/';
  const everything = { vhost, configure: '.*', write: '.*', read: '.*' };
  const users = [OWNER, BRIDGE].map(({ username, password }) => ({ name: username, password, tags: '' }));
  const definitions = {
    vhosts: [{ name: vhost }],
    users,
    permissions: users.map(({ name }) => ({ user: name, ...everything })),
    topic_permissions: [
      { user: BRIDGE.username, vhost, exchange: 'amq.topic', write: '.*', read: '^heat2mqtt\\..*' },
    ],
  };
  const at = (name: string) => join(folder, name);
  await writeFile(at('definitions.json'), JSON.stringify(definitions));
  await writeFile(at('enabled_plugins'), '[rabbitmq_mqtt].\n');
  const settings = [
    `listeners.tcp.1 = 127.0.0.1:${amqpPort}`,
    `mqtt.listeners.tcp.1 = 127.0.0.1:${mqttPort}`,
    `load_definitions = ${at('definitions.json')}`,
  ];
  await writeFile(at('rabbitmq.conf'), `${settings.join('\n')}\n`);
  const env = {
    HOME: folder,
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: `heat2mqtt${mqttPort}@localhost`,
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_CONFIG_FILE: at('rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: at('enabled_plugins'),
    RABBITMQ_MNESIA_BASE: at('mnesia'),
    RABBITMQ_LOG_BASE: at('log'),
  };
  // Erlang leaves its port mapper behind.
  stack.defer(() => startChild('epmd', ['-kill'], { env }).exited);
  const child = startChild(RABBITMQ ?? '', [], { env });
  // Killed, it would leave the virtual machine behind, too.
  stack.defer(() => child.end('SIGTERM'));
  return listening(child, mqttPort, /completed with \d+ plugins/);
}
