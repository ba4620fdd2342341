// The connection to Home Assistant: each command gets its own reply, and the token goes nowhere else.

import { createServer as createPlainServer } from 'node:net';
import { createServer } from 'node:tls';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { safeWords } from '../../src/foundation/failure.ts';
import {
  allStoredHours,
  mqttEntities,
  readPreferences,
  standingNotifications,
  statisticsMetadata,
  visitHomeAssistant,
} from '../../src/homeassistant/commands.ts';
import { LOCALHOST } from '../support/certificate.ts';
import { listening, webSockets } from '../support/listening.ts';
import { logLines } from '../support/logLines.ts';
import { startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import type { Stack } from '../support/stack.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { open } from './opened.ts';

const codeOf = (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => 'no failure',
    (err) => err.code.replace('home_assistant_', ''),
  );
const CONFIG = { type: 'get_config' };

test('gives each command its reply when they come in another order', async () => {
  const { connect } = await open({ outOfOrder: true });
  const home = await connect();
  const [config, user] = await Promise.all([
    home.send(CONFIG, z.unknown()),
    home.send({ type: 'auth/current_user' }, z.unknown()),
  ]);
  expect(config).toMatchObject({ state: 'RUNNING' });
  expect(user).toMatchObject({ is_admin: true });
});

test.each([
  ['2025.10.4', 'too_old'],
  ['2024.12.0b1', 'too_old'],
  ['2025.11.0', 'no failure'],
  ['2026.4.0.dev20260301', 'no failure'],
  ['next', 'no failure'],
  [{ toString: null }, 'no failure'],
  [null, 'no failure'],
])('version %j: %s', async (version, code) => {
  const { ha, connect } = await open({ version });
  expect(await codeOf(connect())).toBe(code);
  // One that is too old does not even get the token.
  expect(ha.tokens).toHaveLength(code === 'too_old' ? 0 : 1);
});

test.each([
  [307, 'http://127.0.0.1:PORT/api/websocket', 'no failure'],
  [301, 'ws://127.0.0.1:PORT/api/websocket', 'no failure'],
  [308, 'https://127.0.0.1:PORT/api/websocket', 'unreachable'],
  [307, 'http://localhost.example.org/api/websocket', 'moved'],
  [302, 'http://[', 'moved'],
  [302, 'ws+unix:a:b c', 'no_home_assistant'],
  [302, 'ws+\tunix:a:b c', 'no_home_assistant'],
  [307, null, 'no_home_assistant'],
  [401, null, 'no_home_assistant'],
  [403, null, 'unreachable'],
  [502, null, 'starting'],
  [503, null, 'starting'],
  [504, null, 'starting'],
])('an upgrade that is answered with %i %s: %s', async (status, location, code) => {
  const { stack, ha, connect } = await open();
  const old = stack.use(await startPretendHomeAssistant());
  old.switches.httpStatus = status;
  old.switches.location = location?.replace('PORT', String(ha.port)) ?? null;
  expect(await codeOf(connect(old.url))).toBe(code);
  expect(old.tokens).toEqual([]);
});

test('ends when redirects go in a circle', async () => {
  const { ha, connect } = await open();
  ha.switches.httpStatus = 307;
  ha.switches.location = ha.url;
  expect(await codeOf(connect())).toBe('moved');
  expect(ha.connections).toBe(4);
});

test('follows no redirect when it leads from wss back to ws', async () => {
  const { stack, ha, connect } = await open();
  const secure = createServer(LOCALHOST, (wire) =>
    wire.once('data', () => wire.end(`HTTP/1.1 307 x\r\nLocation: ${ha.url}\r\nContent-Length: 0\r\n\r\n`)),
  );
  const port = await listening(secure);
  stack.defer(() => void secure.close());
  // The client has no place for an authority of our own.
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  stack.defer(() => void vi.unstubAllEnvs());
  const old = stack.use(await startPretendHomeAssistant());
  old.switches.httpStatus = 307;
  old.switches.location = `wss://127.0.0.1:${port}/api/websocket`;
  expect(await codeOf(connect(old.url))).toBe('moved');
  expect(ha.tokens).toEqual([]);
});

test('blames the certificate when nobody who is trusted has signed it', async () => {
  const { stack, connect } = await open();
  const port = await startTlsEnd(stack, LOCALHOST);
  expect(await codeOf(connect(`wss://localhost:${port}/api/websocket`))).toBe('not_trusted');
});

/** A server that says something to whoever comes, or nothing, and listens. */
async function speaking(stack: Stack, said: string | null, heard: string[]): Promise<string> {
  const port = await webSockets(stack, {}, (socket) => {
    socket.on('message', (bytes) => heard.push(String(bytes)));
    if (said !== null) socket.send(said);
  });
  return `ws://127.0.0.1:${port}`;
}

test.each(['<html>', '[]', '{"type":"hello"}', 'null', '{"type":"auth_require'])(
  'keeps the token when a stranger says %s',
  async (said) => {
    const { stack, connect } = await open();
    const heard: string[] = [];
    const url = await speaking(stack, said, heard);
    expect(await codeOf(connect(url))).toBe('no_home_assistant');
    await turn(10);
    expect(heard).toEqual([]);
  },
);

test('gives up when the token is never asked for, or a command never answered', async () => {
  const { stack, clock, connect } = await open({ mute: true });
  const signIn = codeOf(connect(await speaking(stack, null, [])));
  await waitFor('its patience', () => clock.sleepers === 1);
  clock.advance(15_000);
  expect(await signIn).toBe('silent');
  const home = await connect();
  const answer = codeOf(home.send(CONFIG, z.unknown()));
  await turn();
  clock.advance(60_000);
  expect(await answer).toBe('silent');
});

test('stays ended when a connection was cut', async () => {
  const { ha, connect } = await open({ mute: true });
  const home = await connect();
  const answer = codeOf(home.send(CONFIG, z.unknown()));
  await turn(20);
  ha.cut();
  expect(await answer).toBe('cut');
  expect(await codeOf(home.send(CONFIG, z.unknown()))).toBe('cut');
  await turn(50);
  expect(ha.connections).toBe(1);
});

const answering = (result: string) => (id: unknown) =>
  `{"id":${id},"type":"result","success":true,"result":${result}}`;
const MEBIBYTE = 1024 * 1024;

test.each<[string, string, (id: unknown) => string]>([
  ['a long text', 'no failure', answering(`"${'x'.repeat(2 * MEBIBYTE - 100)}"`)],
  ['one that is too long', 'too_large', answering(`"${'x'.repeat(2 * MEBIBYTE)}"`)],
  ['small objects', 'no failure', answering(`[${Array(99_990).fill('{}').join(',')}]`)],
  ['too many of them', 'too_large', answering(`[${Array(100_000).fill('{}').join(',')}]`)],
  ['lists in one another', 'too_large', answering('['.repeat(64) + ']'.repeat(64))],
  ['no JSON', 'cut', () => '<html>'],
])('an answer that is %s: %s, in less than a second of this processor', async (_, code, say) => {
  const { ha, connect } = await open();
  const home = await connect();
  ha.switches.instead.set('get_config', (socket, id) => socket.send(say(id)));
  const before = process.cpuUsage();
  expect(await codeOf(home.send(CONFIG, z.unknown()))).toBe(code);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(1_000);
  // What has ended the connection is told of every question after it.
  expect(await codeOf(home.send(CONFIG, z.unknown()))).toBe(code);
});

test('refuses an answer when it comes in too many pieces', async () => {
  const { ha, connect } = await open();
  const home = await connect();
  ha.switches.instead.set('get_config', (socket) => {
    for (let left = 20_000; left > 0; left -= 1) socket.send('[', { fin: false });
  });
  expect(await codeOf(home.send(CONFIG, z.unknown()))).toBe('too_large');
});

test('refuses in no time when an answer has a hundred thousand rows of nothing', async () => {
  const { ha, connect } = await open();
  const home = await connect();
  const nothing = `[${Array(99_000).fill('{}').join(',')}]`;
  const before = process.cpuUsage();
  for (const [type, result, asking] of [
    ['recorder/get_statistics_metadata', nothing, () => statisticsMetadata(home, ['x:y'])],
    ['recorder/statistics_during_period', `{"x:y":${nothing}}`, () => allStoredHours(home, 'x:y', ['sum'])],
    ['config/entity_registry/list_for_display', `{"entities":${nothing}}`, () => mqttEntities(home)],
    ['persistent_notification/get', nothing.replaceAll('{}', '1'), () => standingNotifications(home)],
    ['energy/get_prefs', `{"energy_sources":${nothing.replaceAll('{}', '1')}}`, () => readPreferences(home)],
  ] as const) {
    ha.switches.instead.set(type, (socket, id) => socket.send(answering(result)(id)));
    expect(await codeOf(asking()), type).toBe('strange');
  }
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(2_000);
});

test('connects to nothing when the daemon has ended', async () => {
  const { ending, connect, ha } = await open();
  const removed = vi.spyOn(ending.signal, 'removeEventListener');
  const home = await connect();
  home.close();
  await waitFor('its end', () => removed.mock.calls.length === 1);
  ending.abort();
  expect(await codeOf(connect())).toBe('unreachable');
  expect(ha.tokens).toHaveLength(1);
});

test.each<[string, object, string]>([
  ['get_config', { state: 'NOT_RUNNING' }, 'starting'],
  ['get_config', { state: 'STOPPING' }, 'starting'],
  ['get_config', {}, 'no failure'],
  ['auth/current_user', { is_admin: false }, 'not_admin'],
  ['recorder/info', { thread_running: false, migration_in_progress: false }, 'starting'],
  ['recorder/info', { thread_running: true, migration_in_progress: true }, 'starting'],
  ['recorder/info', {}, 'no failure'],
])('to %s it says %j: %s, and statistics are not written too early', async (type, result, code) => {
  const { ha, clock } = await open();
  ha.answerNext(type, result);
  const visit = visitHomeAssistant({ url: ha.url, token: ha.switches.token }, clock, async () => undefined);
  expect(await codeOf(visit)).toBe(code);
});

test('asks in pieces when a home has many entities', async () => {
  const { ha, connect } = await open();
  const platform = 'mqtt';
  ha.energy.kept.registry = Array.from({ length: 501 }, (_, n) => {
    return { unique_id: `u${n}`, entity_id: `sensor.e${n}`, platform, disabled_by: null };
  });
  expect(await mqttEntities(await connect())).toHaveProperty('size', 501);
  expect(ha.asked.filter(({ type }) => type === 'config/entity_registry/get_entries')).toHaveLength(3);
});

test('finds entities of MQTT that are not disabled when a person has given them other ids', async () => {
  const { ha, connect } = await open();
  const entity = { unique_id: 'heat2mqtt_meter_x_energy', entity_id: 'sensor.cellar', platform: 'mqtt' };
  ha.energy.kept.registry = [
    { ...entity, disabled_by: null },
    { ...entity, unique_id: 'a', disabled_by: 'user' },
    { ...entity, unique_id: 'b', platform: 'demo', disabled_by: null },
  ];
  expect([...(await mqttEntities(await connect()))]).toEqual([['heat2mqtt_meter_x_energy', 'sensor.cellar']]);
});

const PERSON = 'Órla Canarywood, 4711083599';

test.each<[string, unknown, string]>([
  ['unauthorized', 'unauthorized', 'not_admin'],
  ['unknown_command', 'unknown_command', 'no_recorder'],
  ['home_assistant_error', 'home_assistant_error', 'refused'],
  ['a code of its own', 'orla_canarywood', 'refused'],
  ['a text', PERSON, 'refused'],
  ['a number', 4711083599, 'refused'],
])(
  'the error %s is told by its code, in our own words, and nothing of what stands beside it',
  async (_, error, code) => {
    const { ha, connect } = await open();
    ha.switches.instead.set('get_config', (socket, id) => {
      socket.send(JSON.stringify({ id, type: 'event', event: 'unasked' }));
      socket.send(JSON.stringify({ id: 99, type: 'result', success: true }));
      const beside = { message: PERSON, translation_key: PERSON, translation_placeholders: { name: PERSON } };
      socket.send(JSON.stringify({ id, type: 'result', success: false, error: { code: error, ...beside } }));
    });
    const home = await connect();
    const err = await home.send(CONFIG, z.unknown()).catch((fault) => fault);
    expect(err).toHaveProperty('code', `home_assistant_${code}`);
    const { log, lines } = logLines();
    log.warn({ err }, 'told');
    expect(`${lines} ${JSON.stringify(safeWords(err))}`).not.toMatch(/canary|4711083599/i);
  },
);

test.each<[string, string]>([
  ['a refused token', JSON.stringify({ type: 'auth_invalid', message: PERSON })],
  ['a version of its own', JSON.stringify({ type: 'auth_required', ha_version: `2024.1 ${PERSON}` })],
  ['a greeting of its own', JSON.stringify({ type: PERSON, message: PERSON })],
  ['no JSON', PERSON],
])('quotes nothing when the text is that of %s', async (_, said) => {
  const { stack, connect } = await open();
  const err = await connect(await speaking(stack, said, [])).catch((fault) => fault);
  const { log, lines } = logLines();
  log.warn({ err }, 'told');
  expect(err).toHaveProperty('code', expect.stringMatching(/^home_assistant_/));
  expect(`${lines} ${JSON.stringify(safeWords(err))}`).not.toMatch(/canary|4711083599/i);
});

test('tells the status when an upgrade is refused with words', async () => {
  const { stack, connect } = await open();
  const server = createPlainServer((socket) => {
    socket.once('data', () => socket.end(`HTTP/1.1 418 ${PERSON}\r\nx-name: ${PERSON}\r\n\r\n`, 'latin1'));
  });
  const port = await listening(server);
  stack.defer(() => void server.close());
  const err = await connect(`ws://127.0.0.1:${port}`).catch((fault: Error) => fault);
  expect(err).toHaveProperty('message', expect.stringContaining('HTTP 418'));
  const { log, lines } = logLines();
  log.warn({ err }, 'told');
  expect(`${lines} ${JSON.stringify(safeWords(err))}`).not.toMatch(/canary|4711083599/i);
});

test('finds its notification when another has no text', async () => {
  const { ha, connect } = await open();
  const home = await connect();
  const strange = { notification_id: { toString: null }, message: { toString: null } };
  ha.answerNext('persistent_notification/get', [strange, { notification_id: 'a', message: 'b' }]);
  expect((await standingNotifications(home)).get('a')).toBe('b');
});
