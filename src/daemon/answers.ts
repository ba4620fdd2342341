// What the daemon does when asked over MQTT.
import type { Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import { type Answer, type Handler, RequestMalformed } from '../mqtt/requests.ts';
import type { AccountRuntime } from './account.ts';
import type { Constituencies } from './constituencies.ts';
import type { Poller } from './poll.ts';
import type { Truth } from './truth.ts';

export interface AnswersParts {
  readonly accounts: readonly AccountRuntime[];
  readonly poller: Poller;
  readonly truth: Truth;
  /** `null` when the configuration has none. */
  readonly constituencies: Constituencies | null;
  readonly zone: Zone;
  readonly clock: Clock;
  /** Publishes bridge/health and whatever else has changed. */
  readonly publishNews: () => void;
}

const COOL_DOWN_MS = 5 * 60_000;

export function openAnswers(parts: AnswersParts): Readonly<Record<string, Handler>> {
  return {
    refresh: refreshHandler(parts),
    health: healthHandler(parts),
    constituencies: constituenciesHandler(parts),
  };
}

function refreshHandler({ accounts, poller, zone, clock }: AnswersParts): Handler {
  let lastAt: number | null = null;

  return async (parameters): Promise<Answer> => {
    takeNoParameters(parameters);
    if (accounts.length === 0)
      throw new RequestMalformed('No account is configured: there is nothing to poll.');
    const skipped = (why: string, nextAt: number): Answer => ({
      status: 'skipped',
      data: { reason: why, next_at: zone.iso(nextAt) },
    });
    const now = clock.monotonic();
    if (lastAt !== null && now - lastAt < COOL_DOWN_MS) {
      return skipped('cool_down', clock.now() + COOL_DOWN_MS - (now - lastAt));
    }
    const patientUntil = poller.patientUntil();
    if (patientUntil !== null) return skipped('retry_after', patientUntil);
    lastAt = now;
    for (const { upstream } of accounts) await upstream.budget.ask();
    const outcome = await poller.poll('all');
    const faults = outcome.accounts.filter(({ fault }) => fault !== null);
    if (faults[0] && faults.length === outcome.accounts.length) throw asFailure(faults[0].fault);
    return {
      status: 'ok',
      data: {
        accounts: outcome.accounts.map(({ account, events, fault }) => ({
          account,
          changes: events.length,
          ...(fault === null ? {} : { error: safeWords(fault) }),
        })),
      },
    };
  };
}

const healthHandler =
  ({ truth, publishNews }: AnswersParts): Handler =>
  async (parameters) => {
    takeNoParameters(parameters);
    publishNews();
    const { failuresInARow, reasons } = truth.health();
    return { status: 'ok', data: { failures_in_a_row: failuresInARow, reasons } };
  };

const constituenciesHandler =
  ({ constituencies }: AnswersParts): Handler =>
  async (parameters) => {
    if (constituencies !== null) return constituencies.answer(parameters);
    throw new RequestMalformed('No constituencies are configured: the section constituencies is missing.');
  };

function takeNoParameters(parameters: Readonly<Record<string, unknown>>): void {
  const [unknown] = Object.keys(parameters);
  if (unknown === undefined) return;
  const shown = unknown.slice(0, 40);
  throw new RequestMalformed(`Unknown parameter "${shown}"; allowed: transaction.`);
}

const asFailure = (fault: unknown): unknown =>
  fault instanceof Failure || fault instanceof Error ? fault : new Error('poll failed');
