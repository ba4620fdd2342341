// A year of one meter as a careless provider tells it: late, missing, corrected and withdrawn days, drawn from a seed.

import { Zone } from '../../src/simulator/localTime.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { drawFor } from '../../src/simulator/random.ts';

interface Amount {
  readonly kwh: number;
  readonly eur: number;
}

const DAY_MS = 86_400_000;
const LAST = '2026-03-31';
/** Days from here on are told once and for good, and nothing is changed any more. */
const QUIET_FROM = '2026-01-10';
const MAY_WITHDRAW_FROM = '2025-01-15';
const zone = new Zone('Europe/Dublin');

export function yearOfReadings(seed: number, first: string) {
  const events: ExplicitEvent[] = [];
  const gone: { readonly date: string; readonly from: number; readonly last: Amount }[] = [];
  const quiet = zone.startOfDate(QUIET_FROM);
  for (let utc = Date.parse(first); utc <= Date.parse(LAST); utc += DAY_MS) {
    const date = new Date(utc).toISOString().slice(0, 10);
    const draw = drawFor(seed, utc / DAY_MS, 'reading');
    const start = zone.startOfDate(date);
    const chance = (share: number) => draw() < share && start < quiet;
    const amount = (): Amount => ({
      kwh: draw() < 0.02 ? 0 : Number((2 + draw() * 30).toFixed(6)),
      eur: Number((0.5 + draw() * 4).toFixed(6)),
    });
    // A missing day.
    if (chance(0.02)) continue;
    // Any minute of the local day, the first and the last as well: its ends are where days are cut wrongly.
    const at = start + Math.floor((draw() * (zone.next(start, 'day') - start)) / 60_000) * 60_000;
    const told = amount();
    const bookedAt = at + (chance(0.05) ? (1 + draw() * 9) * DAY_MS : (draw() * DAY_MS) / 8);
    /** `null`: too late for a change. */
    const within = (least: number, most: number) => {
      const from = bookedAt + (least + draw() * (most - least)) * DAY_MS;
      return from < quiet ? from : null;
    };
    let eur: number | null = told.eur;
    let change: { readonly from: number; readonly kwh: number | null; readonly eur: number | null } | null =
      null;
    const changesTo = (next: Amount | { kwh: null; eur: null }, from: number | null) => {
      change = from === null ? null : { from, ...next };
    };
    const fate = start < quiet ? draw() : 1;
    if (fate < 0.02) {
      changesTo(told, within(1, 5));
      if (change) eur = null;
    } else if (fate < 0.07) changesTo(amount(), within(1, 9));
    else if (fate < 0.09) changesTo(amount(), within(20, 50));
    else if (fate < 0.11 && date >= MAY_WITHDRAW_FROM) {
      const from = within(20, 60);
      changesTo({ kwh: null, eur: null }, from);
      if (from !== null) gone.push({ date, from, last: told });
    }
    events.push({ at, kwh: told.kwh, eur, bookedAt, corrections: change ? [change] : [] });
  }
  return {
    events,
    /** By local date: what the last reading said of days that the provider has withdrawn by then. */
    withdrawn: (now: number) =>
      new Map(gone.filter(({ from }) => from <= now).map(({ date, last: amount }) => [date, amount])),
  };
}
