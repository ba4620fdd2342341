// One exchange: what is sent, what each answer means, and access tokens that are refused. And the shapes of replies: keys and
// types, never a value.
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { trustIn } from '../../src/http/trust.ts';
import { shapeOf } from '../../src/provider/reply.ts';
import { createAsk, type Exchange } from '../../src/provider/request.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { refusalOf } from '../auth/account.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { holds } from '../support/property.ts';
import { openProvider, type Provider } from './home.ts';

const MEBIBYTE = 1024 * 1024;
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
/** Hardly anything on the wire. */
const manyObjects = (count: number): Fault => {
  const body = gzipSync(`[${Array(count).fill('{}').join(',')}]`);
  return { kind: 'reply', status: 200, body, headers: { 'content-encoding': 'gzip' } };
};
const deepLists = (depth: number): Fault => {
  return { kind: 'reply', status: 200, body: '['.repeat(depth) + ']'.repeat(depth) };
};
const moved: Fault = {
  kind: 'reply',
  status: 308,
  body: {},
  headers: { location: 'https://private.example.org/site' },
};
const ownType: Fault = { ...FAULTS.captivePage, headers: { 'content-type': '<title>/x' } };

test('gives the parsed answer when it is good, and sends key, name and no body', async () => {
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

test('takes any 2xx when it posts JSON below a base address that ends in slashes', async () => {
  spoil({ kind: 'reply', status: 201, body: { here: true } });
  const ask = provider.open({ baseUrl: `${provider.simulator.urls.api}//` });
  expect(await ask({ ...site, method: 'POST', body: { size: 0 } })).toEqual({ here: true });
  expect(provider.simulator.requests.at(-1)).toMatchObject({ method: 'POST', body: { size: 0 } });
});

const REFUSED = { code: 'provider_refused', retry: 'later' };
const SOON = { code: 'provider_unreachable', retry: 'soon' };
const LATER = { code: 'provider_unreachable', retry: 'later' };
const STRANGE = { code: 'unexpected_reply' };
const FLOOD = { code: 'reply_too_large', retry: 'later' };

test.each<[string, Fault, object, RegExp]>([
  ['a refusal of the question', html(400), { ...REFUSED, status: 400 }, /HTTP 400/],
  ['a refusal of the client', html(403), { ...REFUSED, status: 403 }, /HTTP 403/],
  ['any other refusal', html(418), { ...REFUSED, status: 418 }, /HTTP 418/],
  [
    'a redirect to another origin',
    moved,
    { status: 308 },
    /redirected the site to another address \(HTTP 308\)/,
  ],
  ['a time-out of the server', html(408), { ...SOON, retryAfterMs: undefined }, /HTTP 408/],
  ['too many requests', html(429), { ...LATER, retryAfterMs: undefined }, /HTTP 429/],
  ['an error of the server', html(500), { ...SOON, retryAfterMs: undefined }, /HTTP 500/],
  ['any other error', html(599), { ...SOON, retryAfterMs: undefined }, /HTTP 599/],
  ['a wait that is asked for', tooMany(120), { retryAfterMs: 120_000 }, /HTTP 429/],
  ['a wait beside an error', tooMany(120, 503), { retryAfterMs: 120_000 }, /HTTP 503/],
  ['a wait in words', tooMany('when it pleases us', 503), { retryAfterMs: undefined }, /HTTP 503/],
  [
    'a captive page',
    FAULTS.captivePage,
    STRANGE,
    /expected JSON, found \d+ characters of text\/html that are not/,
  ],
  ['nothing', FAULTS.empty, STRANGE, /found 0 characters of application\/json/],
  ['half an answer', { kind: 'truncated' }, STRANGE, /expected JSON/],
  ['a type in its own words', ownType, STRANGE, /unknown type/],
  ['a reset', { kind: 'reset' }, SOON, /No answer to the site: \w+\./],
  ['a reset in the middle of the body', { kind: 'reset_mid_body' }, SOON, /No answer to the site: \w+\./],
  [
    '17 MiB',
    FAULTS.oversized,
    FLOOD,
    /The reply to the (question for the )?site has more than 2 MiB and was refused/,
  ],
  ['many small objects', manyObjects(100_000), FLOOD, /has more than 100,000 values/],
  ['lists in one another', deepLists(65), FLOOD, /has more than 64 values in one another/],
])('asks once, and quotes nothing, when there is %s', async (_, fault, meaning, words) => {
  const rule = spoil(fault);
  const err = await refused();
  expect(err).toMatchObject({ exitCode: 5, ...meaning });
  expect(String(err)).toMatch(words);
  expect(String(err)).not.toMatch(/private|accept the terms|Dublin|<title>/);
  // Trying again is the poll's business.
  expect(provider.simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  expect(provider.clock.sleepers).toBe(0);
  rule.remove();
  expect(await provider.ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
});

test('says what a 404 means when the exchange knows it', async () => {
  const rule = spoil(html(404));
  const notFound = { message: 'There is no site.', hint: 'Build one.' };
  expect(await refused({ notFound })).toMatchObject({ ...REFUSED, status: 404, ...notFound });
  rule.remove();
  spoil(html(403));
  expect(String(await refused({ notFound }))).toContain('HTTP 403');
});

test('refuses to unpack more when an answer has over 2 MiB, such as a gzip bomb of 512 MiB', async () => {
  // Half a megabyte on the wire: many members one after the other are one valid stream.
  const member = gzipSync(Buffer.alloc(16 * 1024 * 1024, ' '));
  const body = Buffer.concat(Array.from({ length: 32 }, () => member));
  const rule = spoil({ kind: 'reply', status: 200, body, headers: { 'content-encoding': 'gzip' } });
  const before = process.memoryUsage().arrayBuffers;
  expect(await refused()).toMatchObject(FLOOD);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * MEBIBYTE);
  expect(provider.seen).toEqual([{ ms: 0, ok: false }]);
  rule.remove();
  const answer = (size: number) => spoil({ kind: 'reply', status: 200, body: `"${'x'.repeat(size - 2)}"` });
  const fits = answer(2 * MEBIBYTE);
  expect(await provider.ask(site)).toHaveLength(2 * MEBIBYTE - 2);
  fits.remove();
  answer(2 * MEBIBYTE + 1);
  expect(await refused()).toMatchObject(FLOOD);
});

test('99,999 objects in a list, and lists 64 deep, are still read', async () => {
  const rule = spoil(manyObjects(99_999));
  expect(await provider.ask(site)).toHaveLength(99_999);
  rule.remove();
  spoil(deepLists(64));
  expect(JSON.stringify(await provider.ask(site))).toHaveLength(128);
});

test('gives integers as text when they are beyond 2^53', async () => {
  spoil({ kind: 'reply', status: 200, body: '{"id":12345678901234567890,"sum":9007199254740991}' });
  expect(await provider.ask(site)).toEqual({ id: '12345678901234567890', sum: 9007199254740991 });
});

test('gives up when an answer is too late', async () => {
  spoil({ kind: 'slow', ms: 30_001 });
  const asking = refused();
  await provider.arrived(SITE);
  provider.clock.advance(29_999);
  await provider.ask({ ...site, path: '/groups' }).catch(() => undefined);
  expect(provider.seen.filter(({ ok }) => !ok)).toEqual([]);
  provider.clock.advance(1);
  const err = await asking;
  expect(err).toMatchObject(SOON);
  expect(String(err)).toContain('No answer to the site: time ran out.');
  expect(provider.seen.at(-1)).toEqual({ ms: 30_000, ok: false });
});

test('blames the file of authorities when it is none by now', async () => {
  const trust = trustIn('provider.ca_file', '/dev/null');
  const { send } = createHttpClient(provider.clock, () => undefined, undefined, trust);
  const ask = provider.open({ baseUrl: 'https://localhost:9', send });
  expect(await refusalOf(ask(site))).toMatchObject({ code: 'ca_file_unusable', exitCode: 3 });
});

test('ends when it is interrupted', async () => {
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

describe('an access token', () => {
  test('that is refused: the next is asked for, with all that were refused in this exchange', async () => {
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

  test('that is not wanted is not sent, and a 401 is a refusal like any other', async () => {
    const { clock, simulator } = provider;
    const { send } = createHttpClient(clock);
    const anonymous = createAsk({ baseUrl: simulator.urls.api, timeoutSeconds: 30, send, clock });
    expect(await refusalOf(anonymous(site))).toMatchObject({ code: 'provider_refused', status: 401 });
    expect(simulator.requests.at(-1)).toMatchObject({ path: SITE, authorized: false });
    expect(simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  });
});

test('the shape of a reply: lists become one row, with every type that was seen; a value in disguise is no key', () => {
  const objects = [
    { id: 1, name: null },
    { id: 'a', more: [true] },
  ];
  expect(shapeOf({ objects, total_num: 2 })).toEqual([
    'objects: list',
    'objects[].id: number|string',
    'objects[].more: list',
    'objects[].more[]: boolean',
    'objects[].name: null',
    'objects[]: object',
    'top: object',
    'total_num: number',
  ]);
  for (const key of ['orla@example.org', 'Órla Wood', 'CODE-5501', 'x'.repeat(80), ''])
    expect(shapeOf({ [key]: 1 })).toEqual(['<key>: number', 'top: object']);
  // Neither depth nor breadth makes it long.
  let deep: unknown = 1;
  for (let n = 0; n < 1_000; n += 1) deep = { deep };
  const broad = Object.fromEntries(Array.from({ length: 26 ** 2 }, (_, n) => [`k${n.toString(26)}`, n]));
  expect(shapeOf(deep).length).toBeLessThan(20);
  expect(shapeOf(broad).length).toBeLessThanOrEqual(250);
});

test('quotes nothing when a reply is strange', () => {
  const secret = 'Zebra-Canary';
  const leaf = fc.oneof(fc.constant(`${secret} 1`), fc.integer(), fc.boolean(), fc.constant(null));
  const key = fc.constantFrom('id', 'name', `${secret} key`);
  holds(fc.object({ key, values: [leaf], maxDepth: 5 }), (json) => {
    expect(shapeOf(json).join('\n')).not.toContain(secret);
  });
});
