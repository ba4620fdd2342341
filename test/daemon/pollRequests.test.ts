// Requests that make the daemon poll: what they accept, their cooldown, and that a backfill reads its span and nothing else.
import { expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import { Counters } from '../../src/accounts/metrics.ts';
import { type Context, Signals } from '../../src/daemon/context.ts';
import { openPoller } from '../../src/daemon/polling/poller.ts';
import { requestHandlers } from '../../src/daemon/requests/handlers.ts';
import { zone as zoneOf } from '../../src/domain/period.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { concurrencyLimit } from '../../src/foundation/limits.ts';
import type { Parameters } from '../../src/mqtt/requests.ts';
import { Topics } from '../../src/publication/topics.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

function open(fault: unknown = null) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const zone = zoneOf('Europe/Dublin');
  const { log } = logLines();
  const spans: unknown[] = [];
  const account = {
    id: 'home',
    told: {},
    upstream: { session: { status: () => ({ state: 'ok' }) } },
    history: { record: { polls: [] } },
    sharedMeters: () => [],
    retryDelayMs: () => 60_000,
    async poll(_signal: AbortSignal, span: unknown) {
      spans.push(span);
      return { account: 'home', events: [], fault, unread: [] };
    },
  } as unknown as Account;
  const context = {
    accounts: [account],
    clock,
    zone,
    log,
    topics: new Topics('heat2mqtt'),
    counters: new Counters(),
    signals: new Signals(),
    link: { publish: () => undefined },
    limit: concurrencyLimit(1),
  } as unknown as Context;
  const poller = openPoller(context);
  const nothingElse = { statistics: null, constituencies: null, tellSkipped: () => undefined };
  const bridgeStatus = { health: () => ({}) as never };
  const handlers = requestHandlers({ poller, bridgeStatus, ...nothingElse }, context);
  const handle = (parameters: Parameters, name: 'backfill' | 'refresh' | 'health' = 'backfill') =>
    handlers[name](parameters, () => undefined);
  return { handle, poller, clock, spans };
}

test.each([
  [{}, 'from: found nothing'],
  [{ from: 5 }, 'from: found 5'],
  [{ from: 'yesterday' }, 'from: found "yesterday"'],
  [{ from: '2026-02-30' }, 'from: found "2026-02-30"'],
  [{ from: '2026-03-11' }, 'from: found "2026-03-11"; allowed: a day not after 2026-03-10.'],
  [{ from: '2026-03-01', to: '2026-03-11' }, 'to: found "2026-03-11"; allowed: a day not after 2026-03-10.'],
  [{ from: '2026-03-05', to: '2026-03-04' }, 'not after 2026-03-04'],
  [{ from: 5, to: 6 }, 'from: found 5; allowed: a day as YYYY-MM-DD. to: found 6; allowed: a day as'],
  [{ from: '2026-03-05', since: 1 }, 'Unknown parameter "since"; allowed: from, to, transaction.'],
])('%j is refused, and nobody is asked', async (parameters, words) => {
  const { handle, spans } = open();
  await expect(handle(parameters)).rejects.toThrow(words);
  expect(spans).toEqual([]);
});

test.each(['refresh', 'health'] as const)(
  '%s knows no parameter, and asks nobody when it gets one',
  async (name) => {
    const { handle, spans } = open();
    await expect(handle({ verbose: true }, name)).rejects.toThrow('Unknown parameter "verbose"');
    expect(spans).toEqual([]);
  },
);

test('the span is read again, its last day included; today by default', async () => {
  const { handle, spans, clock } = open();
  const answer = await handle({ from: '2026-03-01', to: '2026-03-04' });
  expect(answer).toMatchObject({ status: 'ok', data: { from: '2026-03-01', to: '2026-03-04' } });
  clock.advance(5 * 60_000);
  await handle({ from: '2026-03-09' });
  expect(spans).toEqual([
    { from: '2026-03-01', to: '2026-03-05' },
    { from: '2026-03-09', to: '2026-03-11' },
  ]);
});

test('a second one within five minutes is skipped, and told when it may come', async () => {
  const { handle, spans } = open();
  await handle({ from: '2026-03-01' });
  expect(await handle({ from: '2026-03-01' })).toEqual({
    status: 'skipped',
    data: { reason: 'cool_down', next_at: '2026-03-10T12:05:00+00:00' },
  });
  expect(spans).toHaveLength(1);
});

test('a pause that the provider wants counts when it is longer', async () => {
  const { handle, clock } = open(
    failure('busy', 'Busy.', { exit: EXIT.provider, retry: 'later', retryAfterMs: 30 * 60_000 }),
  );
  await expect(handle({ from: '2026-03-01' })).rejects.toThrow('Busy');
  for (const minutes of [0, 6, 23]) {
    clock.advance(minutes * 60_000);
    expect(await handle({ from: '2026-03-01' })).toEqual({
      status: 'skipped',
      data: { reason: 'retry_after', next_at: '2026-03-10T12:30:00+00:00' },
    });
  }
});

test('it waits for the poll that is under way instead of getting its outcome', async () => {
  const { handle, spans, poller } = open();
  const scheduled = poller.poll();
  await handle({ from: '2026-03-01' });
  await scheduled;
  expect(spans).toEqual([undefined, { from: '2026-03-01', to: '2026-03-11' }]);
});

test('a tick while days are read again is polled afterwards, once for several ticks', async () => {
  const { handle, spans, poller } = open();
  const reading = handle({ from: '2026-03-01' });
  await Promise.all([poller.poll(), poller.poll()]);
  await reading;
  expect(spans).toEqual([{ from: '2026-03-01', to: '2026-03-11' }, undefined]);
});
