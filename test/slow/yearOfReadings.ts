// A year of one meter as a careless provider tells it: late, missing, corrected and withdrawn days, drawn from a seed.

import { Zone } from '../../src/simulator/localTime.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { drawFor } from '../../src/simulator/random.ts';

interface Amount {
  readonly kwh: number;
  readonly eur: number | null;
}

export type YearOfReadings = ReturnType<typeof yearOfReadings>;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const zone = new Zone('Europe/Dublin');

const rounded = (value: number, decimals: number) => Number(value.toFixed(decimals));

/** `quietFrom`: days from here on are told once and for good, and nothing is changed any more. */
export function yearOfReadings(
  seed: number,
  first: string,
  last: string,
  quietFrom: string,
  mayWithdrawFrom: string,
) {
  const events: ExplicitEvent[] = [];
  const gone: { readonly date: string; readonly from: number; readonly last: Amount }[] = [];
  const counts = { late: 0, missing: 0, corrected: 0, found: 0, withdrawn: 0, unpriced: 0 };
  const quiet = zone.startOfDate(quietFrom);
  const end = Date.parse(`${last}T00:00:00Z`);
  for (let utc = Date.parse(`${first}T00:00:00Z`); utc <= end; utc += DAY_MS) {
    const date = new Date(utc).toISOString().slice(0, 10);
    const draw = drawFor(seed, utc / DAY_MS, 'reading');
    const start = zone.startOfDate(date);
    const length = zone.next(start, 'day') - start;
    // Any minute of the local day, the first and the last as well: its ends are where days are cut wrongly.
    const at = start + Math.floor((draw() * length) / 60_000) * 60_000;
    const isQuiet = start >= quiet;
    const chance = (share: number) => draw() < share && !isQuiet;
    if (chance(0.02)) {
      counts.missing += 1;
      continue;
    }
    const amount = (): Amount => ({
      kwh: draw() < 0.02 ? 0 : rounded(2 + draw() * 30, 6),
      eur: rounded(0.5 + draw() * 4, 6),
    });
    const told = amount();
    const isLate = chance(0.05);
    const bookedAt = at + (isLate ? (1 + draw() * 9) * DAY_MS : draw() * 3 * HOUR_MS);
    const corrections: { from: number; kwh: number | null; eur: number | null }[] = [];
    const later = (from: number, next: { kwh: number | null; eur: number | null }) => {
      const isInTime = from < quiet;
      if (isInTime) corrections.push({ from, ...next });
      return isInTime;
    };
    const isUnpriced = chance(0.02);
    counts.late += Number(isLate);
    if (isUnpriced && later(bookedAt + (1 + draw() * 4) * DAY_MS, told)) counts.unpriced += 1;
    else if (chance(0.05) && later(bookedAt + (1 + draw() * 8) * DAY_MS, amount())) counts.corrected += 1;
    else if (chance(0.02) && later(bookedAt + (20 + draw() * 30) * DAY_MS, amount())) counts.found += 1;
    else if (chance(0.02) && date >= mayWithdrawFrom) {
      const from = bookedAt + (20 + draw() * 40) * DAY_MS;
      if (later(from, { kwh: null, eur: null })) gone.push({ date, from, last: told });
    }
    const isNeverPriced = isUnpriced && corrections.length === 0;
    events.push({
      at,
      kwh: told.kwh,
      eur: isUnpriced && !isNeverPriced ? null : told.eur,
      bookedAt,
      corrections,
    });
  }
  counts.withdrawn = gone.length;
  return {
    events,
    /** By local date: what the last reading said of days that the provider has withdrawn by then. */
    withdrawn: (now: number) =>
      new Map(gone.filter(({ from }) => from <= now).map(({ date, last: amount }) => [date, amount])),
    counts,
  };
}
