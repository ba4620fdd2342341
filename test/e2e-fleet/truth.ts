// What the fleet tells against what the provider has booked.
import { expect } from 'vitest';
import { turn, waitFor } from '../support/waitFor.ts';
import type { Fleet } from './fleet.ts';
import type { Listener } from './listener.ts';
import type { Resident } from './residents.ts';

// A login that was cut off twice is not tried again for a quarter of an hour.
const LONGEST_MS = 17 * 60_000;
const LOOK_MS = 500;

/** Waits until the topics say what the provider has booked, and compares the view with it. */
export async function waitForTruth(fleet: Fleet, listener: Listener, people = fleet.people): Promise<void> {
  const stateOf = ({ meter }: Resident) => listener.json(`heat2mqtt/meter/${meter}/state`);
  const isTold = (one: Resident) => {
    const { kwh, eur } = fleet.truthOf(one);
    const { energy_total, cost_total } = stateOf(one);
    return energy_total === kwh && cost_total === eur;
  };
  const untold = () => people.filter((one) => !isTold(one));
  // The provider lives in this process: looking all the time would take its time away.
  const areTold = () => turn(LOOK_MS).then(() => people.every(isTold));
  await waitFor('the topics to tell the truth', areTold, {
    timeoutMs: LONGEST_MS,
    diagnose: () => ({
      count: untold().length,
      first: untold()
        .slice(0, 3)
        .map((one) => ({ ...one, groups: null, truth: fleet.truthOf(one), told: stateOf(one) })),
      said: fleet.said().slice(-4_000),
    }),
  });
  const rows = await fleet.postgres.query<{ meter: string; kwh: number; eur: number }>(
    'SELECT meter, sum(energy_kwh)::float8 AS kwh, sum(cost)::float8 AS eur FROM heat2mqtt_views.reading GROUP BY meter',
  );
  const told = new Map(rows.map(({ meter, ...sums }) => [meter, sums]));
  expect(people.filter((one) => differ(told.get(one.meter), fleet.truthOf(one)))).toEqual([]);
}

interface Sums {
  readonly kwh: number;
  readonly eur: number;
}

const differ = (told: Sums | undefined, { kwh, eur }: Sums): boolean => told?.kwh !== kwh || told.eur !== eur;
