// HTTP for machines that watch, the door of Home Assistant's ingress, and who is let in where.
import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { serveMistakes } from '../../src/cli/app.ts';
import { ConfigInvalid } from '../../src/config/faults.ts';
import { openTo } from '../../src/config/pageAddress.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { type HealthAnswers, serveHealth, serveIngress } from '../../src/web/server.ts';
import { BASE, load } from '../config/loading.ts';
import { openStack } from '../support/stack.ts';
import { openStory } from '../support/story.ts';
import { typed } from '../support/typed.ts';
import { asking } from './served.ts';

const HERE = { listen: '127.0.0.1:0', from: '127.0.0.1' };

async function open(answers: Partial<HealthAnswers> = {}, listen = '127.0.0.1:0') {
  const server = await serveHealth(
    listen,
    {
      healthy: () => true,
      ready: () => true,
      metrics: () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }),
      page: null,
      metricsFor: 'everyone',
      metricsRefused: () => undefined,
      ...answers,
    },
    { clock: systemClock },
  );
  openStack().use(server);
  return { server, ask: asking(`http://${listen.replace(/0$/, String(server.port))}`) };
}

test('answers health, readiness and metrics, and nothing else, when there is no page', async () => {
  const state = { healthy: true, ready: true };
  const { ask, server } = await open({
    healthy: () => state.healthy,
    ready: () => state.ready,
    metricsFor: 'this machine',
  });
  const HEAT2MQTT_HTTP_LISTEN = `127.0.0.1:${server.port}`;
  const env = { HEAT2MQTT_CONSTITUENCIES_CHAMBER: 'dail', HEAT2MQTT_HTTP_LISTEN };
  const healthcheck = (more = {}) => typed(['healthcheck'], { env: { ...env, ...more } });
  const answers = async (method: string, path: string, status: number, text: string) =>
    expect([path, await ask(path, { method })]).toMatchObject([path, { status, text }]);
  await answers('GET', '/healthz', 200, 'healthy\n');
  await answers('GET', '/healthz?verbose=1', 200, 'healthy\n');
  await answers('HEAD', '/healthz', 200, '');
  await answers('GET', '/readyz', 200, 'ready\n');
  // What listens on all addresses is asked on this machine's own.
  for (const host of ['127.0.0.1', '0.0.0.0', '[::]'])
    expect(await healthcheck({ HEAT2MQTT_HTTP_LISTEN: `${host}:${server.port}` })).toEqual({
      ...{ exitCode: 0, out: 'healthy\n', err: '' },
    });
  Object.assign(state, { healthy: false, ready: false });
  expect(await healthcheck()).toEqual({ exitCode: 1, out: '', err: 'not healthy\n' });
  for (const more of [
    { HEAT2MQTT_HTTP_LISTEN: '127.0.0.1:9' },
    { HEAT2MQTT_HTTP_LISTEN: '', HEAT2MQTT_HTTP: 'false' },
  ])
    expect(await healthcheck(more)).toMatchObject({ exitCode: 1, out: '' });
  await answers('GET', '/healthz', 503, 'not healthy\n');
  await answers('GET', '/readyz', 503, 'not ready\n');
  for (const path of ['/', '/healthz/', '/config', '/..%2fconfig.yaml'])
    expect((await ask(path)).status).toBe(404);
  for (const method of ['POST', 'PUT', 'DELETE']) await answers(method, '/healthz', 405, 'GET only\n');
  const type = { 'content-type': 'text/plain; version=0.0.4' };
  expect(await ask('/metrics')).toMatchObject({ status: 200, text: 'up 1\n', headers: type });
  const broken = await open({
    metrics() {
      throw new Error('row 7');
    },
  });
  expect(await broken.ask('/metrics')).toMatchObject({ status: 500, text: 'metrics failed\n' });
});

test('gives metrics to this machine only when it is asked by its own names, and tells a refusal', async () => {
  const refused: string[] = [];
  const metricsRefused = () => void refused.push('once');
  const { ask } = await open({ metricsFor: 'this machine', metricsRefused });
  const page: HealthAnswers['page'] = (_, response) => response.writeHead(401).end();
  const { ask: withPage } = await open({ metricsFor: 'no one', metricsRefused, page });
  const { ask: anywhere } = await open();
  expect((await ask('/metrics', { headers: { host: 'localhost:8099' } })).status).toBe(200);
  for (const headers of [
    { 'x-forwarded-for': '192.0.2.1' },
    { host: 'localhost.evil.example.org' },
    { host: 'box.localhost' },
  ]) {
    expect((await ask('/metrics', { headers })).status).toBe(401);
    expect((await anywhere('/metrics', { headers })).status).toBe(200);
  }
  expect([(await withPage('/metrics')).status, (await withPage('/')).status]).toEqual([401, 401]);
  expect(refused).toHaveLength(4);
});

