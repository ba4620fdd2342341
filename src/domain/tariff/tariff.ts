// The tariff that explains the newest days of a ledger: the price of energy and of a day, or nothing while none does.
import * as z from 'zod';
import { inFull, type Micro, toMicro } from '../amount.ts';
import { type Amounts, LONGEST_CARRIED_DAYS } from '../ledger.ts';
import { addDays, type Day, daysOf } from '../period.ts';
import { calendarDay } from '../reading.ts';
import { type BilledDay, findTariffLine, NEW_TARIFF_DAYS } from './tariffLine.ts';

export const tariff = z.object({
  /** Currency units per kWh. */
  unitRate: z.number(),
  /** The price of one day, in micro units. */
  standingCharge: z.int(),
  /** Rounding allows no larger error of the prices. A tariff that 0.1.0 has kept has none. */
  unitRateMargin: z.number().default(0),
  standingChargeMargin: z.int().default(0),
  /** First and last day that it explains. */
  from: calendarDay,
  to: calendarDay,
  daysExplained: z.int(),
  /** Days with energy and cost since the first one. */
  daysSeen: z.int(),
  /** A day is explained when it costs what it should, this much more or less, in micro units. */
  tolerance: z.int(),
});
export type Tariff = Readonly<z.infer<typeof tariff>>;

/** A tariff was told before, and another one holds now. */
export interface TariffChange {
  readonly kind: 'tariff_changed';
  readonly before: Tariff;
  readonly after: Tariff;
}

type Prices = Pick<Tariff, 'unitRate' | 'standingCharge' | 'tolerance'>;

export type Days = ReadonlyMap<Day, Amounts>;
export type DayLookup = Pick<Days, 'get'>;

const LOOK_BACK_DAYS = 366;

/** `null` until the newest days are explained, and while rate and charge cannot be told apart. */
export function fitTariff(days: Days): Tariff | null {
  const billed = billedDays(days);
  const line = findTariffLine(billed);
  if (line === null) return null;
  const { from, tolerance } = line;
  const prices = { unitRate: line.rate, standingCharge: line.standing, tolerance };
  const since = billed.filter(({ day }) => day >= from);
  const explained = since.filter((day) => chargesIn(prices, day) !== null);
  const to = explained.at(-1)?.day;
  if (to === undefined || since.slice(-NEW_TARIFF_DAYS).every(({ day }) => day > to)) return null;
  return {
    ...prices,
    unitRateMargin: inFull(toMicro(line.rateMargin)),
    standingChargeMargin: Math.round(line.standingMargin),
    from,
    to,
    daysExplained: explained.length,
    daysSeen: since.length,
  };
}

/** The cost of a day holds so many standing charges, usually one; `null`: the tariff does not explain it. */
export function chargesOn(tariff: Tariff, days: DayLookup, day: Day): number | null {
  const billed = billedDay(days, day);
  return billed && chargesIn(tariff, billed);
}

/** Two months tell a tariff, and are seldom of two. A register of 10 kWh needs longer for days that differ. */
const DAYS_AROUND_GAP = 60;
const LONG_BEFORE_GAP = 180;
/** A standing charge that rounding could hide tells nothing. */
const LEAST_CHARGE_IN_TOLERANCES = 4;

/**
 * The standing charges that the cost of a day holds, by the tariff of the two months before `gap`, or else of those after the
 * day, or of half a year before. `null`: none of them explains the cost, or has a standing charge that can be told apart.
 */
export function chargesByNeighbours(days: DayLookup, day: Day, gap: Day) {
  const before = (count: number) => daysOf({ from: addDays(gap, -count), to: gap });
  const after = daysOf({ from: addDays(day, 1), to: addDays(day, 1 + DAYS_AROUND_GAP) });
  return (
    chargesByDaysOf(days, day, before(DAYS_AROUND_GAP)) ??
    chargesByDaysOf(days, day, after.toReversed()) ??
    chargesByDaysOf(days, day, before(LONG_BEFORE_GAP))
  );
}

/** `others`: the days whose tariff it is; where that changes among them, the last ones count. */
function chargesByDaysOf(days: DayLookup, day: Day, others: readonly Day[]) {
  const amounts = days.get(day);
  if (!isBilled(amounts)) return null;
  const line = findTariffLine(others.flatMap((neighbour) => billedDay(days, neighbour) ?? []));
  if (line === null) return null;
  const { standing: standingCharge, tolerance } = line;
  if (standingCharge < LEAST_CHARGE_IN_TOLERANCES * tolerance) return null;
  const charged = amounts.cost - line.rate * amounts.energy;
  const charges = Math.round(charged / standingCharge);
  const isExplained = charges >= 1 && Math.abs(charged - charges * standingCharge) <= tolerance;
  return isExplained ? { charges, standingCharge } : null;
}

/** The part of a day's cost that is standing charge; `null` when the tariff does not explain the day. */
export function standingPart(tariff: Tariff, days: DayLookup, day: Day): Micro | null {
  const billed = billedDay(days, day);
  const charges = billed && chargesIn(tariff, billed);
  if (!billed || charges === null) return null;
  // Heat that was not used cost nothing, whatever the rounding left over.
  if (billed.energy === 0) return billed.cost;
  return Math.min(billed.cost, charges * tariff.standingCharge);
}

/** The tariff told before has given way if it does not explain most of the days that the new one stands on. */
export function hasMoved(before: Tariff, fitted: Tariff, days: Days): boolean {
  const prices = { ...before, tolerance: Math.max(before.tolerance, fitted.tolerance) };
  const stoodOn = billedDays(days).filter(
    (billed) => billed.day >= fitted.from && chargesIn(fitted, billed) !== null,
  );
  return stoodOn.filter((billed) => chargesIn(prices, billed) === null).length * 2 > stoodOn.length;
}

function chargesIn({ unitRate, standingCharge, tolerance }: Prices, day: BilledDay): number | null {
  const charged = day.cost - unitRate * day.energy;
  const most = 1 + day.missedBefore + (day.isFollowed ? 0 : 1);
  const charges =
    standingCharge === 0 ? 1 : Math.min(most, Math.max(0, Math.round(charged / standingCharge)));
  return Math.abs(charged - charges * standingCharge) <= tolerance ? charges : null;
}

/** Oldest first: those of the year that ends with the newest one. */
function billedDays(days: Days): BilledDay[] {
  let newest: Day | null = null;
  for (const [day, amounts] of days) if ((newest === null || day > newest) && isBilled(amounts)) newest = day;
  if (newest === null) return [];
  const year = daysOf({ from: addDays(newest, 1 - LOOK_BACK_DAYS), to: addDays(newest, 1) });
  return year.flatMap((day) => billedDay(days, day) ?? []);
}

/** `null` while energy or cost of the day are not known. */
function billedDay(days: DayLookup, day: Day): BilledDay | null {
  const amounts = days.get(day);
  if (!isBilled(amounts)) return null;
  let missedBefore = 0;
  while (missedBefore < LONGEST_CARRIED_DAYS && !isBilled(days.get(addDays(day, -missedBefore - 1)))) {
    missedBefore += 1;
  }
  const isFollowed = isBilled(days.get(addDays(day, 1)));
  return { day, energy: amounts.energy, cost: amounts.cost, missedBefore, isFollowed };
}

type Billed = { readonly energy: Micro; readonly cost: Micro };

const isBilled = (amounts: Amounts | undefined): amounts is Billed =>
  amounts !== undefined && amounts.energy !== null && amounts.cost !== null;
