// Who may see the page: names, origins, passwords, cookies, and what a browser is told to keep to.
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createSessions } from '../../src/web/sessions.ts';
import { networkOf, within } from '../../src/web/visitor.ts';
import { handClock } from '../support/clock.ts';
import { cookieOf, openServer, PASSWORD } from './served.ts';

const readPassword = async () => PASSWORD;
const FILES = ['/', '/page.js', '/page.css', '/words', '/session'];
const GUARDED = ['/events', '/report.txt', '/metrics', '/sign-in', '/nothing'];
const POST = { method: 'POST' };

test('answers IP addresses, own and configured names only when a Host is named', async () => {
  const { ask } = await openServer();
  const answers = (host: string) =>
    Promise.all(['/', '/session', '/report.txt', '/metrics'].map((path) => ask(path, { headers: { host } })));
  const own =
    '192.168.1.20:8099 [fe80::1]:8099 localhost:8099 pi:8099 PI.local pi.local.:8099 heat.example.org';
  for (const host of own.split(' '))
    for (const { status } of await answers(host)) expect([host, status]).toEqual([host, 200]);
  const others =
    'evil.example.org:8099 127.0.0.1.evil.example.org localhost.evil.example.org:8099 x.heat.example.org pi.local.evil.example.org';
  for (const host of others.split(' '))
    for (const { status, text } of await answers(host))
      expect([host, status, text]).toEqual([host, 421, expect.stringContaining('web.hosts')]);
});

test.each<[string, IncomingHttpHeaders, number]>([
  ['no browser', {}, 200],
  ['the page itself', { origin: 'http://pi.local:8099', 'sec-fetch-site': 'same-origin' }, 200],
  ['a proxy left the usual port out', { host: 'pi.local:443', origin: 'https://pi.local' }, 200],
  ['another port of this machine', { origin: 'http://pi.local:8123' }, 403],
  ['another page', { origin: 'https://evil.example.org' }, 403],
  ['a page in a sandbox', { origin: 'null' }, 403],
  ['another page without an Origin', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a page of the same site', { 'sec-fetch-site': 'same-site' }, 403],
  ['a link that was pressed', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 403],
])('judges a request by its Origin when it comes from %s', async (_, more, status) => {
  const { ask } = await openServer();
  const headers = { host: 'pi.local:8099', ...more };
  // A frame of another page would be a link, too.
  expect((await ask('/request/refresh', { ...POST, headers })).status).toBe(status);
  expect((await ask('/report.txt', { headers })).status).toBe(status);
  expect((await ask('/', { headers })).status).toBe(headers['sec-fetch-mode'] === 'navigate' ? 200 : status);
});

test('asks for no password, takes any name and may be framed when it is opened by ingress', async () => {
  const { ask } = await openServer({ isIngress: true });
  const host = 'x1y2.ui.example.org';
  const page = await ask('/', { headers: { host, 'sec-fetch-site': 'same-origin' } });
  expect([page.status, page.headers['x-frame-options']]).toEqual([200, 'SAMEORIGIN']);
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'self'");
  for (const [headers, status] of [
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'https://evil.example.org' }, 403],
    [{ origin: 'null' }, 403],
    // Neither has a name: they are not the same.
    [{ origin: 'null', host: '[' }, 403],
    [{ origin: `https://${host}:8443` }, 200],
    [{ host: 'supervisor', 'x-forwarded-host': host, origin: `https://${host}` }, 200],
  ] as const)
    expect((await ask('/request/refresh', { ...POST, headers: { host, ...headers } })).status).toBe(status);
});

test('gives only the page itself and the way to sign in when there is no session', async () => {
  const { ask, lines } = await openServer({ readPassword });
  for (const path of FILES) expect((await ask(path)).status).toBe(200);
  for (const path of GUARDED) {
    const answer = await ask(path);
    expect([path, answer.status, JSON.parse(answer.text).error.code]).toEqual([path, 401, 'sign_in']);
  }
  for (const path of ['/request/refresh', '/sign-in/home/password'])
    expect((await ask(path, POST)).status).toBe(401);
  expect(JSON.parse((await ask('/session')).text)).toEqual({
    version: '1.2.3',
    signedIn: false,
    needsPassword: true,
  });
  expect(lines).toEqual([]);
});

