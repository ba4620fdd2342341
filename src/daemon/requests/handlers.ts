// The daemon's work when it is asked over MQTT: polls, reads days again, tells its health, fetches constituencies; and the events of
// requests that were understood and are not done now.
import type { AccountOutcome } from '../../accounts/account.ts';
import type { Constituencies, Postponed } from '../../constituencies/onDemand.ts';
import { addDays, type Day } from '../../domain/period.ts';
import { EXIT, failure, safeWords } from '../../foundation/failure.ts';
import { RateLimit } from '../../foundation/limits.ts';
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
import type { Context } from '../context.ts';
import type { Statistics } from '../homeAssistant/statistics.ts';
import type { Household, PollRefusal } from '../polling/household.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';

/** A request that was understood, and is not done now; `until`: from when on it would be, epoch milliseconds. */
type SkippedRequest = Postponed | (PollRefusal & { readonly request: string });

interface HandlerParts {
  readonly household: Pick<Household, 'poll' | 'backfill' | 'acceptRequest'>;
  readonly bridgeStatus: Pick<BridgeStatus, 'health'>;
  /** `null` when Home Assistant is not configured. */
  readonly statistics: Pick<Statistics, 'resend'> | null;
  /** `null` when the configuration has none. */
  readonly constituencies: Constituencies | null;
  readonly tellSkipped: (skipped: SkippedRequest) => void;
}

export function requestHandlers(
  { household, bridgeStatus, statistics, constituencies, tellSkipped }: HandlerParts,
  {
    accounts,
    zone,
    clock,
    signals,
    topics,
    link,
  }: Pick<Context, 'accounts' | 'zone' | 'clock' | 'signals' | 'topics' | 'link'>,
): Readonly<Record<'refresh' | 'backfill' | 'health' | 'constituencies', Handler>> {
  /** The answer to give in the place of one that asks the provider; `null`: go on. Both requests share a cooldown. */
  function skip(request: string): Answer | null {
    if (accounts.length === 0) throw notConfigured('No account is configured: there is nothing to poll.');
    const refusal = household.acceptRequest();
    if (refusal === null) return null;
    tellSkipped({ request, ...refusal });
    return { status: 'skipped', data: { reason: refusal.reason, next_at: zone.iso(refusal.until) } };
  }

  return {
    async refresh(parameters) {
      readParameters(REQUESTS.refresh, parameters);
      const instead = skip('refresh');
      if (instead !== null) return instead;
      for (const { upstream } of accounts) await upstream.askForLogin();
      return answerOf(await household.poll());
    },
    async backfill(parameters, tell) {
      const [origin = null] = accounts
        .flatMap(({ meters }) => meters?.map(({ ledger }) => ledger.origin) ?? [])
        .sort();
      const { from, to } = daysOf(parameters, origin, zone.dayAt(clock.now()));
      const instead = skip('backfill');
      if (instead !== null) return instead;
      const answer = answerOf(await household.backfill({ from, to: addDays(to, 1) }), { from, to });
      if (statistics === null) return answer;
      // Days that were read again are sent to Home Assistant's statistics as well.
      tell({ step: 'read', ...answer.data });
      try {
        const sent = await statistics.resend(from, (stored) => tell({ step: 'statistics', ...stored }));
        return { ...answer, data: { ...answer.data, statistics: sent } };
      } catch (err) {
        return { ...answer, status: 'error', error: safeWords(err) };
      }
    },
    async health(parameters) {
      readParameters(REQUESTS.health, parameters);
      const health = bridgeStatus.health();
      // Whoever asks waits for it on its topic, also when it is as it was.
      link.publish([topics.message('bridge/health', [], health)]);
      signals.emit('bridgeChanged');
      const { state, failures_in_a_row, reasons } = health;
      return { status: 'ok', data: { state, failures_in_a_row, reasons } };
    },
    // Its parameters are the question, which is read where the service is asked.
    async constituencies(parameters) {
      if (constituencies !== null) return constituencies.answer(parameters);
      throw notConfigured('No constituencies are configured: the section constituencies is missing.');
    },
  };
}

/** First and last day that a backfill reads. `origin`: where the totals begin, `null` while no meter is known. */
function daysOf(parameters: Parameters, origin: Day | null, today: Day): { from: Day; to: Day } {
  const { from, to = today } = readParameters(REQUESTS.backfill, parameters);
  const mistakes: string[] = [];
  if (to > today) mistakes.push(mistake('to', to, `a day not after ${today}`));
  // Nothing would be asked, which is no success.
  if (origin !== null && to < origin)
    mistakes.push(mistake('to', to, `a day not before ${origin}, where the totals begin`));
  if (from > to) mistakes.push(mistake('from', from, `a day not after ${to}`));
  if (mistakes.length > 0) throw requestMalformed(mistakes.join(' '));
  return { from: origin !== null && from < origin ? origin : from, to };
}

/** `ok` when at least one account could be read; throws the first fault when none could, and another when none was asked. */
function answerOf(outcomes: readonly AccountOutcome[], more: Parameters = {}): Answer {
  if (outcomes.length === 0) throw noneAsked();
  const faults = outcomes.filter(({ fault }) => fault !== null);
  if (faults[0] && faults.length === outcomes.length) throw faults[0].fault;
  const accounts = outcomes.map(({ account, events, fault }) => ({
    account,
    changes: events.length,
    ...(fault === null ? {} : { error: safeWords(fault) }),
  }));
  return { status: 'ok', data: { ...more, accounts } };
}

function noneAsked() {
  const message = 'No account was asked: those that have these days wait, as the provider has told them to.';
  return failure('none_asked', message, { exit: EXIT.provider, retry: 'later' });
}

const WHY_SKIPPED: Readonly<Record<SkippedRequest['reason'], string>> = {
  cool_down: 'the provider was asked less than five minutes ago',
  retry_after: 'the service has asked for a pause',
  rate_limit: 'too many questions were asked within five minutes',
};
const MINUTE_MS = 60_000;
const MOST_IN_A_MINUTE = 10;

/** Publishes the event of a skipped request. A flood of requests does not become a flood of events. */
export function tellingSkipped({
  topics,
  zone,
  clock,
  link,
}: Pick<Context, 'topics' | 'zone' | 'clock' | 'link'>) {
  const limit = new RateLimit(clock, MOST_IN_A_MINUTE, MINUTE_MS);
  return ({ request, reason, until }: SkippedRequest): void => {
    if (!limit.tryStart()) return;
    // Rounded up to the minute.
    const time = zone.iso(until + MINUTE_MS - 1).slice(11, 16);
    const message = `Not done now, because ${WHY_SKIPPED[reason]}. It is possible again at ${time}.`;
    const at = zone.iso(clock.now());
    const event = { event_type: 'request_skipped', at, code: reason, message, request } as const;
    link.publish([topics.message('bridge/event', [], { ...event, next_at: zone.iso(until) })]);
  };
}
