// What goes wrong in a year, drawn from a seed: outages of provider and broker, restarts, and clocks that jump.

import { type Draw, drawFor } from '../../src/simulator/random.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { PROPERTY } from '../support/homes.ts';
import { HOUR_MS } from '../support/story.ts';
import type { YearStory } from './yearStory.ts';

const DAY_MS = 24 * HOUR_MS;

const OUTAGES: readonly Fault[] = [
  { kind: 'reset' },
  { kind: 'truncated' },
  { kind: 'reset_mid_body' },
  FAULTS.serverError,
  FAULTS.htmlUnavailable,
  FAULTS.captivePage,
  FAULTS.empty,
  tooMany(3_600),
];

export function openDisturbances(year: YearStory, seed: number) {
  const { story, book } = year;
  const { clock, simulator } = story;
  const happened: Record<string, number> = {};
  const ends = new Map<string, { readonly at: number; readonly end: () => Promise<void> }>();

  const isOn = (what: string) => ends.has(what);
  function lasts(what: string, ms: number, end: () => Promise<void>): void {
    happened[what] = (happened[what] ?? 0) + 1;
    ends.set(what, { at: clock.now() + ms, end });
  }

  async function providerFails(draw: Draw): Promise<void> {
    const fault = OUTAGES[Math.floor(draw() * OUTAGES.length)] ?? FAULTS.serverError;
    const prefix = draw() < 0.5 ? '/api/' : '/';
    const { remove } = simulator.switches.fault(prefix, fault);
    book.disturbed();
    book.spoilt = prefix === '/' && (fault.kind === 'truncated' || fault.kind === 'reset_mid_body');
    lasts('provider outage', (0.5 + draw() * draw() * 40) * HOUR_MS, async () => {
      remove();
      book.spoilt = false;
    });
  }

  async function restart(draw: Draw, what: string, offMs: number): Promise<void> {
    await year.stop();
    let skewMs = what === 'clock ahead' ? HOUR_MS : 0;
    if (what === 'start in 1970') skewMs = Math.floor(draw() * HOUR_MS) - clock.now();
    lasts(what, offMs, async () => {
      year.skewMs = skewMs;
      await year.start();
      // NTP, hours later: from 1970 to now, or back by an hour.
      if (skewMs !== 0) {
        lasts('clock set', (1 + draw() * 5) * HOUR_MS, async () => {
          year.skewMs = 0;
        });
      }
    });
  }

  async function disturb(draw: Draw, day: number, calm: boolean): Promise<void> {
    const chance = (share: number) => draw() < share;
    if (chance(0.06) && !isOn('provider outage')) await providerFails(draw);
    if (chance(0.05) && !isOn('broker outage')) {
      await year.brokerGoes();
      lasts('broker outage', draw() * 30 * HOUR_MS, year.brokerComes);
    }
    if (chance(0.02)) {
      happened['sessions ended'] = (happened['sessions ended'] ?? 0) + 1;
      simulator.endSessions();
      book.lost();
    }
    if (day === 40) {
      happened.renumbered = 1;
      simulator.renumberProperty(PROPERTY + 1, PROPERTY + 2);
    }
    if (calm || !year.isUp() || isOn('clock set')) return;
    const what = draw();
    if (what < 0.05) await restart(draw, 'restart', draw() * draw() * 30 * HOUR_MS);
    else if (what < 0.065) await restart(draw, 'start in 1970', draw() * 3 * HOUR_MS);
    else if (what < 0.08) await restart(draw, 'clock ahead', draw() * 3 * HOUR_MS);
    else if (what < 0.095) {
      happened.suspended = (happened.suspended ?? 0) + 1;
      clock.jump(DAY_MS);
      book.disturbed();
      await story.rest();
    }
  }

  async function settle(until = clock.now()): Promise<void> {
    for (const [what, { at, end }] of ends) {
      if (at > until) continue;
      ends.delete(what);
      await end();
    }
  }

  return {
    /** Once a day. `calm`: nothing that makes a new daemon. */
    draw: (day: number, calm: boolean) => disturb(drawFor(seed, day, 'disturbance'), day, calm),
    /** Before each step: ends what has lasted long enough. */
    settle: () => settle(),
    async end() {
      while (ends.size > 0) await settle(Number.POSITIVE_INFINITY);
      simulator.switches.clearFaults();
    },
    happened,
  };
}
