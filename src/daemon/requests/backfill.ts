// Reads a span of days from the provider again when asked over MQTT, and sends it to Home Assistant's statistics again.
import { addDays, type Day, type DaySpan, type Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { safeWords } from '../../foundation/failure.ts';
import { type Answer, type Handler, type Parameters, RequestMalformed } from '../../mqtt/requests.ts';
import type { Poller } from '../polling/poll.ts';
import type { Statistics } from '../publishing/statistics.ts';
import type { CoolDown } from './coolDown.ts';
import { answerOf } from './pollAnswer.ts';

export interface BackfillParts {
  readonly poller: Poller;
  readonly coolDown: CoolDown;
  /** `null` when Home Assistant is not configured. */
  readonly statistics: Pick<Statistics, 'resend'> | null;
  readonly zone: Zone;
  readonly clock: Clock;
}

/** Parameters: `from` and `to`, first and last day as `YYYY-MM-DD`; `to` may be left out and is today then. */
export function backfillHandler({ poller, coolDown, statistics, zone, clock }: BackfillParts): Handler {
  return async (parameters, tell) => {
    const span = spanFrom(parameters, zone.dayAt(clock.now()));
    const held = coolDown.hold();
    if (held !== null) return held;
    const outcome = await poller.backfill(span);
    const read = answerOf(outcome, { from: span.from, to: addDays(span.to, -1) });
    return statistics === null ? read : resent(read, span.from, statistics, tell);
  };
}

async function resent(
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

function spanFrom(parameters: Readonly<Record<string, unknown>>, today: Day): DaySpan {
  const { from, to = today, ...rest } = parameters;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new RequestMalformed(
      `Unknown parameter "${unknown.slice(0, 40)}"; allowed: from, to, transaction.`,
    );
  }
  const first = dayFrom('from', from, today);
  const last = dayFrom('to', to, today);
  if (first > last) throw new RequestMalformed(`from: found ${first}; allowed: a day not after ${last}.`);
  return { from: first, to: addDays(last, 1) };
}

function dayFrom(name: string, value: unknown, today: Day): Day {
  const isDay = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);
  if (isDay && !Number.isNaN(Date.parse(value)) && addDays(value, 0) === value && value <= today)
    return value;
  const found = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 40);
  throw new RequestMalformed(`${name}: found ${found}; allowed: a day as YYYY-MM-DD, not after ${today}.`);
}