test('rejects when the port is taken, takes IPv6 in brackets, and waits for no visitor when it stops', async () => {
  const { server, ask } = await open();
  await expect(open({}, `127.0.0.1:${server.port}`)).rejects.toMatchObject({
    code: 'listen_failed',
    message: expect.stringContaining('EADDRINUSE'),
  });
  const six = await open({}, '[::1]:0');
  expect((await six.ask('/healthz')).status).toBe(200);
  const visitor = connect(server.port, '127.0.0.1').on('error', () => undefined);
  await once(visitor, 'connect');
  visitor.write('GET /healthz HTTP/1.1\r\n');
  await ask('/healthz');
  const began = performance.now();
  await server.stop();
  expect(performance.now() - began).toBeLessThan(4_000);
});

test.each([
  ['127.0.0.1:8099', '', true, 'this machine'],
  ['127.0.0.1:8099', 'web: { password: correct horse }', true, 'no one'],
  ['0.0.0.0:8099', '', false, 'no one'],
  ['0.0.0.0:8099', 'web: { password: correct horse }', true, 'no one'],
  ['0.0.0.0:8099, metrics: open', '', false, 'everyone'],
  ['127.0.0.1:8099', 'web: false', false, 'this machine'],
  ['0.0.0.0:8099', 'web: false', false, 'no one'],
])(
  'when it listens on %s with "%s": whether there is a page is %s, metrics are for %s',
  async (listen, web, hasPage, metricsFor) => {
    const [address, more = ''] = listen.split(', ');
    const { config } = await load(`${BASE}http: { listen: '${address}', ${more} }\n${web}\n`);
    expect(openTo(config)).toEqual({ hasPage, metricsFor });
  },
);

test('serves no page beyond this machine, and logs why, when there is no password', async () => {
  const story = await openStory();
  const everywhere = { http: { listen: '0.0.0.0:0' } };
  const ask = asking(`http://127.0.0.1:${(await story.start(everywhere)).httpPort}`);
  for (const path of ['/session', '/events', '/report.txt']) expect((await ask(path)).status).toBe(404);
  // A person who opens it is told what is missing.
  expect(await ask('/')).toMatchObject({
    status: 403,
    text: expect.stringMatching(/^There is no page: http\.listen is 0\.0\.0\.0:0,.*\nSet web\.password or /),
  });
  expect((await ask('/request/refresh', { method: 'POST' })).status).toBe(405);
  expect([(await ask('/healthz')).status, (await ask('/metrics')).status]).toEqual([200, 401]);
  expect(story.logged('no page: beyond this machine it is served with a password only')).toMatchObject([
    { hint: expect.stringContaining('web.password_file') },
  ]);
  expect(story.logged('metrics were asked for and refused')).toMatchObject([
    { hint: expect.stringContaining('http.metrics: open') },
  ]);
  // Nothing else of these tests listens there, so that the port is still free after the stop.
  const address = '127.0.0.77';
  const { port, stop } = await serveIngress(
    { ...HERE, listen: `${address}:0` },
    () => undefined,
    systemClock,
  );
  await stop();
  const other = await openStory();
  await other.start(everywhere, { ...HERE, listen: `${address}:${port}` });
  const { text } = await asking(`http://${address}:${port}`)('/session');
  expect(JSON.parse(text)).toMatchObject({ signedIn: true, needsPassword: false });
  expect(other.logged('no page: beyond this machine it is served with a password only')).toEqual([]);
});

test('answers nobody but the Supervisor when asked on the port of ingress', async () => {
  const stack = openStack();
  const serve = async (from: string) =>
    stack.use(await serveIngress({ ...HERE, from }, (_, response) => response.end('page'), systemClock)).port;
  // Not fetch, which tries again for ever where the connection is closed before it has asked.
  const asked = get(`http://127.0.0.1:${await serve('172.30.32.2')}/`, { agent: false });
  await expect(once(asked, 'response')).rejects.toThrow();
  const { status, text } = await asking(`http://127.0.0.1:${await serve('127.0.0.1')}`)('/');
  expect([status, text]).toEqual([200, 'page']);
});

test('serves a page with each mistake, to Home Assistant only, when the options are wrong', async () => {
  const stack = openStack();
  const invalid = new ConfigInvalid([
    { path: 'accounts.0.password', found: 'nothing', allowed: 'password <here>' },
    { path: 'mqtt.url', found: 'no broker', allowed: 'the app "Mosquitto broker"' },
  ]);
  const opened = await serveMistakes(invalid, '127.0.0.1:0', HERE);
  for (const one of opened) stack.use(one);
  const [health, page] = opened.map(({ port }) => asking(`http://127.0.0.1:${port}`));
  expect((await health?.('/healthz'))?.status).toBe(200);
  expect((await health?.('/'))?.text).not.toContain('mqtt.url');
  const { text } = (await page?.('/any/path')) ?? {};
  expect(text).toContain('<li>accounts.0.password: found nothing; allowed: password &lt;here></li>');
  expect(text).toContain('mqtt.url');
  expect(text).toContain('press Restart');
});
