// The flats of a fleet: invented people with one meter each, of which a test lets the provider book further days.
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { home, person, reading } from '../support/homes.ts';

const DAY_MS = 86_400_000;
const OLDEST_DAYS_AGO = 30;
/** Within what is asked for again at each poll. */
const NEWEST_DAYS_AGO = 12;

/** Of the name and the secrets of each, so that a look for these finds what is left of any. */
export const MARKS = ['canarywood', 'pässwort of', 'CANARY-CODE'];

export interface Resident extends AccountOptions {
  readonly id: string;
  readonly property: number;
  readonly meter: string;
  /** The provider books one more day, if there is one before today. */
  readonly bookOneMore: () => boolean;
}

const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

/** From when on the fleet asks for readings. */
export const SINCE = dayBefore(OLDEST_DAYS_AGO + 5);

export function residents(count: number, seed: number): Resident[] {
  return Array.from({ length: count }, (_, n) => {
    const draw = drawFor(seed, n, 'resident');
    const read = (daysAgo: number) => {
      const kwh = Math.round(draw() * 20_000) / 1000;
      return reading(dayBefore(daysAgo), kwh, Math.round(124 * kwh + 686) / 1000);
    };
    let daysAgo = OLDEST_DAYS_AGO;
    const events = [];
    while (daysAgo > NEWEST_DAYS_AGO) events.push(read(daysAgo--));
    // No amount of millionths is odd.
    const property = 7_531_001 + 2 * n;
    const meter = String(40_100_000 + n);
    const id = `flat-${n}`;
    return {
      ...person(id, [home(meter, { events }, property)]),
      id,
      property,
      meter,
      bookOneMore() {
        if (daysAgo < 1) return false;
        events.push(read(daysAgo--));
        return true;
      },
    };
  });
}
