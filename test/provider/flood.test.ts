// Replies that would flood the memory: plain, packed, endless in time; and bodies that only just fit.
import { beforeEach, expect, test } from 'vitest';
import { createHttpClient, ReplyTooLarge } from '../../src/http/client.ts';
import type { Exchange } from '../../src/provider/request.ts';
import { refusalOf } from '../auth/account.ts';
import { FAULTS, gzipBomb } from '../support/faults.ts';
import { openProvider, type Provider } from './home.ts';

const MEBIBYTE = 1024 * 1024;
const SITE = '/api/v1/site';
const site: Exchange = { method: 'GET', path: '/site', what: 'site' };
let provider: Provider;
beforeEach(async () => {
  provider = await openProvider();
});

test.each([
  ['17 MiB', FAULTS.oversized],
  ['a gzip bomb', gzipBomb()],
])('%s: refused, and the next reply is read', async (_, fault) => {
  provider.simulator.switches.fault(SITE, fault, { times: 1 });
  const before = process.memoryUsage().arrayBuffers;
  const err = await refusalOf(provider.ask(site));
  expect(err).toBeInstanceOf(ReplyTooLarge);
  expect(err).toMatchObject({ code: 'reply_too_large', retry: 'later', exitCode: 5 });
  expect(String(err)).toContain('16 MiB');
  // The bomb unpacks to 512 MiB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * MEBIBYTE);
  expect(provider.seen).toEqual([{ ms: 0, ok: false }]);
  expect(await provider.ask(site)).toMatchObject({ timezone: 'Europe/Dublin' });
});

test('16 MiB to the byte are still read', async () => {
  const spoil = (size: number) => {
    const body = `"${'x'.repeat(size - 2)}"`;
    provider.simulator.switches.fault(SITE, { kind: 'reply', status: 200, body }, { times: 1 });
  };
  spoil(16 * MEBIBYTE);
  expect(await provider.ask(site)).toHaveLength(16 * MEBIBYTE - 2);
  spoil(16 * MEBIBYTE + 1);
  expect(await refusalOf(provider.ask(site))).toBeInstanceOf(ReplyTooLarge);
});

test('status, headers and body arrive as they were; each request is counted with its time', async () => {
  const { clock, simulator, seen } = provider;
  const { fetch } = createHttpClient(clock, (one) => void seen.push(one));
  const headers = { 'retry-after': '7', 'x-note': 'ok' };
  simulator.switches.fault(SITE, { kind: 'reply', status: 418, body: 'teapot ☕', headers }, { times: 1 });
  simulator.switches.fault(SITE, { kind: 'slow', ms: 250 }, { times: 1 });
  const response = await fetch(`${simulator.urls.api}/site`);
  const got = [response.status, response.headers.get('retry-after'), await response.text()];
  expect(got).toEqual([418, '7', 'teapot ☕']);
  const slow = fetch(`${simulator.urls.api}/site`);
  await provider.arrived(SITE, 2);
  clock.advance(250);
  expect((await slow).status).toBe(401);
  expect(seen).toEqual([
    { ms: 0, ok: true },
    { ms: 250, ok: true },
  ]);
});

test.each([204, 304])('an answer that cannot have a body: %i', async (status) => {
  const { clock, simulator } = provider;
  simulator.switches.fault(SITE, { kind: 'reply', status, body: '' });
  const { fetch } = createHttpClient(clock);
  const response = await fetch(`${simulator.urls.api}/site`);
  expect([response.status, await response.text()]).toEqual([status, '']);
});
