// The issuer on the wire: requests, grants, and every kind of answer that is not OpenID Connect.
import { beforeEach, describe, expect, test } from 'vitest';
import type { IssuerMemory } from '../../src/auth/issuerClient.ts';
import { GrantUnusable } from '../../src/auth/issuerTrouble.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { trustIn } from '../../src/http/trust.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { look } from '../simulator/visitor.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { type Account, DISCOVERY_PATH, idTokenWith, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

const headers = { 'content-type': 'text/html' };
const html = (status: number): Fault => ({ kind: 'reply', status, body: '<h1>Sorry</h1>', headers });
const changed = (over: Record<string, unknown>): Fault => ({
  kind: 'change',
  change: (body) => ({ ...Object(body), ...over }),
});

describe('when nothing is wrong', () => {
  test('asks for the metadata once when it is used again and again', async () => {
    const issuer = account.issuer();
    const first = await issuer.login('me@example.org', 'demo');
    expect(first).toMatchObject({ expiresInSeconds: 1800, refreshExpiresInSeconds: 2100 });
    const second = await issuer.refresh(first.refreshToken ?? '');
    expect(second.accessToken).not.toBe(first.accessToken);
    const { requests } = account.simulator;
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST']);
    expect(requests[1]?.body).toEqual({
      grant_type: 'password',
      client_id: 'self-care',
      username: 'me@example.org',
      password: '***',
      scope: 'openid service-energy',
    });
    expect(look(requests[2]?.body, 'grant_type')).toBe('refresh_token');
    expect(requests[2]?.userAgent).toMatch(/^heat2mqtt\//);
    // A wrong password is no sign that the endpoint has moved.
    expect(await refusalOf(issuer.login('me@example.org', 'no'))).toMatchObject({ about: 'password' });
    expect(requests.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  // The library looks at the real clock; the issuer's is 1970 or 2099.
  test.each(['1970-01-01T00:01:00Z', '2099-01-01T00:00:00Z'])(
    'the times in the id_token do not matter: %s',
    async (at) => {
      const elsewhere = (await openAccount(at)).issuer();
      await elsewhere.login('me@example.org', 'demo');
    },
  );

  test.each([
    [{ expires_in: 0 }, { expiresInSeconds: 60 }],
    [{ expires_in: '1800' }, { expiresInSeconds: 1800 }],
    [{ refresh_expires_in: 0 }, { refreshExpiresInSeconds: null }],
    [{ refresh_expires_in: 'soon' }, { refreshExpiresInSeconds: null }],
    [{ refresh_token: undefined }, { refreshToken: null }],
    [{ id_token: undefined, scope: undefined, session_state: undefined }, { expiresInSeconds: 1800 }],
  ])('a reply with %o', async (over, expected) => {
    account.simulator.switches.fault(TOKEN_PATH, changed(over));
    expect(await account.issuer().login('me@example.org', 'demo')).toMatchObject(expected);
  });
});

const NOT_OPENID: readonly (readonly [string, Fault, RegExp])[] = [
  ['HTML 503', FAULTS.htmlUnavailable, /HTTP 503 \(text\/html\)/],
  ['HTML 401', html(401), /HTTP 401/],
  ['an empty body', FAULTS.empty, /else than JSON/],
  ['a captive page', FAULTS.captivePage, /HTTP 200 \(text\/html\)/],
  ['another object', { kind: 'reply', status: 200, body: { ok: true } }, /./],
  ['half a reply', { kind: 'truncated' }, /JSON/],
  ['a reply that breaks off', { kind: 'reset_mid_body' }, /could not be reached/],
  ['a hang', { kind: 'hang' }, /did not answer in time/],
  ['too many requests', tooMany(120), /HTTP 429.*passes by itself/],
  ['a flood', FAULTS.oversized, /gave a reply with more than 2 MiB/],
  ['a realm that is not there', FAULTS.notFound, /realm may be mistyped/],
];

test.each([
  ['token endpoint', TOKEN_PATH],
  ['metadata', DISCOVERY_PATH],
])('no OpenID Connect at the %s: said in words, and over with the trouble', async (_, path) => {
  for (const [name, fault, words] of NOT_OPENID) {
    const memory = { metadata: null };
    const issuer = account.issuer({ memory, ...(fault.kind === 'hang' ? { timeout_seconds: 0.05 } : {}) });
    const rule = account.simulator.switches.fault(path, fault);
    for (const asking of [() => issuer.login('me@example.org', 'demo'), () => issuer.refresh('any')]) {
      const err = await refusalOf(asking());
      expect(err, name).toHaveProperty('code', 'issuer_unreachable');
      expect(`${err} ${Object(err).hint}`, name).toMatch(words);
      expect(err, name).toHaveProperty('retry', expect.stringMatching(/^(soon|later)$/));
      expect(String(err), name).not.toMatch(/demo|eyJ|me@example/);
    }
    rule.remove();
    const recovered = account.issuer({ memory });
    const granted = await recovered.login('me@example.org', 'demo');
    expect(granted, name).toMatchObject({ expiresInSeconds: 1800 });
  }
});

test.each([
  [
    'another name',
    { issuer: 'https://elsewhere.example.org' },
    'calls itself by another address than provider.issuer',
    'a slash at the end',
  ],
  [
    'no token endpoint',
    { token_endpoint: undefined },
    'names no usable token_endpoint in its metadata',
    'provider.issuer',
  ],
  [
    'a token endpoint of another protocol',
    { token_endpoint: 'ftp://elsewhere.example.org/token' },
    'names no usable address in its metadata',
    'provider.issuer',
  ],
  [
    'a name that is no address',
    { issuer: 'energy' },
    'names no usable address in its metadata',
    'provider.issuer',
  ],
])('metadata with %s: no network trouble, and no password is sent', async (_, over, words, hint) => {
  account.simulator.switches.fault(DISCOVERY_PATH, changed(over));
  const err = await refusalOf(account.issuer().login('me@example.org', 'demo'));
  expect(err).toMatchObject({
    code: 'issuer_unreachable',
    message: `The issuer ${words}.`,
    hint: expect.stringContaining(hint),
  });
  expect(account.asked().logins).toBe(0);
});

test.each([
  ['another issuer', { iss: 'https://elsewhere.example.org' }, '"iss"', 'provider.issuer'],
  ['another client', { aud: 'somebody-else' }, '"aud"', 'provider.client_id'],
  ['no subject', { sub: undefined }, 'OAUTH_INVALID_RESPONSE', 'provider.issuer'],
])('an id_token for %s is an answer that does not fit', async (_, over, what, where) => {
  account.simulator.switches.fault(TOKEN_PATH, idTokenWith(over));
  const err = await refusalOf(account.issuer().login('me@example.org', 'demo'));
  expect(err).toBeInstanceOf(GrantUnusable);
  expect(err).toMatchObject({ retry: 'later', hint: expect.stringContaining(where) });
  account.log.error({ err }, 'no tokens in the log');
  expect(account.lines.join('')).not.toContain('eyJ');
  expect(String(err)).toContain('The issuer answered, but');
  expect(String(err)).toContain(what);
  expect(String(err)).not.toMatch(/elsewhere|somebody/);
});

test.each([
  ['a token of another type', { token_type: 'mac' }],
  ['an id_token that is no JWT', { id_token: 'a.b.c' }],
])('%s is an answer that does not fit', async (_, over) => {
  account.simulator.switches.fault(TOKEN_PATH, changed(over));
  const err = await refusalOf(account.issuer().login('me@example.org', 'demo'));
  expect(err).toBeInstanceOf(GrantUnusable);
  expect(String(err)).toContain('The issuer answered, but');
});

test('blames the file of authorities, not the issuer, when it is none by now', async () => {
  const trust = trustIn('provider.ca_file', '/nowhere/ca.pem');
  const { fetch } = createHttpClient(account.clock, undefined, undefined, trust);
  const issuer = account.issuer({ issuer: 'https://localhost:1/realms/energy', fetch });
  const err = await refusalOf(issuer.login('me@example.org', 'demo'));
  expect(err).toMatchObject({ code: 'ca_file_unusable', exitCode: 3, hint: expect.stringContaining('PEM') });
});

describe('a token endpoint that has moved', () => {
  test('is looked up at once, and blames no password, when its old address answers 404', async () => {
    const { token } = account.simulator.switches;
    const issuer = account.issuer();
    const { refreshToken } = await issuer.login('me@example.org', 'demo');
    token.hasMoved = true;
    await expect(issuer.refresh(refreshToken ?? '')).resolves.toMatchObject({ expiresInSeconds: 1800 });
    account.clock.advance(180_000);
    token.hasMoved = false;
    await expect(issuer.login('me@example.org', 'demo')).resolves.toMatchObject({ expiresInSeconds: 1800 });
  });

  test('is looked up at once when another account has dropped the shared metadata meanwhile', async () => {
    const memory: IssuerMemory = { metadata: null };
    const { fetch } = createHttpClient(account.clock);
    const issuer = account.issuer({
      memory,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (response.status === 404) memory.metadata = null;
        return response;
      },
    });
    const { refreshToken } = await issuer.login('me@example.org', 'demo');
    account.simulator.switches.token.hasMoved = true;
    await expect(issuer.refresh(refreshToken ?? '')).resolves.toMatchObject({ expiresInSeconds: 1800 });
  });

  test.each<[string, Fault, string]>([
    ['refuses the client', FAULTS.clientRefused, 'client_refused'],
    [
      'is not there',
      { kind: 'reply', status: 404, body: { error: 'Realm does not exist' } },
      'issuer_unreachable',
    ],
  ])(
    'an issuer that %s is asked for its metadata every few minutes, by however many accounts',
    async (_, fault, code) => {
      const memory = { metadata: null };
      account.simulator.switches.fault(TOKEN_PATH, fault);
      const discoveries = () =>
        account.simulator.requests.filter(({ path }) => path.startsWith(DISCOVERY_PATH)).length;
      for (let minute = 0; minute < 6; minute += 1) {
        for (let count = 0; count < 2; count += 1) {
          const issuer = account.issuer({ memory });
          expect(await refusalOf(issuer.login('me@example.org', 'demo'))).toMatchObject({ code });
        }
        account.clock.advance(60_000);
      }
      expect(discoveries()).toBe(1 + 2);
    },
  );
});

test('says that the issuer has moved, and sends nothing elsewhere, when it redirects', async () => {
  account.simulator.switches.fault(DISCOVERY_PATH, {
    kind: 'reply',
    status: 301,
    body: '',
    headers: { location: 'https://login.example.org/realms/energy' },
  });
  const refusal = await refusalOf(account.issuer().login('me@example.org', 'demo'));
  const message = expect.stringMatching(/redirects to another address \(HTTP 301\)/);
  expect(refusal).toMatchObject({ code: 'issuer_unreachable', message });
  expect(account.asked().logins).toBe(0);
});

test('waits for another one-time code when offline_access is refused after the first', async () => {
  const { clock, simulator } = account;
  const codeNow = () => String(Math.floor(clock.now() / 30_000) % 1e6).padStart(6, '0');
  simulator.switches.token.offlineAccess = 'user_may_not';
  simulator.switches.token.oneTimeCodes.set('me@example.org', codeNow);
  const issuer = account.issuer({ offline_access: true, codeSeconds: 60 });
  const login = issuer.login('me@example.org', 'demo', async () => codeNow());
  await account.pass(60_000);
  await expect(login).resolves.toMatchObject({ expiresInSeconds: 1800 });
  expect(account.messages('warn')).toEqual([expect.stringContaining('offline_access')]);
});

test('asks again without offline_access when that is refused, not when the password is', async () => {
  const issuer = account.issuer({ offline_access: true });
  expect(await refusalOf(issuer.login('me@example.org', 'no'))).toMatchObject({ about: 'password' });
  expect(account.asked().logins).toBe(1);
  account.simulator.switches.token.offlineAccess = 'user_may_not';
  for (const logins of [3, 4]) {
    await issuer.login('me@example.org', 'demo');
    expect(account.asked().logins).toBe(logins);
  }
});

test('asks for consent when a sign-in wants offline_access, and takes no answer to another sign-in', async () => {
  const redirect = 'https://home.example.org/callback';
  const issuer = account.issuer();
  const { issuer: iss } = account.simulator.urls;
  const prompt = async (scope: string) =>
    (await issuer.beginCodeFlow(redirect, scope)).url.searchParams.get('prompt');
  expect(await prompt('openid service-energy')).toBeNull();
  expect(await prompt('openid offline_access')).toBe('consent');
  const { finish } = await issuer.beginCodeFlow(redirect, 'openid');
  const answer = new URLSearchParams({ code: 'brought-by-another', state: 'another', iss });
  await refusalOf(finish(new URL(`${redirect}?${answer}`)));
  expect(account.simulator.requests.filter(({ method }) => method === 'POST')).toEqual([]);
});

test('expects no id_token when the scope asks for none', async () => {
  const nonceFor = async (scope: string) =>
    (await account.issuer().beginCodeFlow('https://home.example.org/callback', scope)).url.searchParams.has(
      'nonce',
    );
  expect([await nonceFor('openid service-energy'), await nonceFor('service-energy')]).toEqual([true, false]);
});

test('says that the session stays when the issuer offers no way to end it', async () => {
  account.simulator.switches.fault(DISCOVERY_PATH, changed({ revocation_endpoint: undefined }));
  const refusal = await refusalOf(account.issuer().endSession('some-token'));
  expect(refusal).toMatchObject({ code: 'no_revocation', exitCode: 5 });
  expect(account.simulator.counters.revocations).toBe(0);
});