test('ends a session when the reader signs out, when it is old and when the password is another', async () => {
  let password: string | null = PASSWORD;
  const { ask, signIn, clock } = await openServer({
    async readPassword() {
      if (password === null) throw new TypeError('gone');
      return password;
    },
  });
  const opened = await signIn(PASSWORD);
  expect([opened.status, JSON.parse(opened.text).signedIn]).toEqual([200, true]);
  expect(opened.headers['set-cookie']?.[0]).toMatch(
    /^heat2mqtt_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  const sees = async (cookie: string) => (await ask('/report.txt', { headers: { cookie } })).status === 200;
  const cookie = cookieOf(opened);
  expect(await sees(`other=1; ${cookie}`)).toBe(true);
  for (const wrong of [`${cookie.slice(0, -1)}~`, 'heat2mqtt_session=', cookie.replace('heat', 'x_heat')])
    expect(await sees(wrong)).toBe(false);
  const ended = await ask('/session', { method: 'DELETE', headers: { cookie } });
  expect([ended.status, ended.headers['set-cookie']?.[0]]).toEqual([
    204,
    'heat2mqtt_session=; Max-Age=0; Path=/',
  ]);
  expect(await sees(cookie)).toBe(false);

  const again = cookieOf(await signIn(PASSWORD));
  for (const now of ['another', null, PASSWORD]) {
    password = now;
    expect(await sees(again)).toBe(now === PASSWORD);
  }
  password = null;
  const unreadable = await signIn(PASSWORD);
  expect([unreadable.status, unreadable.text]).toEqual([503, expect.not.stringContaining('gone')]);
  password = PASSWORD;
  for (const stillSees of [true, false]) {
    clock.advance(7 * 24 * 3_600_000);
    expect(await sees(again)).toBe(stillSees);
  }
});

test('makes ten thousand guesses take days when they come from one network, and lets others not wait', async () => {
  const clock = handClock('2026-03-10T12:00:00Z');
  const sessions = createSessions(readPassword, clock);
  const began = clock.monotonic();
  let tried = 0;
  for (let n = 0; n < 10_000; n += 1) {
    const outcome = await sessions.signIn(`guess ${n}`, `2001:db8::${n}`);
    if (!('waitMs' in outcome)) throw new Error('a guess was right');
    if (outcome.isWrong) tried += 1;
    // Every other one does not wait as it was told.
    if (n % 2 === 1) clock.advance(outcome.waitMs);
  }
  expect(tried).toBeLessThan(5_010);
  expect(clock.monotonic() - began).toBeGreaterThan(3 * 24 * 3_600_000);
  expect(await sessions.signIn(PASSWORD, '2001:db8:0:1::1')).toHaveProperty('token');
  clock.advance(60_000);
  expect(await sessions.signIn(PASSWORD, '2001:db8::1')).toHaveProperty('token');
});

test('forgets a network that guesses after an hour, and not sooner when others come', async () => {
  const clock = handClock('2026-03-10T12:00:00Z');
  const sessions = createSessions(readPassword, clock);
  const guess = async (address: string) => (await sessions.signIn('a guess', address)) as { waitMs: number };
  const others = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, (_, n) => guess(`10.0.${(from + n) >> 8}.${(from + n) & 255}`)),
    );
  expect(await guess('192.0.2.7')).toMatchObject({ waitMs: 1_000 });
  await others(0, 999);
  clock.advance(1_000);
  expect(await guess('192.0.2.7')).toMatchObject({ waitMs: 2_000 });
  await others(999, 1_100);
  clock.advance(2_000);
  expect(await guess('192.0.2.7')).toMatchObject({ waitMs: 4_000 });
  clock.advance(3_600_000);
  expect(await guess('192.0.2.7')).toMatchObject({ waitMs: 1_000 });
});

