// Requests that make the daemon poll: what they accept, their cooldown, and that a backfill reads its span and nothing else. Which
// account reads a meter that several have, and that a retry does not follow a poll.
import { expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import type { Meter } from '../../src/accounts/meter.ts';
import { Counters } from '../../src/accounts/metrics.ts';
import { type Context, Signals } from '../../src/daemon/context.ts';
import { openPoller } from '../../src/daemon/polling/poller.ts';
import { requestHandlers } from '../../src/daemon/requests/handlers.ts';
import { zone as zoneOf } from '../../src/domain/period.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { concurrencyLimit } from '../../src/foundation/limits.ts';
import type { Message } from '../../src/mqtt/message.ts';
import type { Parameters } from '../../src/mqtt/requests.ts';
import { Topics } from '../../src/publication/topics.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

type Request = 'backfill' | 'refresh' | 'health';
const METER = { name: '70418235', ledger: { origin: '2025-01-01' }, view: () => null } as unknown as Meter;

/** `neighbour`: another account has the meter of the first one too. */
function open(fault: unknown = null, { neighbour = false } = {}) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const zone = zoneOf('Europe/Dublin');
  const { log } = logLines();
  const spans: unknown[] = [];
  const fine = (account: string) => ({ account, events: [], fault: null, unread: [] });
  const account = {
    id: 'home',
    told: {},
    isUsable: true,
    meters: [METER],
    upstream: { session: { status: () => ({ state: 'ok' }) } },
    history: { record: { polls: [] } },
    sharedMeters: () => [],
    retryDelayMs: () => 60_000,
    async poll(_signal: AbortSignal, span: unknown) {
      spans.push(span);
      return { ...fine('home'), fault, unread: fault === null ? [] : [METER] };
    },
  };
  /** What the neighbour was to read, by poll. */
  const readByNeighbour: unknown[] = [];
  const other = {
    ...account,
    id: 'next door',
    meters: [],
    sharedMeters: () => [METER],
    async poll(_signal: AbortSignal, _span: unknown, chosen: unknown) {
      readByNeighbour.push(chosen);
      return fine('next door');
    },
    readInstead: async () => ({ ...fine('next door'), fault }),
  };
  const published: Message[] = [];
  const context = {
    accounts: [account, ...(neighbour ? [other] : [])] as unknown as Account[],
    clock,
    zone,
    log,
    topics: new Topics('heat2mqtt'),
    counters: new Counters(),
    signals: new Signals(),
    link: { publish: (messages: readonly Message[]) => published.push(...messages) },
    limit: concurrencyLimit(1),
  } as unknown as Context;
  const poller = openPoller(context);
  const nothingElse = { statistics: null, constituencies: null, tellSkipped: () => undefined };
  const bridgeStatus = { health: () => ({}) as never };
  const handlers = requestHandlers({ poller, bridgeStatus, ...nothingElse }, context);
  const handle = (parameters: Parameters, name: Request = 'backfill') =>
    handlers[name](parameters, () => undefined);
  return { handle, poller, clock, spans, readByNeighbour, published };
}

test.each<[Parameters, string, Request?]>([
  [{}, 'from: found nothing'],
  [{ from: 5 }, 'from: found 5'],
  [{ from: 'yesterday' }, 'from: found "yesterday"'],
  [{ from: '2026-02-30' }, 'from: found "2026-02-30"'],
  [{ from: '2026-03-11' }, 'from: found "2026-03-11"; allowed: a day not after 2026-03-10.'],
  [{ from: '2026-03-01', to: '2026-03-11' }, 'to: found "2026-03-11"; allowed: a day not after 2026-03-10.'],
  [{ from: '2026-03-05', to: '2026-03-04' }, 'not after 2026-03-04'],
  [{ from: 5, to: 6 }, 'from: found 5; allowed: a day as YYYY-MM-DD. to: found 6; allowed: a day as'],
  [{ from: '2026-03-05', since: 1 }, 'Unknown parameter "since"; allowed: from, to, transaction.'],
  [{ verbose: true }, 'Unknown parameter "verbose"', 'refresh'],
  [{ verbose: true }, 'Unknown parameter "verbose"', 'health'],
])('%j is refused, and nobody is asked', async (parameters, words, name = 'backfill') => {
  const { handle, spans } = open();
  await expect(handle(parameters, name)).rejects.toThrow(words);
  expect(spans).toEqual([]);
});

test('the span is read again, its last day included; today by default; once within five minutes', async () => {
  const { handle, spans, clock } = open();
  const answer = await handle({ from: '2026-03-01', to: '2026-03-04' });
  expect(answer).toMatchObject({ status: 'ok', data: { from: '2026-03-01', to: '2026-03-04' } });
  const next_at = '2026-03-10T12:05:00+00:00';
  expect(await handle({ from: '2026-03-09' })).toEqual({
    status: 'skipped',
    data: { reason: 'cool_down', next_at },
  });
  clock.advance(5 * 60_000);
  await handle({ from: '2026-03-09' });
  expect(spans).toEqual([
    { from: '2026-03-01', to: '2026-03-05' },
    { from: '2026-03-09', to: '2026-03-11' },
  ]);
});

const BUSY = failure('busy', 'Busy.', { exit: EXIT.provider, retry: 'later', retryAfterMs: 30 * 60_000 });

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

test('while the provider wants no request of an account, another one reads its meter, and no request is refused', async () => {
  const { poller, spans, readByNeighbour, published } = open(BUSY, { neighbour: true });
  await poller.poll();
  // It has tried at once, in vain, which is no news.
  expect(published.map(({ payload }) => JSON.parse(payload))).toMatchObject([
    { event_type: 'poll_failed', account: 'home' },
  ]);
  expect(poller.refusal()).toBeNull();
  await poller.poll();
  expect(spans).toHaveLength(1);
  expect(readByNeighbour).toEqual([[], [METER]]);
});

test('a retry that is due during a poll is done by it', async () => {
  const { poller, spans, clock } = open(failure('down', 'Down.', { exit: EXIT.provider, retry: 'soon' }));
  await poller.poll();
  clock.advance(60_000);
  const polling = poller.poll();
  poller.retry();
  await polling;
  const day = { from: '2026-03-01', to: '2026-03-02' };
  await poller.backfill(day);
  expect(spans).toEqual([undefined, undefined, day]);
});

test('after a poll that went well nothing is retried, unless it is wanted all the same', async () => {
  const { poller, spans } = open();
  const day = { from: '2026-03-01', to: '2026-03-02' };
  await poller.poll();
  for (const always of [false, true]) {
    poller.retryNow('home', always);
    await poller.backfill(day);
  }
  expect(spans).toEqual([undefined, day, undefined, day]);
});
