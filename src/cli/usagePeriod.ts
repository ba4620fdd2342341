// The period of heat2mqtt usage: what --from, --to and --interval ask for.
import { INTERVALS, type Interval, intervalStart } from '../domain/interval.ts';
import { addDays, type Day, type DaySpan } from '../domain/period.ts';
import { type Arguments, WrongUsage } from './command.ts';

export interface Period {
  readonly interval: Interval;
  readonly span: DaySpan;
  /** It was to end after today. */
  readonly wasShortened: boolean;
}

/** How many intervals before the last one, when --from is not given. */
const DEFAULT_LENGTH = { day: 30, week: 12, month: 12, quarter: 8, year: 4 } as const;
/** No meter of this kind is older; a year mistyped would ask a thousand questions. */
const EARLIEST = '2000-01-01';

/** As it was typed. */
export interface Wish {
  readonly interval: Interval;
  readonly from: Day | undefined;
  readonly to: Day | undefined;
}

/** Throws WrongUsage. */
export const wishFrom = (options: Arguments['options']): Wish => ({
  interval: intervalFrom(options.interval ?? 'day'),
  from: dayFrom('--from', options.from),
  to: dayFrom('--to', options.to),
});

/** Throws WrongUsage. */
export function periodOf({ interval, from: first, to: until }: Wish, today: Day): Period {
  const to = until ?? today;
  const last = to > today ? today : to;
  const from = first ?? intervalStart(interval, last, -DEFAULT_LENGTH[interval]);
  if (from > to) throw new WrongUsage(`--from ${from} is after --to ${to}.`);
  if (from > today) throw new WrongUsage(`--from: found ${from}; allowed: a day not after today, ${today}.`);
  return { interval, span: { from, to: addDays(last, 1) }, wasShortened: to > today };
}

function intervalFrom(option: unknown): Interval {
  const found = INTERVALS.find((interval) => interval === option);
  if (found) return found;
  throw new WrongUsage(`--interval: found ${String(option).slice(0, 20)}; allowed: ${INTERVALS.join(', ')}.`);
}

function dayFrom(name: string, option: unknown): Day | undefined {
  if (option === undefined) return undefined;
  const text = String(option);
  const isDay =
    /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text;
  if (isDay && text >= EARLIEST) return text;
  throw new WrongUsage(
    `${name}: found ${text.slice(0, 20)}; allowed: a day as YYYY-MM-DD, from ${EARLIEST} on.`,
  );
}
