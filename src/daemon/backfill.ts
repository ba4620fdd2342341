// Reads a span of days from the provider again when asked over MQTT.
import { addDays, type Day, type DaySpan, type Zone } from '../domain/period.ts';
import type { Clock } from '../foundation/clock.ts';
import { type Handler, RequestMalformed } from '../mqtt/requests.ts';
import type { CoolDown } from './coolDown.ts';
import type { Poller } from './poll.ts';
import { answerOf } from './pollAnswer.ts';

export interface BackfillParts {
  readonly poller: Poller;
  readonly coolDown: CoolDown;
  readonly zone: Zone;
  readonly clock: Clock;
}

/** Parameters: `from` and `to`, first and last day as `YYYY-MM-DD`; `to` may be left out and is today then. */
export function backfillHandler({ poller, coolDown, zone, clock }: BackfillParts): Handler {
  return async (parameters) => {
    const span = spanFrom(parameters, zone.dayAt(clock.now()));
    const held = coolDown.hold();
    if (held !== null) return held;
    const outcome = await poller.backfill(span);
    return answerOf(outcome, { from: span.from, to: addDays(span.to, -1) });
  };
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
