// Who may see the page: names, origins, passwords, cookies, and what a browser is told to keep to.
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createSessions } from '../../src/web/sessions.ts';
import { handClock } from '../support/clock.ts';
import { type Asked, cookieOf, openServer, PASSWORD } from './served.ts';

const readPassword = async () => PASSWORD;
const PATHS = [
  '/events',
  '/ledger.csv?meter=m1',
  '/report.txt',
  '/energy-dashboard',
  '/metrics',
  '/sign-in',
  '/nothing',
];

test.each([
  ['an IPv4 address', '192.168.1.20:8099', 200],
  ['an IPv6 address', '[fe80::1]:8099', 200],
  ['localhost', 'localhost:8099', 200],
  ['the own name', 'pi:8099', 200],
  ['the own name on the local network', 'PI.local', 200],
  ['with a dot at its end', 'pi.local.:8099', 200],
  ['a configured name', 'heat.example.org', 200],
  ['a name that was pointed here', 'evil.example.org:8099', 421],
  ['a name that only looks like an address', '127.0.0.1.evil.example.org', 421],
  ['a name that only begins as localhost', 'localhost.evil.example.org:8099', 421],
  ['below a configured name', 'x.heat.example.org', 421],
])('Host: %s', async (_, host, status) => {
  const { ask } = await openServer();
  for (const path of ['/', '/page.js', '/session', '/report.txt', '/metrics']) {
    const answer = await ask(path, { headers: { host } });
    expect([path, answer.status]).toEqual([path, status]);
    if (status === 421) expect(answer.text).toContain('web.hosts');
  }
});

