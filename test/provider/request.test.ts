// One exchange: what is sent, what each status means, waiting times, and keys that are refused.
import { beforeEach, describe, expect, test } from 'vitest';
import { AccessTokenRejected } from '../../src/auth/refusals.ts';
import { HttpClient } from '../../src/http/client.ts';
import {
  createAsk,
  type Exchange,
  ProviderRefused,
  ProviderUnreachable,
} from '../../src/provider/request.ts';
import { FAULTS, type Fault, tooMany } from '../../src/simulator/faults.ts';
import { openAccount, refusalOf } from '../auth/account.ts';
import { openProvider, type Provider } from './home.ts';

const SITE = '/api/v1/site';
const site: Exchange = { method: 'GET', path: '/site', what: 'site' };
let provider: Provider;
beforeEach(async () => {
  provider = await openProvider();
});

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

  test('any 2xx will do', async () => {
    provider.simulator.switches.fault(SITE, { kind: 'reply', status: 201, body: { here: true } });
    expect(await provider.ask(site)).toEqual({ here: true });
  });

  test('a POST carries JSON', async () => {
    provider.simulator.switches.fault('/api/v1/reports', { kind: 'reply', status: 200, body: {} });
    await provider.ask({ method: 'POST', path: '/reports/usage', body: { size: 0 }, what: 'usage report' });
    expect(provider.simulator.requests.at(-1)).toMatchObject({ method: 'POST', body: { size: 0 } });
  });
});

describe('a status that says no', () => {
  test.each([400, 403, 404, 405, 409, 410, 418, 422])('%i: refused', async (status) => {
    provider.simulator.switches.fault(SITE, html(status));
    const err = await refused();
    expect(err).toBeInstanceOf(ProviderRefused);
    expect(err).toMatchObject({ status, retry: 'later', exitCode: 5 });
    expect(String(err)).toContain(`HTTP ${status}`);
    expect(String(err)).not.toContain('private');
  });

  test.each([
    [408, 'soon'],
    [429, 'later'],
    [500, 'soon'],
    [502, 'soon'],
    [503, 'soon'],
    [504, 'soon'],
    [599, 'soon'],
  ])('%i: not now, again %s', async (status, retry) => {
    provider.simulator.switches.fault(SITE, html(status));
    const err = await refused();
    expect(err).toBeInstanceOf(ProviderUnreachable);
    expect(err).toMatchObject({ retry, retryAfterMs: undefined, exitCode: 5 });
    expect(String(err)).toContain(`HTTP ${status}`);
  });

  test.each([
    [120, 429, 120_000],
    ['Tue, 10 Mar 2026 12:05:00 GMT', 503, 300_000],
    [999_999_999, 503, 86_400_000],
    ['when it pleases us', 503, undefined],
  ])('Retry-After: %s', async (value, status, retryAfterMs) => {
    provider.simulator.switches.fault(SITE, tooMany(value, status));
    expect(await refused()).toMatchObject({ retryAfterMs });
  });

  test('it is asked once: trying again is the poll’s business', async () => {
    provider.simulator.switches.fault(SITE, FAULTS.serverError);
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
    const ask = provider.open({
      baseUrl: account.simulator.urls.api,
      accessToken: (rejected) => session.accessToken(rejected),
    });
    account.simulator.switches.fault(SITE, FAULTS.unauthorized);
    expect(await refusalOf(ask(site))).toBeInstanceOf(AccessTokenRejected);
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(account.simulator.counters.requests[`GET ${SITE}`]).toBe(3);
    account.simulator.switches.clearFaults();
    expect(await ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
  });

  test('where no access token is wanted none is sent, and a 401 is a refusal like any other', async () => {
    const { clock, simulator } = provider;
    const anonymous = createAsk({
      baseUrl: simulator.urls.api,
      timeoutSeconds: 30,
      send: new HttpClient(clock).send,
      clock,
    });
    expect(await refusalOf(anonymous(site))).toMatchObject({ code: 'provider_refused', status: 401 });
    expect(simulator.requests.at(-1)).toMatchObject({ path: SITE, authorized: false });
    expect(simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  });

  test('an access token that cannot be had ends the exchange before it begins', async () => {
    const ask = provider.open({ accessToken: () => Promise.reject(new AccessTokenRejected()) });
    expect(await refusalOf(ask(site))).toBeInstanceOf(AccessTokenRejected);
    expect(provider.seen).toEqual([]);
  });
});
