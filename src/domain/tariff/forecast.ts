// What the running month will come to by its end: what is known of it, and the recent mean for its other days.
import type { Micro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, addMonths, type Day, daysBetween, monthStart } from '../period.ts';
import type { Days } from './billedDays.ts';
import { chargesOn, type Tariff } from './tariff.ts';

const RECENT_DAYS = 14;
const LONGEST_LOOK_BACK_DAYS = 31;

/**
 * Energy and cost, each from the days that have it: those of the month without it count like days to come. `null` when
 * the last month has none at all.
 */
export function forecastMonth(days: Days, today: Day, tariff: Tariff | null): Amounts {
  const known = newestDays(days, today, tariff);
  return { energy: forecast('energy', known, today), cost: forecast('cost', known, today) };
}

interface KnownDay extends Amounts {
  readonly day: Day;
  /** More than one where a bill carries the days before it, as its standing charges tell. */
  readonly carries: number;
}

function newestDays(days: Days, today: Day, tariff: Tariff | null): KnownDay[] {
  const found: KnownDay[] = [];
  const end = addMonths(today, 1);
  for (let day = addDays(today, -LONGEST_LOOK_BACK_DAYS); day < end; day = addDays(day, 1)) {
    const amounts = days.get(day);
    if (amounts === undefined) continue;
    const charges = tariff && chargesOn(tariff, days, day);
    found.push({ ...amounts, day, carries: Math.max(1, charges ?? 1) });
  }
  return found;
}

function forecast(kind: keyof Amounts, known: readonly KnownDay[], today: Day): Micro | null {
  const from = monthStart(today);
  const given = known.flatMap(({ day, carries, [kind]: amount }) =>
    amount === null ? [] : [{ day, carries, amount }],
  );
  const newest = sum(given.filter(({ day }) => day <= today).slice(-RECENT_DAYS));
  if (newest.days === 0) return null;
  // A bill of the first may carry days of the month before: the month still has all its others to come.
  const ofMonth = given
    .filter(({ day }) => day >= from)
    .map((each) => ({ ...each, carries: Math.min(each.carries, daysBetween(from, each.day) + 1) }));
  const soFar = sum(ofMonth);
  const left = Math.max(0, daysBetween(from, addMonths(today, 1)) - soFar.days);
  return soFar.amount + Math.round((newest.amount / newest.days) * left);
}

function sum(all: readonly { readonly amount: Micro; readonly carries: number }[]): {
  readonly amount: Micro;
  readonly days: number;
} {
  let amount = 0;
  let days = 0;
  for (const each of all) {
    amount += each.amount;
    days += each.carries;
  }
  return { amount, days };
}
