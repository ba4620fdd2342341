// What the running month will have cost at its end: what is known of it, and the recent mean for its other days.
import type { Micro } from './amount.ts';
import type { Ledger } from './ledger.ts';
import { addDays, addMonths, type Day, daysBetween, monthStart } from './period.ts';
import { chargesOn, type Tariff } from './tariff.ts';

const RECENT_DAYS = 14;
const LONGEST_LOOK_BACK_DAYS = 31;

/** Days of the month without a cost count like days to come. `null` when the last month has none at all. */
export function forecastMonth(
  { days }: Pick<Ledger, 'days'>,
  today: Day,
  tariff: Tariff | null,
): Micro | null {
  const costs = (from: Day, to: Day) => known(days, from, to, tariff);
  const month = { from: monthStart(today), to: addMonths(today, 1) };
  const recent = costs(addDays(today, -LONGEST_LOOK_BACK_DAYS), addDays(today, 1)).slice(-RECENT_DAYS);
  const soFar = sum(costs(month.from, month.to));
  const { cost, days: recentDays } = sum(recent);
  if (recentDays === 0) return null;
  const left = Math.max(0, daysBetween(month.from, month.to) - soFar.days);
  return soFar.cost + Math.round((cost / recentDays) * left);
}

interface Known {
  readonly cost: Micro;
  /** More than one where a bill carries the days before it, as its standing charges tell. */
  readonly days: number;
}

function known(days: Ledger['days'], from: Day, to: Day, tariff: Tariff | null): Known[] {
  const found: Known[] = [];
  for (let day = from; day < to; day = addDays(day, 1)) {
    const cost = days.get(day)?.cost ?? null;
    if (cost !== null) found.push({ cost, days: Math.max(1, (tariff && chargesOn(tariff, days, day)) ?? 1) });
  }
  return found;
}

const sum = (all: readonly Known[]): Known =>
  all.reduce((total, each) => ({ cost: total.cost + each.cost, days: total.days + each.days }), {
    cost: 0,
    days: 0,
  });
