// What the running month will have cost at its end: what is known of it, and the recent mean for its other days.
import type { Micro } from '../amount.ts';
import { addDays, addMonths, type Day, daysBetween, monthStart } from '../period.ts';
import type { Days } from './billedDays.ts';
import { chargesOn, type Tariff } from './tariff.ts';

const RECENT_DAYS = 14;
const LONGEST_LOOK_BACK_DAYS = 31;

/** Days of the month without a cost count like days to come. `null` when the last month has none at all. */
export function forecastMonth(
  { days }: { readonly days: Days },
  today: Day,
  tariff: Tariff | null,
): Micro | null {
  const from = monthStart(today);
  const to = addMonths(today, 1);
  const recent = known(days, addDays(today, -LONGEST_LOOK_BACK_DAYS), addDays(today, 1), tariff);
  const newest = sum(recent.slice(-RECENT_DAYS));
  if (newest.days === 0) return null;
  // A bill of the first may carry days of the month before: the month still has all its others to come.
  const ofMonth = known(days, from, to, tariff).map((each) => ({
    ...each,
    days: Math.min(each.days, daysBetween(from, each.day) + 1),
  }));
  const soFar = sum(ofMonth);
  const left = Math.max(0, daysBetween(from, to) - soFar.days);
  return soFar.cost + Math.round((newest.cost / newest.days) * left);
}

interface Known {
  readonly day: Day;
  readonly cost: Micro;
  /** More than one where a bill carries the days before it, as its standing charges tell. */
  readonly days: number;
}

function known(days: Days, from: Day, to: Day, tariff: Tariff | null): Known[] {
  const found: Known[] = [];
  for (let day = from; day < to; day = addDays(day, 1)) {
    const cost = days.get(day)?.cost ?? null;
    if (cost === null) continue;
    const charges = tariff && chargesOn(tariff, days, day);
    found.push({ day, cost, days: Math.max(1, charges ?? 1) });
  }
  return found;
}

function sum(all: readonly Known[]): { cost: Micro; days: number } {
  let cost = 0;
  let days = 0;
  for (const each of all) {
    cost += each.cost;
    days += each.days;
  }
  return { cost, days };
}