test.each<[string, Asked['headers'], number]>([
  ['no browser', {}, 200],
  ['the page itself', { origin: 'http://pi.local:8099', 'sec-fetch-site': 'same-origin' }, 200],
  ['another port of this machine', { origin: 'http://pi.local:8123' }, 403],
  ['another page', { origin: 'https://evil.example.org' }, 403],
  ['a page in a sandbox', { origin: 'null' }, 403],
  ['another page without an Origin', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a page of the same site', { 'sec-fetch-site': 'same-site' }, 403],
  ['a link that was pressed', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 403],
])('Origin: %s', async (_, headers, status) => {
  const { ask } = await openServer();
  const own = { host: 'pi.local:8099', ...headers };
  expect((await ask('/request/refresh', { method: 'POST', headers: own })).status).toBe(status);
  const isLink = headers?.['sec-fetch-mode'] === 'navigate';
  expect((await ask('/', { headers: own })).status).toBe(isLink ? 200 : status);
  // A frame of another page would be a link, too.
  expect((await ask('/report.txt', { headers: own })).status).toBe(status);
});

test('without a session only the page itself and the way to sign in', async () => {
  const { ask, lines } = await openServer({ readPassword });
  for (const path of ['/', '/page.js', '/page.css', '/session']) expect((await ask(path)).status).toBe(200);
  for (const path of PATHS) {
    const answer = await ask(path);
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([401, 'sign_in']);
  }
  expect((await ask('/request/refresh', { method: 'POST' })).status).toBe(401);
  expect(JSON.parse((await ask('/session')).text)).toEqual({
    version: '1.2.3',
    signedIn: false,
    needsPassword: true,
    mayTypePasswords: true,
  });
  expect(lines).toEqual([expect.stringContaining('metrics refused')]);
});

test('the password opens a session, which ends with signing out, with age and with another password', async () => {
  let password = PASSWORD;
  const { ask, signIn, clock } = await openServer({ readPassword: async () => password });
  const opened = await signIn(PASSWORD);
  expect([opened.status, JSON.parse(opened.text).signedIn]).toEqual([200, true]);
  expect(opened.headers['set-cookie']?.[0]).toMatch(
    /^heat2mqtt_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  const sees = async (cookie: string) => (await ask('/report.txt', { headers: { cookie } })).status === 200;
  const cookie = cookieOf(opened);
  expect(await sees(cookie)).toBe(true);
  expect(await sees(`${cookie.slice(0, -1)}~`)).toBe(false);
  expect(await sees('heat2mqtt_session=')).toBe(false);
  expect((await ask('/session', { method: 'DELETE', headers: { cookie } })).status).toBe(204);
  expect(await sees(cookie)).toBe(false);

  const again = cookieOf(await signIn(PASSWORD));
  password = 'another';
  expect(await sees(again)).toBe(false);
  password = PASSWORD;
  expect(await sees(again)).toBe(true);
  clock.advance(15 * 24 * 3_600_000);
  expect(await sees(again)).toBe(false);
});

test('ten thousand guesses take days, from one network as from one address; nobody else waits', async () => {
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

test('of many guesses at the same moment one is heard, and all are told how long to wait', async () => {
  const clock = handClock('2026-03-10T12:00:00Z');
  let read = (_: string) => {};
  const password = new Promise<string>((resolve) => {
    read = resolve;
  });
  const sessions = createSessions(() => password, clock);
  const guesses = Array.from({ length: 20 }, (_, n) => sessions.signIn(`guess ${n}`, '192.0.2.7'));
  read(PASSWORD);
  const outcomes = await Promise.all(guesses);
  expect(outcomes.filter((outcome) => 'isWrong' in outcome && outcome.isWrong)).toHaveLength(1);
  for (const outcome of outcomes) expect(outcome).toHaveProperty('waitMs', 1_000);
});

test('who waits is told for how long, and others do not wait', async () => {
  const { signIn } = await openServer({ readPassword, trustedProxy: '127.0.0.0/8' });
  const from = (address: string) => ({ 'x-forwarded-for': `10.9.9.9, ${address}`, host: 'pi' });
  for (const status of [401, 429]) {
    const answer = await signIn('wrong', from('192.0.2.7'));
    expect([answer.status, answer.headers['retry-after']]).toEqual([status, '1']);
  }
  expect((await signIn(PASSWORD, from('192.0.2.8'))).status).toBe(200);
});

test.each<[string, Asked['headers'], string | undefined, boolean, boolean]>([
  ['loopback', {}, undefined, true, false],
  [
    'a proxy that is not configured',
    { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' },
    undefined,
    false,
    false,
  ],
  [
    'a proxy with TLS',
    { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' },
    '127.0.0.1',
    true,
    true,
  ],
  [
    'a proxy without TLS',
    { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http' },
    '127.0.0.1',
    false,
    false,
  ],
  ['a scheme that the client has made up', { 'x-forwarded-proto': 'https, http' }, '127.0.0.1', false, false],
])('passwords may be typed: %s', async (_, headers, trustedProxy, mayTypePasswords, isSecure) => {
  const { ask, signIn } = await openServer({ readPassword, trustedProxy });
  expect(JSON.parse((await ask('/session', { headers })).text)).toMatchObject({ mayTypePasswords });
  const cookie = (await signIn(PASSWORD, headers)).headers['set-cookie']?.[0] ?? '';
  expect(cookie.includes('; Secure')).toBe(isSecure);
});

test('behind a proxy its word for the host counts, and nobody else’s', async () => {
  const headers = { host: '127.0.0.1:8099', 'x-forwarded-host': 'evil.example.org' };
  expect((await (await openServer({ trustedProxy: '127.0.0.1' })).ask('/', { headers })).status).toBe(421);
  expect((await (await openServer({ trustedProxy: '10.0.0.0/8' })).ask('/', { headers })).status).toBe(200);
});

test('without a password nobody behind a proxy sees anything', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  for (const trustedProxy of [undefined, '127.0.0.1']) {
    const { ask } = await openServer({ trustedProxy });
    for (const path of ['/', '/session', ...PATHS]) expect((await ask(path, { headers })).status).toBe(403);
  }
});

test('a proxy that tells the port, or no address at all', async () => {
  const { signIn } = await openServer({ readPassword, trustedProxy: '127.0.0.1' });
  const statuses = async (...from: string[]) => {
    const answers = [];
    for (const address of from) answers.push((await signIn('wrong', { 'x-forwarded-for': address })).status);
    return answers;
  };
  expect(await statuses('192.0.2.7:1000', '192.0.2.7:1001', '192.0.2.7')).toEqual([401, 429, 429]);
  expect(await statuses('[2001:db8::1]:1000', '[2001:db8::1]', '2001:db8::1')).toEqual([401, 429, 429]);
  expect(await statuses('unknown', '_hidden', '127.0.0.1')).toEqual([401, 429, 429]);
});

test('nobody fills the log: what breaks off in a body is no fault, and a fault is told once an hour', async () => {
  const requests = { isKnown: () => true, answer: () => Promise.reject(new TypeError('oops')) };
  const { port, ask, lines } = await openServer({ requests });
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{');
  await ask('/session');
  socket.destroy();
  for (let n = 0; n < 3; n += 1) expect((await ask('/request/x', { method: 'POST' })).status).toBe(500);
  expect(lines.map((line) => JSON.parse(line).err.message)).toEqual(['oops']);
});

test('files: compressed where that is taken, and not sent again', async () => {
  const { ask } = await openServer();
  const first = await ask('/');
  expect([first.text, first.headers['content-type']]).toEqual(['of index.html', 'text/html; charset=utf-8']);
  expect(first.headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(first.headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  const same = await ask('/', { headers: { 'if-none-match': first.headers.etag } });
  expect([same.status, same.text]).toEqual([304, '']);
  const zipped = await ask('/page.js', { headers: { 'accept-encoding': 'br, gzip' } });
  expect(zipped.headers['content-encoding']).toBe('gzip');
});

test('nothing else is a file, and bodies have an end', async () => {
  const { ask, signIn } = await openServer({ readPassword });
  const cookie = cookieOf(await signIn(PASSWORD));
  for (const path of ['/index.html', '/../package.json', '/..%2fpackage.json', '/toString'])
    expect((await ask(path, { headers: { cookie } })).status).toBe(404);
  const huge = { method: 'POST', headers: { cookie }, body: 'x'.repeat(20_000) };
  expect((await ask('/request/refresh', huge)).status).toBe(413);
  for (const body of ['', '[]', '{"password":7}', 'null', 'nonsense'])
    expect((await ask('/session', { method: 'POST', body })).status).toBe(400);
  expect((await ask('/request/other', { method: 'POST', headers: { cookie } })).status).toBe(404);
});

test('a password that cannot be read lets nobody in', async () => {
  let isThere = true;
  const { ask, signIn } = await openServer({
    async readPassword() {
      if (!isThere) throw new TypeError('gone');
      return PASSWORD;
    },
  });
  const cookie = cookieOf(await signIn(PASSWORD));
  isThere = false;
  expect((await ask('/report.txt', { headers: { cookie } })).status).toBe(401);
  const answer = await signIn(PASSWORD);
  expect([answer.status, answer.text]).toEqual([503, expect.not.stringContaining('gone')]);
});
