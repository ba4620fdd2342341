// What goes wrong in a year, drawn from a seed: outages of provider and broker, restarts, and clocks that jump.

import { drawFor } from '../../src/simulator/random.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { PROPERTY } from '../support/homes.ts';
import { DAY_MS, HOUR_MS } from '../support/story.ts';
import type { YearStory } from './yearStory.ts';

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
  const ends = new Map<string, { readonly at: number; readonly end: () => unknown }>();

  function happens(what: string): void {
    happened[what] = (happened[what] ?? 0) + 1;
    book.disturbed();
  }
  function lasts(what: string, ms: number, end: () => unknown): void {
    happens(what);
    ends.set(what, { at: clock.now() + ms, end });
  }

  async function restart(what: string, offMs: number, skewMs: number, skewedMs: number): Promise<void> {
    await year.stop();
    lasts(what, offMs, async () => {
      year.skewMs = skewMs;
      await year.start();
      // NTP, hours later: from 1970 to now, or back by an hour.
      const set = () => {
        year.skewMs = 0;
      };
      if (skewMs !== 0) lasts('clock set', skewedMs, set);
    });
  }

  async function settle(until: number): Promise<void> {
    for (const [what, { at, end }] of ends) {
      if (at > until) continue;
      ends.delete(what);
      await end();
    }
  }

  return {
    /** Once a day. `calm`: nothing that makes a new daemon. */
    async draw(day: number, calm: boolean): Promise<void> {
      const draw = drawFor(seed, day, 'disturbance');
      if (draw() < 0.06 && !ends.has('provider outage')) {
        const fault = OUTAGES[Math.floor(draw() * OUTAGES.length)] ?? FAULTS.serverError;
        const prefix = draw() < 0.5 ? '/api/' : '/';
        const { remove } = simulator.switches.fault(prefix, fault);
        book.spoilt = prefix === '/' && ['truncated', 'reset_mid_body'].includes(fault.kind);
        lasts('provider outage', (0.5 + draw() * draw() * 40) * HOUR_MS, () => {
          remove();
          book.spoilt = false;
        });
      }
      if (draw() < 0.05 && !ends.has('broker outage')) {
        await year.brokerGoes();
        lasts('broker outage', draw() * 30 * HOUR_MS, year.brokerComes);
      }
      if (draw() < 0.02) {
        happens('sessions ended');
        simulator.endSessions();
        book.lost();
      }
      if (day === 40) {
        happens('renumbered');
        simulator.renumberProperty(PROPERTY + 1, PROPERTY + 2);
      }
      if (calm || !year.isUp() || ends.has('clock set')) return;
      const what = draw();
      const [off, skewed] = [draw() * HOUR_MS, (1 + draw() * 5) * HOUR_MS];
      if (what < 0.05) await restart('restart', 30 * draw() * off, 0, 0);
      else if (what < 0.065) await restart('start in 1970', 3 * off, Math.floor(off) - clock.now(), skewed);
      else if (what < 0.08) await restart('clock ahead', 3 * off, HOUR_MS, skewed);
      else if (what < 0.095) {
        happens('suspended');
        clock.jump(DAY_MS);
        await story.rest();
      }
    },
    /** Before each step: ends what has lasted long enough. */
    settle: () => settle(clock.now()),
    async end() {
      while (ends.size > 0) await settle(Number.POSITIVE_INFINITY);
      simulator.switches.clearFaults();
    },
    happened,
  };
}
