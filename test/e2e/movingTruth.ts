// A provider whose readings keep changing: late days, more readings of a day, and corrections, drawn from a seed.
import { systemClock } from '../../src/foundation/clock.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import type { Draw } from '../../src/simulator/random.ts';
import { booked } from '../support/homes.ts';

export interface MovingTruth {
  /** The household's readings, read live by the simulator. */
  readonly events: ExplicitEvent[];
  /** The first day that has a reading. */
  readonly since: string;
  /** How often the truth has changed. */
  readonly versions: number;
  /** Begins to change it, every now and then. */
  start(simulator: Simulator): void;
  stop(): void;
  /** Which version these totals are, from `from` on; -1: none. */
  versionOf(total: { kwh: unknown; eur: unknown }, from: number): number;
}

const DAY_MS = 86_400_000;
const DAYS_KNOWN = 100;
const DAYS_TO_COME = 30;
const MOST_READINGS = 300;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 700;

export function openMovingTruth(draw: Draw): MovingTruth {
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

  const written = ({ kwh, eur }: { kwh: unknown; eur: unknown }) =>
    `${Number(kwh).toFixed(3)} ${Number(eur).toFixed(3)}`;
  return {
    events,
    since: new Date(first * DAY_MS).toISOString().slice(0, 10),
    get versions() {
      return versions.length;
    },
    start(simulator) {
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
    versionOf: (total, from) => versions.indexOf(written(total), Math.max(0, from)),
  };
}
