// What the daemon does when asked over MQTT: polls, reads days again, tells its health, fetches constituencies; and the events of
// requests that were understood and are not done now.
import type { Account } from '../../accounts/account.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { verdict } from '../../domain/health.ts';
import { addDays, type Day } from '../../domain/period.ts';
import { safeWords } from '../../foundation/failure.ts';
import { RateLimit } from '../../foundation/limits.ts';
import type { Message } from '../../mqtt/message.ts';
import {
  type Answer,
  type Handler,
  mistake,
  notConfigured,
  type Parameters,
  readParameters,
  requestMalformed,
} from '../../mqtt/requests.ts';
import { REQUESTS } from '../../publication/payloads/requests.ts';
import type { Context, SkippedRequest } from '../context.ts';
import type { Statistics } from '../homeAssistant/statistics.ts';
import type { Poller, PollOutcome } from '../polling/poller.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';

type Needs = Pick<Context, 'zone' | 'clock' | 'signals'>;

interface Polling {
  readonly accounts: readonly Account[];
  readonly poller: Pick<Poller, 'poll' | 'backfill' | 'acceptRequest'>;
  /** `null` when Home Assistant is not configured. */
  readonly statistics: Pick<Statistics, 'resend'> | null;
}

export function requestHandlers(
  {
    bridgeStatus,
    constituencies,
    ...polling
  }: Polling & {
    readonly bridgeStatus: BridgeStatus;
    /** `null` when the configuration has none. */
    readonly constituencies: Constituencies | null;
  },
  context: Needs,
): Readonly<Record<string, Handler>> {
  return {
    ...pollHandlers(polling, context),
    async health(parameters) {
      readParameters(REQUESTS.health, parameters);
      context.signals.emit('bridgeChanged');
      const health = bridgeStatus.health();
      const { failuresInARow, reasons } = health;
      return { status: 'ok', data: { state: verdict(health), failures_in_a_row: failuresInARow, reasons } };
    },
    async constituencies(parameters) {
      if (constituencies !== null) return constituencies.answer(parameters);
      throw notConfigured('No constituencies are configured: the section constituencies is missing.');
    },
  };
}

/** `refresh` and `backfill`: both make the daemon ask the provider, and share a cooldown. */
export function pollHandlers(
  { accounts, poller, statistics }: Polling,
  { zone, clock, signals }: Needs,
): Record<'refresh' | 'backfill', Handler> {
  /** The answer to give instead of asking the provider; `null`: go on. */
  function skip(request: string): Answer | null {
    const refusal = poller.acceptRequest();
    if (refusal === null) return null;
    signals.emit('requestSkipped', { request, ...refusal });
    return { status: 'skipped', data: { reason: refusal.reason, next_at: zone.iso(refusal.until) } };
  }

  const nothingToPoll: Handler = async () => {
    throw notConfigured('No account is configured: there is nothing to poll.');
  };
  if (accounts.length === 0) return { refresh: nothingToPoll, backfill: nothingToPoll };

  return {
    async refresh(parameters) {
      readParameters(REQUESTS.refresh, parameters);
      const instead = skip('refresh');
      if (instead !== null) return instead;
      for (const { upstream } of accounts) await upstream.askForLogin();
      return answerOf(await poller.poll());
    },
    async backfill(parameters, tell) {
      const { from, to } = daysOf(parameters, zone.dayAt(clock.now()));
      const instead = skip('backfill');
      if (instead !== null) return instead;
      const read = answerOf(await poller.backfill({ from, to: addDays(to, 1) }), { from, to });
      return statistics === null ? read : resend(read, from, statistics, tell);
    },
  };
}

/** First and last day of a backfill. */
function daysOf(parameters: Parameters, today: Day): { from: Day; to: Day } {
  const { from, to = today } = readParameters(REQUESTS.backfill, parameters);
  const mistakes: string[] = [];
  if (to > today) mistakes.push(mistake('to', to, `a day not after ${today}`));
  if (from > to) mistakes.push(mistake('from', from, `a day not after ${to}`));
  if (mistakes.length > 0) throw requestMalformed(mistakes.join(' '));
  return { from, to };
}

/** Sends what was read again to Home Assistant's statistics as well. */
async function resend(
  read: Answer,
  from: Day,
  statistics: Pick<Statistics, 'resend'>,
  tell: (progress: Parameters) => void,
): Promise<Answer> {
  tell({ step: 'read', ...read.data });
  try {
    const sent = await statistics.resend(from, (stored) => tell({ step: 'statistics', ...stored }));
    return { ...read, data: { ...read.data, statistics: sent } };
  } catch (err) {
    return { ...read, status: 'error', error: safeWords(err) };
  }
}

/** `ok` when at least one account could be read; throws the first fault when none could. */
function answerOf({ accounts }: PollOutcome, more: Parameters = {}): Answer {
  const faults = accounts.filter(({ fault }) => fault !== null);
  if (faults[0] && faults.length === accounts.length) throw faults[0].fault;
  return {
    status: 'ok',
    data: {
      ...more,
      accounts: accounts.map(({ account, events, fault }) => ({
        account,
        changes: events.length,
        ...(fault === null ? {} : { error: safeWords(fault) }),
      })),
    },
  };
}

const WHY_SKIPPED: Readonly<Record<SkippedRequest['reason'], string>> = {
  cool_down: 'the provider was asked less than five minutes ago',
  retry_after: 'the service has asked for a pause',
  rate_limit: 'too many questions were asked within five minutes',
};
const MINUTE_MS = 60_000;
const MOST_IN_A_MINUTE = 10;

/** A flood of requests does not become a flood of events. */
export function skippedRequests({
  topics,
  zone,
  clock,
}: Pick<Context, 'topics' | 'zone' | 'clock'>): (skipped: SkippedRequest) => Message[] {
  const limit = new RateLimit(clock, MOST_IN_A_MINUTE, MINUTE_MS);
  return ({ request, reason, until }) => {
    if (!limit.tryStart()) return [];
    // Rounded up to the minute.
    const time = zone.iso(until + MINUTE_MS - 1).slice(11, 16);
    const message = `Not done now, because ${WHY_SKIPPED[reason]}. It is possible again at ${time}.`;
    const at = zone.iso(clock.now());
    const told = { event_type: 'request_skipped', at, code: reason, message, request } as const;
    return [topics.message('bridge/event', [], { ...told, next_at: zone.iso(until) })];
  };
}
