// The page within Home Assistant, where it may be seen at all, and what stands there while options are wrong.
import { once } from 'node:events';
import { get } from 'node:http';
import { expect, test } from 'vitest';
import { serveMistakes } from '../../src/cli/mistakes.ts';
import { ConfigInvalid } from '../../src/config/load.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { serveIngress } from '../../src/web/server.ts';
import { openStack } from '../support/stack.ts';
import { openStory } from '../support/story.ts';
import { openServer, PASSWORD } from './served.ts';

const HERE = { listen: '127.0.0.1:0', from: '127.0.0.1' };
const statusOf = async (url: string, init?: RequestInit) => (await fetch(url, init)).status;

test('under ingress no password is asked for, any name is fine, and Home Assistant may frame it', async () => {
  const { ask } = await openServer({ isIngress: true });
  const host = 'x1y2.ui.example.org';
  const page = await ask('/', { headers: { host, 'sec-fetch-site': 'same-origin' } });
  expect(page.status).toBe(200);
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'self'");
  const session = await ask('/session', { headers: { host, 'x-forwarded-for': '192.0.2.1' } });
  expect(JSON.parse(session.text)).toMatchObject({
    signedIn: true,
    needsPassword: false,
    mayTypePasswords: true,
  });
  const posted = async (headers: Record<string, string>) =>
    (await ask('/request/refresh', { method: 'POST', headers: { host, ...headers } })).status;
  expect(await posted({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await posted({ origin: 'https://evil.example.org' })).toBe(403);
  expect(await posted({ origin: `https://${host}:8443` })).toBe(200);
  expect(await posted({ host: 'supervisor', 'x-forwarded-host': host, origin: `https://${host}` })).toBe(200);
});

test('nobody but the Supervisor is answered on that port', async () => {
  const stack = openStack();
  const refused = stack.use(
    await serveIngress({ ...HERE, from: '172.30.32.2' }, (_, response) => response.end('page'), systemClock),
  );
  // Not fetch, which tries again for ever where the connection is closed before it has asked.
  const asked = get(`http://127.0.0.1:${refused.port}/`, { agent: false });
  await expect(once(asked, 'response')).rejects.toThrow();
  const served = stack.use(await serveIngress(HERE, (_, response) => response.end('page'), systemClock));
  expect(await statusOf(`http://127.0.0.1:${served.port}/`)).toBe(200);
});

test('the daemon serves it there, where nothing else is open and no password is set', async () => {
  const story = await openStory();
  const { port, stop } = await serveIngress(HERE, () => undefined, systemClock);
  await stop();
  await story.start({ http: { listen: '0.0.0.0:0' } }, { ...HERE, listen: `127.0.0.1:${port}` });
  const session = await fetch(`http://127.0.0.1:${port}/session`);
  expect(await session.json()).toMatchObject({ signedIn: true, needsPassword: false });
  expect(story.logged('no page: beyond this machine it is served with a password only')).toEqual([]);
});

test('beyond this machine there is no page without a password; health stays, and the log says why', async () => {
  const story = await openStory();
  const everywhere = { listen: '0.0.0.0:0' };
  const closed = `http://127.0.0.1:${(await story.start({ http: everywhere })).httpPort}`;
  for (const path of ['/', '/session', '/events', '/report.txt'])
    expect(await statusOf(closed + path)).toBe(404);
  expect(await statusOf(`${closed}/request/refresh`, { method: 'POST' })).toBe(405);
  expect(await statusOf(`${closed}/healthz`)).toBe(200);
  expect(await statusOf(`${closed}/metrics`)).toBe(401);
  expect(story.logged('no page: beyond this machine it is served with a password only')).toMatchObject([
    { hint: expect.stringContaining('web.password_file') },
  ]);
  expect(story.logged('metrics were asked for and refused')).toMatchObject([
    { hint: expect.stringContaining('http.metrics: open') },
  ]);
});

test.each<[string, Record<string, unknown>, number, number]>([
  ['on this machine', {}, 200, 200],
  ['on this machine, with a password', { web: { password: PASSWORD } }, 401, 200],
  ['beyond, with a password', { listen: '0.0.0.0:0', web: { password: PASSWORD } }, 401, 200],
  ['beyond, open', { listen: '0.0.0.0:0', metrics: 'open' }, 200, 404],
  ['without a page', { web: false }, 200, 404],
  ['without a page, beyond', { listen: '0.0.0.0:0', web: false }, 401, 404],
])(
  'who may read the metrics: %s',
  async (_, { listen = '127.0.0.1:0', metrics = 'page', web = {} }, metricsStatus, session) => {
    const story = await openStory();
    const { httpPort } = await story.start({ http: { listen, metrics }, web });
    const address = `http://127.0.0.1:${httpPort}`;
    expect(await statusOf(`${address}/healthz`)).toBe(200);
    expect(await statusOf(`${address}/metrics`)).toBe(metricsStatus);
    expect(await statusOf(`${address}/session`)).toBe(session);
    for (const headers of [{ 'x-forwarded-for': '192.0.2.1' }, { host: 'localhost.evil.example.org' }]) {
      const [response] = await once(get(`${address}/metrics`, { headers, agent: false }), 'response');
      response.resume();
      expect(response.statusCode === 200).toBe(metrics === 'open');
    }
  },
);

test('wrong options: a page with each mistake for Home Assistant, good health, and no more for others', async () => {
  const stack = openStack();
  const invalid = new ConfigInvalid([
    { path: 'accounts.0.password', found: 'nothing', allowed: 'password <here>' },
    { path: 'mqtt.url', found: 'no broker', allowed: 'the app "Mosquitto broker"' },
  ]);
  const { words, opened } = await serveMistakes(invalid, '127.0.0.1:0', HERE);
  for (const one of opened) stack.use(one);
  const [health, page] = opened.map(({ port }) => `http://127.0.0.1:${port}`);
  expect(await statusOf(`${health}/healthz`)).toBe(200);
  expect(await (await fetch(`${health}/`)).text()).not.toContain('mqtt.url');
  const text = await (await fetch(`${page}/any/path`)).text();
  expect(text).toContain('<li>accounts.0.password: found nothing; allowed: password &lt;here&gt;</li>');
  expect(text).toContain('mqtt.url');
  expect(text).toContain('press Restart');
  expect(words).toContain(invalid.message);
});
