// Requests that make the daemon poll: what they accept, their cooldown, and that a backfill reads its span and nothing else. That a
// retry does not follow a poll, and that one that a person has asked for is not dropped.
import { expect, test } from 'vitest';
import type { Account } from '../../src/accounts/account.ts';
import type { Meter } from '../../src/accounts/meter.ts';
import { Counters } from '../../src/accounts/metrics.ts';
import { type Context, Signals } from '../../src/daemon/context.ts';
import { Household } from '../../src/daemon/polling/household.ts';
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

function open(fault: unknown = null) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const zone = zoneOf('Europe/Dublin');
  const { log } = logLines();
  const spans: unknown[] = [];
  const record = { polls: [], failures: 0, lastSuccessAt: null, pollAt: null, retryAfter: null, untold: [] };
  const journal = {
    record,
    notePoll: () => undefined,
    note: () => undefined,
    save: () => undefined,
  };
  const account = {
    id: 'home',
    told: {},
    meters: [METER],
    properties: { duplicates: () => [] },
    extras: { currency: 'EUR' },
    upstream: { session: { status: () => ({ state: 'ok' }), current: async () => null } },
    journal,
    retryDelayMs: () => 60_000,
    async poll(_signal: AbortSignal, span: unknown) {
      spans.push(span);
      return { account: 'home', events: [], fault };
    },
  };
  const published: Message[] = [];
  const context = {
    accounts: [account] as unknown as Account[],
    config: {},
    clock,
    random: () => 0.5,
    zone,
    log,
    topics: new Topics('heat2mqtt'),
    counters: new Counters(),
    signals: new Signals(),
    link: { publish: (messages: readonly Message[]) => published.push(...messages) },
    limit: concurrencyLimit(1),
  } as unknown as Context;
  const nextTick = (now: number) => ({ at: now + 4 * 3_600_000, stepMs: 4 * 3_600_000 });
  const household = new Household(nextTick, 0, context);
  const nothingElse = { statistics: null, constituencies: null, tellSkipped: () => undefined };
  const bridgeStatus = { health: () => ({ state: 'ok' }) as never };
  const handlers = requestHandlers({ household, bridgeStatus, ...nothingElse }, context);
  const handle = (parameters: Parameters, name: Request = 'backfill') =>
    handlers[name](parameters, () => undefined);
  return { handle, household, clock, spans, published };
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

test('reads the span again, its last day included and once within five minutes, when a backfill is asked for', async () => {
  const { handle, household, spans, clock } = open();
  await household.poll();
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
    undefined,
    { from: '2026-03-01', to: '2026-03-05' },
    { from: '2026-03-09', to: '2026-03-11' },
  ]);
});

test('publishes health again before it answers when health is asked for and has not changed', async () => {
  const { handle, published } = open();
  expect(await handle({}, 'health')).toMatchObject({ status: 'ok', data: { state: 'ok' } });
  expect(published).toMatchObject([{ topic: 'heat2mqtt/bridge/health', retain: true }]);
});

test('waits for the poll under way when a backfill is asked for meanwhile', async () => {
  const { handle, spans, household } = open();
  const scheduled = household.poll();
  await handle({ from: '2026-03-01' });
  await scheduled;
  expect(spans).toEqual([undefined, { from: '2026-03-01', to: '2026-03-11' }]);
});

test('makes one poll afterwards when several are asked for while days are read again', async () => {
  const { handle, spans, household } = open();
  await household.poll();
  const reading = handle({ from: '2026-03-01' });
  await Promise.all([household.poll(), household.poll()]);
  await reading;
  expect(spans).toEqual([undefined, { from: '2026-03-01', to: '2026-03-11' }, undefined]);
});

const DOWN = failure('down', 'Down.', { exit: EXIT.provider, retry: 'soon' });
const DAY = { from: '2026-03-01', to: '2026-03-02' };

test('makes no other poll when a retry is due during one', async () => {
  const { household, spans, clock } = open(DOWN);
  await household.poll();
  clock.advance(60_000);
  await household.poll();
  await household.backfill(DAY);
  expect(spans).toEqual([undefined, undefined, DAY]);
});

test('refuses a request when the provider wants none of the only account', async () => {
  const busy = failure('busy', 'Busy.', { exit: EXIT.provider, retry: 'later', retryAfterMs: 30 * 60_000 });
  const { household, spans } = open(busy);
  await household.poll();
  expect(household.refusal()).toMatchObject({ reason: 'retry_after' });
  expect(await household.poll()).toEqual([]);
  household.pollSoon('home', true);
  await household.backfill(DAY);
  expect(spans).toHaveLength(1);
});

test('retries nothing when a poll went well, unless it is wanted all the same', async () => {
  const { household, spans } = open();
  await household.poll();
  for (const always of [false, true]) {
    household.pollSoon('home', always);
    await household.backfill(DAY);
  }
  expect(spans).toEqual([undefined, DAY, undefined, DAY]);
});

test('polls again when a person has done something while a poll was under way that fails', async () => {
  const { household, spans } = open(DOWN);
  const polling = household.poll();
  household.pollSoon('home', true);
  await polling;
  await household.backfill(DAY);
  expect(spans).toEqual([undefined, undefined, DAY]);
});