test.each([
  ['192.0.2.7', '192.0.2.7', '192.0.2.8'],
  ['2001:db8::1', '2001:db8:0:0:ffff::1', '2001:db8:0:1::1'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::9', '2001:db8::9'],
  ['fe80::1%eth0', 'fe80::2%eth0', 'fe80:0:0:1::1'],
  ['::1', '0:0:0:0:9::', '0:0:0:1::1'],
])('counts %s together with %s and apart from %s when they guess', (address, same, other) => {
  expect(networkOf(same)).toBe(networkOf(address));
  expect(networkOf(other)).not.toBe(networkOf(address));
});

test.each([
  ['192.0.2.7', '192.0.2.7', '192.0.2.8'],
  ['192.0.2.0/24', '192.0.2.255', '192.0.3.0'],
  ['2001:db8::1', '2001:db8::1', '2001:db8::2'],
  ['2001:db8::/64', '2001:db8::ffff', '2001:db8:0:1::1'],
])('trusts the proxy when %s is configured and it is at %s, and not at %s', (network, inside, outside) => {
  expect([inside, outside, ''].map(within(network))).toEqual([true, false, false]);
});

test('hears one guess, and tells all how long to wait, when many come at the same moment', async () => {
  let read = (_: string) => {};
  const password = new Promise<string>((resolve) => {
    read = resolve;
  });
  const sessions = createSessions(() => password, handClock('2026-03-10T12:00:00Z'));
  const guesses = Array.from({ length: 20 }, (_, n) => sessions.signIn(`guess ${n}`, '192.0.2.7'));
  read(PASSWORD);
  const outcomes = await Promise.all(guesses);
  expect(outcomes.filter((outcome) => 'isWrong' in outcome && outcome.isWrong)).toHaveLength(1);
  for (const outcome of outcomes) expect(outcome).toHaveProperty('waitMs', 1_000);
});

test('counts each visitor apart, however the proxy writes the address, when it stands behind a trusted proxy', async () => {
  const { signIn, clock } = await openServer({ readPassword, trustedProxy: '127.0.0.0/8' });
  const answer = async (password: string, address: string) => {
    const way = { host: 'pi', 'x-forwarded-for': `10.9.9.9, ${address}` };
    const { status, headers } = await signIn(password, way);
    return `${status} ${headers['retry-after']}`;
  };
  for (const [first, ...same] of [
    ['192.0.2.7:1000', '192.0.2.7:1001', '192.0.2.7'],
    ['[2001:db8::1]:1000', '[2001:db8::1]', '2001:db8::1'],
    ['unknown', '_hidden', '127.0.0.1'],
  ] as const) {
    expect(await answer('wrong', first)).toBe('401 1');
    for (const address of same) {
      // Whole seconds, and none too few.
      clock.advance(300);
      expect(await answer('wrong', address)).toBe('429 1');
    }
  }
  expect(await answer(PASSWORD, '192.0.2.8')).toBe('200 undefined');
});

const PROXIED = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' };

test.each<[string, IncomingHttpHeaders, string | undefined, boolean, boolean]>([
  ['loopback', {}, undefined, true, false],
  ['a proxy that is not configured', PROXIED, undefined, false, false],
  ['a proxy with TLS', PROXIED, '127.0.0.1', true, true],
  ['a proxy without TLS', { ...PROXIED, 'x-forwarded-proto': 'http' }, '127.0.0.1', false, false],
  ['a scheme that the client has made up', { 'x-forwarded-proto': 'https, http' }, '127.0.0.1', false, false],
])(
  'says whether passwords may be typed when the visitor comes by %s',
  async (_, headers, trustedProxy, mayTypePasswords, isSecure) => {
    const { ask, signIn } = await openServer({ readPassword, trustedProxy });
    const opened = await signIn(PASSWORD, headers);
    expect(opened.headers['set-cookie']?.[0]?.includes('; Secure')).toBe(isSecure);
    const { text } = await ask('/sign-in', { headers: { ...headers, cookie: cookieOf(opened) } });
    expect(JSON.parse(text)).toBe(mayTypePasswords);
  },
);

test('believes a forwarded host when a trusted proxy tells it, and shows nothing behind one without a password', async () => {
  const made = { host: '127.0.0.1:8099', 'x-forwarded-host': 'evil.example.org' };
  for (const [trustedProxy, status] of [
    ['127.0.0.1', 421],
    ['10.0.0.0/8', 200],
    [undefined, 200],
  ] as const) {
    const { ask } = await openServer({ trustedProxy });
    expect((await ask('/', { headers: made })).status).toBe(status);
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    for (const path of [...FILES, ...GUARDED]) expect((await ask(path, { headers })).status).toBe(403);
  }
});

test('logs a fault once an hour when the page cannot be served, and none when a visitor breaks off', async () => {
  const { port, ask, lines } = await openServer({
    routes: { 'POST /request/:name': () => Promise.reject(new TypeError('oops')) },
  });
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{');
  await ask('/session');
  socket.destroy();
  for (let n = 0; n < 3; n += 1) expect((await ask('/request/x', POST)).status).toBe(500);
  expect(lines.map((line) => JSON.parse(line).err.type)).toEqual(['TypeError']);
});

test('compresses files when the browser takes that, and does not send them again when it has them', async () => {
  const { ask } = await openServer();
  const first = await ask('/');
  expect([first.text, first.headers['content-type']]).toEqual(['of index.html', 'text/html; charset=utf-8']);
  expect(first.headers).toMatchObject({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  });
  expect((await ask('/session')).headers['cache-control']).toBe('no-store');
  const same = await ask('/', { headers: { 'if-none-match': first.headers.etag } });
  expect([same.status, same.text]).toEqual([304, '']);
  const zipped = await ask('/page.js', { headers: { 'accept-encoding': 'br, gzip' } });
  expect(zipped.headers['content-encoding']).toBe('gzip');
  const words = await ask('/words', { headers: { 'accept-language': 'de-AT, en;q=0.5' } });
  expect(JSON.parse(words.text).language).toBe('de');
  expect(words.headers.vary).toBe('accept-encoding, accept-language');
});

test('refuses when another path is asked for or a body is too long', async () => {
  const { ask, signIn } = await openServer({ readPassword });
  const headers = { cookie: cookieOf(await signIn(PASSWORD)) };
  for (const path of ['/index.html', '/../package.json', '/..%2fpackage.json', '/toString', '/sign-in/home'])
    expect((await ask(path, { headers })).status).toBe(404);
  const post = async (path: string, length: number) =>
    (await ask(path, { ...POST, headers, body: 'x'.repeat(length) })).status;
  for (const path of ['/request/refresh', '/session']) expect(await post(path, 2_000_000)).toBe(413);
  expect(await post('/request/refresh', 16_384)).toBe(200);
  expect(await post('/request/refresh', 16_385)).toBe(413);
  for (const body of ['', '[]', '{"password":7}', 'null', 'nonsense'])
    expect((await ask('/session', { ...POST, body })).status).toBe(400);
});
