// Exchanges that bring no JSON, no whole answer, or none in time.
import { beforeEach, describe, expect, test } from 'vitest';
import { type Exchange, ProviderUnreachable, UnexpectedReply } from '../../src/provider/request.ts';
import { FAULTS, type Fault } from '../../src/simulator/faults.ts';
import { refusalOf } from '../auth/account.ts';
import { openProvider, type Provider } from './home.ts';

const SITE = '/api/v1/site';
const site: Exchange = { method: 'GET', path: '/site', what: 'site' };
let provider: Provider;
beforeEach(async () => {
  provider = await openProvider();
});

const refused = (changes: Partial<Exchange> = {}) => refusalOf(provider.ask({ ...site, ...changes }));

describe('no JSON', () => {
  test.each<[string, Fault, RegExp]>([
    ['a captive page', FAULTS.captivePage, /expected JSON, found \d+ characters of text\/html that are not/],
    ['nothing', FAULTS.empty, /found 0 characters of application\/json/],
    ['half of it', { kind: 'truncated' }, /expected JSON/],
    ['NaN', { kind: 'reply', status: 200, body: '{"value": NaN}' }, /expected JSON/],
    ['no content', { kind: 'reply', status: 204, body: '' }, /found 0 characters/],
  ])('%s is told, not quoted', async (_, fault, words) => {
    provider.simulator.switches.fault(SITE, fault);
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
    provider.simulator.switches.fault(SITE, fault);
    const err = await refused();
    expect(err).toBeInstanceOf(ProviderUnreachable);
    expect(err).toMatchObject({
      retry: 'soon',
      message: expect.stringMatching(/No answer to the site: \w+\./),
    });
    expect(provider.seen).toEqual([{ ms: 0, ok: false }]);
    expect(provider.clock.sleepers).toBe(0);
  });

  test('nobody at home', async () => {
    await provider.simulator.stop();
    expect(String(await refused())).toContain('ECONNREFUSED');
  });

  test.each(['hang', 'slow'] as const)('too late: %s', async (kind) => {
    provider.simulator.switches.fault(SITE, kind === 'hang' ? { kind } : { kind, ms: 30_001 });
    const asking = refused();
    await provider.arrived(SITE);
    provider.clock.advance(29_999);
    await provider.ask({ ...site, path: '/groups' }).catch(() => undefined);
    expect(provider.seen.filter(({ ok }) => !ok)).toEqual([]);
    provider.clock.advance(1);
    const err = await asking;
    expect(err).toBeInstanceOf(ProviderUnreachable);
    expect(String(err)).toContain('No answer to the site: time ran out.');
    expect(provider.seen.at(-1)).toEqual({ ms: 30_000, ok: false });
  });

  test('interrupted by who asked', async () => {
    const stop = new AbortController();
    provider.simulator.switches.fault(SITE, { kind: 'hang' });
    const asking = refused({ signal: stop.signal });
    await provider.arrived(SITE);
    stop.abort();
    expect(String(await asking)).toContain('interrupted');
    expect(provider.clock.sleepers).toBe(0);
    expect(String(await refused({ signal: AbortSignal.abort() }))).toContain('interrupted');
    expect(provider.simulator.counters.requests[`GET ${SITE}`]).toBe(1);
  });
});
