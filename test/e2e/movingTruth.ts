// A provider whose readings keep changing: late days, more readings of a day, and corrections, drawn from a seed.
import { systemClock } from '../../src/foundation/clock.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import type { Draw } from '../../src/simulator/random.ts';
import { booked } from '../support/homes.ts';

interface Total {
  readonly kwh: unknown;
  readonly eur: unknown;
}

const DAY_MS = 86_400_000;
const DAYS_KNOWN = 100;
const DAYS_TO_COME = 30;
const MOST_READINGS = 300;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 700;

export function openMovingTruth(draw: Draw) {
  const today = Math.floor(systemClock.now() / DAY_MS);
  const first = today - DAYS_KNOWN - DAYS_TO_COME;
  const round = (value: number) => Math.round(value * 1000) / 1000;
  const on = (day: number): ExplicitEvent => {
    const kwh = round(1 + draw() * 30);
    return { at: day * DAY_MS + 30 * 60_000, kwh, eur: round(kwh * 0.124 + draw()) };
  };
  const events = Array.from({ length: DAYS_KNOWN }, (_, at) => on(first + at));
  const versions: string[] = [];
  let timer: NodeJS.Timeout | undefined;

  function change(): void {
    if (events.length < MOST_READINGS && draw() < 0.3) {
      const isLate = events.length < DAYS_KNOWN + DAYS_TO_COME;
      events.push(on(isLate ? first + events.length : first + Math.floor(draw() * DAYS_KNOWN)));
      return;
    }
    const at = Math.floor(draw() * events.length);
    const event = events[at];
    if (event) events[at] = { ...event, kwh: round(1 + draw() * 30), eur: round(draw() * 9) };
  }

  const written = ({ kwh, eur }: Total) => `${Number(kwh).toFixed(3)} ${Number(eur).toFixed(3)}`;
  return {
    /** The household's readings, read live by the simulator. */
    events,
    /** The first day that has a reading. */
    since: new Date(first * DAY_MS).toISOString().slice(0, 10),
    /** How often the truth has changed. */
    get versions() {
      return versions.length;
    },
    /** Begins to change it, every now and then. */
    start(simulator: Simulator): void {
      const note = () => void versions.push(written(booked(simulator)));
      const plan = () => {
        timer = setTimeout(
          () => {
            change();
            note();
            plan();
          },
          SHORTEST_PAUSE_MS + draw() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS),
        );
      };
      if (versions.length === 0) note();
      plan();
    },
    stop: () => clearTimeout(timer),
    /** Which version these totals are, from `from` on; -1: none. */
    versionOf: (total: Total, from: number) => versions.indexOf(written(total), Math.max(0, from)),
  };
}
