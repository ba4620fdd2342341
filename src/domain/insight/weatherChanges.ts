// The comparisons of past months, which a new day or a new temperature leaves as they were: each costs a fit of a year.
import type { Ledger } from '../ledger.ts';
import type { Day, DaySpan } from '../period.ts';
import type { Weather, WeatherSilence } from './degreeDays.ts';
import { compareWithYearBefore, type WeatherChange } from './weatherChange.ts';

export type ChangeOver = (span: DaySpan) => WeatherChange | WeatherSilence | null;

/** For one meter: comparisons with the year before, `null` without weather. Those are kept whose days are the same as at the last call. */
export function weatherChanges(): (days: Ledger['days'], weather: Weather | null) => ChangeOver {
  let last: { readonly days: Ledger['days']; readonly weather: Weather } | null = null;
  const kept = new Map<string, { readonly to: Day; readonly change: WeatherChange | WeatherSilence }>();
  return (days, weather) => (span) => {
    if (weather === null) return null;
    if (last?.days !== days || last.weather !== weather) {
      const isSameBase = last?.weather.base === weather.base;
      const changed = [
        firstDifference(last?.days, days),
        firstDifference(last?.weather.temperatures, weather.temperatures),
      ];
      for (const [key, { to }] of kept)
        if (!isSameBase || changed.some((day) => day !== null && day < to)) kept.delete(key);
      last = { days, weather };
    }
    const key = `${span.from} ${span.to}`;
    const known = kept.get(key);
    if (known) return known.change;
    const change = compareWithYearBefore(days, weather, span);
    kept.set(key, { to: span.to, change });
    return change;
  };
}

function firstDifference(before: ReadonlyMap<Day, unknown> | undefined, after: ReadonlyMap<Day, unknown>) {
  if (before === after) return null;
  const days = [...new Set([...(before?.keys() ?? []), ...after.keys()])];
  const different = days.filter((day) => before?.get(day) !== after.get(day));
  return different.reduce<Day | null>((first, day) => (first === null || day < first ? day : first), null);
}
