// Daily means of the outdoor temperature, from those of hours.
import type { Day, Zone } from '../period.ts';
import type { Temperatures } from './degreeDays.ts';

/** A day with fewer has no mean: it is not over yet, or the sensor was away. */
const FEWEST_HOURS = 20;
/** °C. No place on earth is colder or warmer: the sensor is wrong. */
const PLAUSIBLE = { from: -60, to: 60 };

/** Of local days, °C to two decimals, oldest first; `hours`: means in °C by the epoch milliseconds of their beginning. */
export function dailyMeans(hours: ReadonlyMap<number, number>, zone: Zone): Temperatures {
  const days = new Map<Day, number[]>();
  for (const [start, mean] of [...hours].sort(([a], [b]) => a - b)) {
    if (!(mean >= PLAUSIBLE.from && mean <= PLAUSIBLE.to)) continue;
    const day = zone.dayAt(start);
    const known = days.get(day);
    if (known) known.push(mean);
    else days.set(day, [mean]);
  }
  const whole = [...days].filter(([, means]) => means.length >= FEWEST_HOURS);
  return new Map(
    whole.map(([day, means]) => {
      const sum = means.reduce((all, mean) => all + mean, 0);
      return [day, Math.round((100 * sum) / means.length) / 100];
    }),
  );
}
