// A home whose page is looked at: a year of readings with gaps, the built program, and its address.

import { addDays } from '../../src/domain/period.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { openHome } from '../e2e/program.ts';
import { home, METER, PROPERTY, person, reading } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';

export const TODAY = new Date().toLocaleDateString('sv', { timeZone: 'Europe/Dublin' });
export const SINCE = addDays(TODAY, -420);
/** How many days ago nothing was read. */
const GAPS = [12, 13, 20, 380];

export function yearOfReadings(): ExplicitEvent[] {
  return Array.from({ length: 420 }, (_, index) => index)
    .filter((index) => !GAPS.includes(420 - index))
    .map((index) => {
      const kwh = 8 + 7 * Math.cos((index / 365) * 2 * Math.PI) + ((index * 7) % 5);
      return reading(addDays(SINCE, index), kwh, kwh * 0.124 + 0.686);
    });
}

export const me = (events = yearOfReadings()): AccountOptions =>
  person('me', [home(METER, { events }, PROPERTY)]);

type Over = Readonly<Record<string, unknown>>;

/** To be called from within a test. `over` lies over the configuration; a function is told the simulator's addresses. */
export async function openPage(who = me(), over: Over | ((urls: Simulator['urls']) => Over) = {}) {
  const opened = await openHome(who);
  const { simulator, httpPort } = opened;
  const config = await opened.configure({
    usage: { history_since: SINCE, reading_closes: 'same_day' },
    constituencies: { base_url: simulator.urls.constituencies, house_no: 34 },
    mqtt: { embedded: { port: 0, host: '127.0.0.1' } },
    ...(typeof over === 'function' ? over(simulator.urls) : over),
  });
  const start = () => opened.start(config);
  const url = `http://127.0.0.1:${httpPort}/`;
  const program = start();
  const isServed = () =>
    fetch(`${url}session`).then(
      ({ ok }) => ok,
      () => false,
    );
  const diagnose = () => program.errors + program.output;
  await waitFor('the page', isServed, { diagnose });
  await waitFor('the broker', () => program.output.includes('connected to the broker'), { diagnose });
  return { ...opened, url, program, start };
}
