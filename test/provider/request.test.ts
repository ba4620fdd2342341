// One exchange: what is sent, what each status means, access tokens that are refused, and no JSON or no answer at all.
import { beforeEach, describe, expect, test } from 'vitest';
import { accessTokenRejected } from '../../src/auth/refusals.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { createAsk, type Exchange, ProviderRefused, UnexpectedReply } from '../../src/provider/request.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { openAccount, refusalOf } from '../auth/account.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { openProvider, type Provider } from './home.ts';

const SITE = '/api/v1/site';
const site: Exchange = { method: 'GET', path: '/site', what: 'site' };
let provider: Provider;
beforeEach(async () => {
  provider = await openProvider();
});

const spoil = (fault: Fault) => provider.simulator.switches.fault(SITE, fault);
const refused = (changes: Partial<Exchange> = {}) => refusalOf(provider.ask({ ...site, ...changes }));
const html = (status: number): Fault => ({
  kind: 'reply',
  status,
  body: '<h1>private words</h1>',
  headers: { 'content-type': 'text/html; charset=utf-8' },
});

describe('a good answer', () => {
  test('comes back parsed; the request carries key, name and no body', async () => {
    const json = await provider.ask({ ...site, query: new URLSearchParams({ a: 'b c', d: '&' }) });
    expect(json).toMatchObject({ timezone: 'Europe/Dublin' });
    expect(provider.simulator.requests.at(-1)).toMatchObject({
      method: 'GET',
      path: SITE,
      query: { a: 'b c', d: '&' },
      body: undefined,
      authorized: true,
      userAgent: expect.stringMatching(/^heat2mqtt\/\d+\.\d+\.\d+/),
    });
    expect(provider.seen).toEqual([{ ms: 0, ok: true }]);
    expect(provider.clock.sleepers).toBe(0);
  });

  test.each(['', '/', '//'])('whatever ends the base address: "%s"', async (end) => {
    const ask = provider.open({ baseUrl: provider.simulator.urls.api + end });
    expect(await ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
  });

  test('a POST carries JSON, and any 2xx will do', async () => {
    spoil({ kind: 'reply', status: 201, body: { here: true } });
    expect(await provider.ask({ ...site, method: 'POST', body: { size: 0 } })).toEqual({ here: true });
    expect(provider.simulator.requests.at(-1)).toMatchObject({ method: 'POST', body: { size: 0 } });
  });
});

describe('a status that says no', () => {
  test.each([400, 403, 404, 418])('%i: refused', async (status) => {
    spoil(html(status));
    const err = await refused();
    expect(err).toBeInstanceOf(ProviderRefused);
    expect(err).toMatchObject({ status, retry: 'later', exitCode: 5 });
    expect(String(err)).toContain(`HTTP ${status}`);
    expect(String(err)).not.toContain('private');
  });

  test.each([301, 308])('%i to another origin: not followed, and told', async (status) => {
    const body = { code: status };
    spoil({ kind: 'reply', status, body, headers: { location: 'https://private.example.org/api/v1/site' } });
    const err = await refused();
    expect(err).toMatchObject({ status, hint: expect.stringContaining('provider.api_url') });
    expect(String(err)).toContain(`redirected the site to another address (HTTP ${status})`);
    expect(String(err)).not.toContain('private');
  });

  test.each([
    [408, 'soon'],
    [429, 'later'],
    [500, 'soon'],
    [599, 'soon'],
  ])('%i: not now, again %s', async (status, retry) => {
    spoil(html(status));
    const err = await refused();
    expect(err).toHaveProperty('code', 'provider_unreachable');
    expect(err).toMatchObject({ retry, retryAfterMs: undefined, exitCode: 5 });
    expect(String(err)).toContain(`HTTP ${status}`);
  });

  test.each([
    [120, 429, 120_000],
    ['Tue, 10 Mar 2026 12:05:00 GMT', 503, 300_000],
    [999_999_999, 503, 1_800_000],
    ['when it pleases us', 503, undefined],
  ])('Retry-After: %s', async (value, status, retryAfterMs) => {
    spoil(tooMany(value, status));
    expect(await refused()).toMatchObject({ retryAfterMs });
  });

  test('it is asked once: trying again is the poll’s business', async () => {
    spoil(FAULTS.serverError);
    await refused();
    expect(provider.simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  });
});

describe('an access token that is refused', () => {
  test('the next is asked for, with all that were refused in this exchange', async () => {
    const told: string[][] = [];
    const ask = provider.open({
      accessToken: async (rejected) => {
        told.push([...rejected]);
        return rejected.length < 2 ? `bad-${rejected.length}` : provider.token;
      },
    });
    expect(await ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
    expect(await ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
    const once = [[], ['bad-0'], ['bad-0', 'bad-1']];
    expect(told).toEqual([...once, ...once]);
  });

  test('with the real session: one refresh, one login, then an end', async () => {
    const account = await openAccount();
    const { session } = account.start();
    await session.accessToken();
    await session.accepted();
    const ask = provider.open({
      baseUrl: account.simulator.urls.api,
      accessToken: (rejected) => session.accessToken(rejected),
    });
    account.simulator.switches.fault(SITE, FAULTS.unauthorized);
    expect(await refusalOf(ask(site))).toMatchObject({ code: 'key_rejected' });
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(account.simulator.counters.requests[`GET ${SITE}`]).toBe(3);
    account.simulator.switches.clearFaults();
    expect(await ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
  });

  test('where no access token is wanted none is sent, and a 401 is a refusal like any other', async () => {
    const { clock, simulator } = provider;
    const { send } = createHttpClient(clock);
    const anonymous = createAsk({ baseUrl: simulator.urls.api, timeoutSeconds: 30, send, clock });
    expect(await refusalOf(anonymous(site))).toMatchObject({ code: 'provider_refused', status: 401 });
    expect(simulator.requests.at(-1)).toMatchObject({ path: SITE, authorized: false });
    expect(simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  });

  test('an access token that cannot be had ends the exchange before it begins', async () => {
    const ask = provider.open({ accessToken: () => Promise.reject(accessTokenRejected()) });
    expect(await refusalOf(ask(site))).toMatchObject({ code: 'key_rejected' });
    expect(provider.seen).toEqual([]);
  });
});

describe('no JSON', () => {
  test.each<[string, Fault, RegExp]>([
    ['a captive page', FAULTS.captivePage, /expected JSON, found \d+ characters of text\/html that are not/],
    ['nothing', FAULTS.empty, /found 0 characters of application\/json/],
    ['half of it', { kind: 'truncated' }, /expected JSON/],
    ['NaN', { kind: 'reply', status: 200, body: '{"value": NaN}' }, /expected JSON/],
    [
      'a type in its own words',
      { ...FAULTS.captivePage, headers: { 'content-type': '<title>/x' } },
      /unknown type/,
    ],
    ['no content', { kind: 'reply', status: 204, body: '' }, /found 0 characters/],
  ])('%s is told, not quoted', async (_, fault, words) => {
    spoil(fault);
    const err = await refused();
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toMatch(words);
    expect(String(err)).not.toMatch(/accept the terms|Dublin|<title>/);
  });
});

describe('no answer', () => {
  test.each<[string, Fault]>([
    ['a reset', { kind: 'reset' }],
    ['a lost reply', { kind: 'reply_lost' }],
    ['a reset in the middle of the body', { kind: 'reset_mid_body' }],
  ])('%s', async (_, fault) => {
    spoil(fault);
    const err = await refused();
    expect(err).toHaveProperty('code', 'provider_unreachable');
    expect(err).toHaveProperty('retry', 'soon');
    expect(String(err)).toMatch(/No answer to the site: \w+\./);
    expect(provider.seen).toEqual([{ ms: 0, ok: false }]);
    expect(provider.clock.sleepers).toBe(0);
  });

  test('a refused connection', async () => {
    await provider.simulator.stop();
    expect(String(await refused())).toContain('ECONNREFUSED');
  });

  test.each(['hang', 'slow'] as const)('too late: %s', async (kind) => {
    spoil(kind === 'hang' ? { kind } : { kind, ms: 30_001 });
    const asking = refused();
    await provider.arrived(SITE);
    provider.clock.advance(29_999);
    await provider.ask({ ...site, path: '/groups' }).catch(() => undefined);
    expect(provider.seen.filter(({ ok }) => !ok)).toEqual([]);
    provider.clock.advance(1);
    const err = await asking;
    expect(err).toHaveProperty('code', 'provider_unreachable');
    expect(String(err)).toContain('No answer to the site: time ran out.');
    expect(provider.seen.at(-1)).toEqual({ ms: 30_000, ok: false });
  });

  test('interrupted by who asked', async () => {
    const stop = new AbortController();
    spoil({ kind: 'hang' });
    const asking = refused({ signal: stop.signal });
    await provider.arrived(SITE);
    stop.abort();
    expect(String(await asking)).toContain('interrupted');
    expect(provider.clock.sleepers).toBe(0);
    expect(String(await refused({ signal: AbortSignal.abort() }))).toContain('interrupted');
    expect(provider.simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  });
});
