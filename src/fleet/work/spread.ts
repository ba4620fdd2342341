// When each account is due: at a moment of its own within every interval of the schedule, so that polls come evenly.
import { createHash } from 'node:crypto';

/** The place of an account in the interval, from 0 to 1: always the same. */
const placeOf = (account: string): number =>
  createHash('sha1').update(account).digest().readUInt32BE(0) / 2 ** 32;

/**
 * Milliseconds until the account's next poll, at least half an interval from now. `tick`: any tick of the schedule;
 * `now`: both in epoch milliseconds. `stepMs`: from one tick to the next.
 */
export function untilNextPoll(account: string, now: number, tick: number, stepMs: number): number {
  const moment = tick + placeOf(account) * stepMs;
  const earliest = now + stepMs / 2;
  return moment + Math.ceil((earliest - moment) / stepMs) * stepMs - now;
}
