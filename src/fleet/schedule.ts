// Each account is due at a tick of the schedule, and later by its own share of the shortest time between two ticks, so
// that the polls of thousands come evenly.
import type { CronTimes } from '../engine/schedule.ts';
import { shareOf } from '../foundation/share.ts';

const AT_ONCE = 100;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export type Schedule = ReturnType<typeof openSchedule>;

export function openSchedule(cron: CronTimes, now: number) {
  const first = cron.next(AT_ONCE);
  const gaps = first.slice(1).map((tick, at) => tick - (first[at] ?? 0));
  /** The span over which the accounts are spread. */
  const spanMs = Math.min(DAY_MS, ...gaps);
  let ticks = [...ticksBefore(first[0] ?? now), ...first];

  /** Some accounts may still be due of these. The clock of this process may be ahead. */
  function ticksBefore(tick: number): number[] {
    const step = spanMs < MINUTE_MS ? SECOND_MS : MINUTE_MS;
    const most = Math.min(DAY_MS / MINUTE_MS, Math.ceil((tick - now + spanMs) / step));
    const looked = Array.from({ length: Math.max(0, most) }, (_, n) => tick - (most - n) * step);
    return looked.filter((at) => cron.matches(at));
  }

  return {
    /** The account's next poll after this moment. */
    nextPoll(account: string, now: number): number {
      const delay = shareOf(account) * spanMs;
      const isLater = (tick: number) => tick + delay > now;
      // Asked in time: the ticks of node-cron begin at the present moment, and one that has passed may still be owed.
      if (!ticks.slice(0, -1).some((tick) => tick > now)) {
        const last = ticks.at(-1) ?? 0;
        ticks = [...ticks.slice(-3), ...cron.next(AT_ONCE).filter((tick) => tick > last)];
      }
      return (ticks.find(isLater) ?? now + spanMs) + delay;
    },
  };
}
