// What the daemon does when asked over MQTT.
import { verdict } from '../../domain/health.ts';
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { type Answer, type Handler, RequestMalformed } from '../../mqtt/requests.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import type { Poller } from '../polling/poll.ts';
import type { Truth } from '../publishing/snapshot.ts';
import type { Statistics } from '../publishing/statistics.ts';
import { backfillHandler } from './backfill.ts';
import type { Constituencies } from './constituencies.ts';
import { type CoolDown, openCoolDown } from './coolDown.ts';
import { answerOf } from './pollAnswer.ts';

export interface AnswersParts {
  readonly accounts: readonly AccountRuntime[];
  readonly poller: Poller;
  readonly truth: Truth;
  /** `null` when the configuration has none. */
  readonly constituencies: Constituencies | null;
  /** `null` when Home Assistant is not configured. */
  readonly statistics: Statistics | null;
  readonly zone: Zone;
  readonly clock: Clock;
  /** Publishes bridge/health and whatever else has changed. */
  readonly publishNews: () => void;
}

export function openAnswers(parts: AnswersParts): Readonly<Record<string, Handler>> {
  const { accounts, poller, statistics, zone, clock } = parts;
  const onDemand = { health: healthHandler(parts), constituencies: constituenciesHandler(parts) };
  if (accounts.length === 0) return { refresh: nothingToPoll, backfill: nothingToPoll, ...onDemand };
  const coolDown = openCoolDown(poller, zone, clock);
  return {
    refresh: refreshHandler(parts, coolDown),
    backfill: backfillHandler({ poller, coolDown, statistics, zone, clock }),
    ...onDemand,
  };
}

const nothingToPoll: Handler = async () => {
  throw new RequestMalformed('No account is configured: there is nothing to poll.');
};

const refreshHandler =
  ({ accounts, poller }: AnswersParts, coolDown: CoolDown): Handler =>
  async (parameters): Promise<Answer> => {
    takeNoParameters(parameters);
    const held = coolDown.hold();
    if (held !== null) return held;
    for (const { upstream } of accounts) await upstream.budget.ask();
    return answerOf(await poller.poll('all'));
  };

const healthHandler =
  ({ truth, publishNews }: AnswersParts): Handler =>
  async (parameters) => {
    takeNoParameters(parameters);
    publishNews();
    const health = truth.health();
    const { failuresInARow, reasons } = health;
    return { status: 'ok', data: { state: verdict(health), failures_in_a_row: failuresInARow, reasons } };
  };

const constituenciesHandler =
  ({ constituencies }: AnswersParts): Handler =>
  async (parameters, tell) => {
    if (constituencies !== null) return constituencies.answer(parameters, tell);
    throw new RequestMalformed('No constituencies are configured: the section constituencies is missing.');
  };

function takeNoParameters(parameters: Readonly<Record<string, unknown>>): void {
  const [unknown] = Object.keys(parameters);
  if (unknown === undefined) return;
  const shown = unknown.slice(0, 40);
  throw new RequestMalformed(`Unknown parameter "${shown}"; allowed: transaction.`);
}
