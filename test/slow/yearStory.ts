// One year of the whole daemon in twenty-minute steps, with what it does counted.
import { expect } from 'vitest';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { EVENT, home, METER, PROPERTY, person, STATE, USAGE } from '../support/homes.ts';
import { openStory } from '../support/story.ts';
import { openSessionBook } from './sessionBook.ts';
import { yearOfReadings } from './yearOfReadings.ts';

export const STEP_MS = 20 * 60_000;
const OTHER = '70418300';

export type YearStory = Awaited<ReturnType<typeof openYear>>;

export async function openYear(seed: number, first: string, at: string) {
  const meters = [
    { meter: METER, year: yearOfReadings(seed, first) },
    { meter: OTHER, year: yearOfReadings(seed + 7919, first) },
  ] as const;
  const homes = meters.map(({ meter, year: { events } }, n) => home(meter, { events }, PROPERTY + n));
  let skewMs = 0;
  const story = await openStory({
    at,
    accounts: [person('me', homes)],
    daemonClock: (clock) => ({ ...clock, now: () => clock.now() + skewMs }),
  });
  const { simulator, clock } = story;
  const lives = { accessSeconds: 14_400, refreshSeconds: 18_000, sessionMaxSeconds: 30 * 86_400 };
  Object.assign(simulator.switches.token, lives);
  const book = openSessionBook(simulator, clock.now, () => clock.now() + skewMs);
  /** Polls by their end. */
  const polls = { ok: 0, failed: 0, asked: 0 };
  /** Lines of the log that nobody should have to read. */
  const alarms: string[] = [];
  const events = new Map<string, number>();
  /** How often each day of a meter was told as new. */
  const newDays = new Map<string, number>();
  let daemon: Daemon | null = null;
  let probe = await story.listen();
  const states = new Map<string, Record<string, unknown> | undefined>();

  function count(): void {
    for (const line of story.log) {
      if (line.msg === 'polled') polls.ok += 1;
      if (line.msg === 'poll failed') polls.failed += 1;
      if (line.level === 'error' || line.level === 'fatal') alarms.push(JSON.stringify(line));
    }
    story.forgetLog();
    for (const { meter } of meters) {
      const topic = STATE.replace(METER, meter);
      if (probe.last(topic)) states.set(meter, probe.json(topic));
      for (const { event_type, day } of probe.all(EVENT.replace(METER, meter))) {
        events.set(event_type, (events.get(event_type) ?? 0) + 1);
        const told = `${meter} ${day}`;
        if (event_type === 'new_day') newDays.set(told, (newDays.get(told) ?? 0) + 1);
      }
    }
    probe.forget();
    polls.asked = simulator.counters.requests[USAGE] ?? 0;
    book.look();
  }

  return {
    story,
    book,
    meters,
    polls,
    alarms,
    events,
    newDays,
    /** How far the daemon's wall clock is off the provider's, in milliseconds. */
    set skewMs(ms: number) {
      skewMs = ms;
      book.disturbed();
    },
    async start() {
      book.disturbed();
      daemon = await story.start({ usage: { history_since: first } });
      await story.rest();
      count();
    },
    async stop() {
      if (daemon) expect(await story.stop(daemon)).toBeLessThanOrEqual(8_000);
      daemon = null;
      count();
    },
    isUp: () => daemon !== null,
    async brokerGoes() {
      await story.broker.stop();
      await story.rest();
    },
    async brokerComes() {
      await story.broker.restart();
      await probe.stop();
      probe = await story.listen();
      states.clear();
    },
    /** One step of time; the schedule has a poll every four hours. */
    async step() {
      clock.advance(STEP_MS);
      await story.rest();
      count();
    },
    /** The last state that was published of a meter. */
    state: (meter: string) => states.get(meter),
  };
}
