// A clock moved by hand: sleepers wake in the order of their times; the wall clock may jump, or the machine sleep.
import type { Clock } from '../../src/foundation/clock.ts';

export interface HandClock extends Clock {
  /** Both clocks move on at once; whoever is due wakes, the earliest first. */
  advance(ms: number): void;
  /** Both clocks move on from one sleeper's time to the next; `settle` lets the woken finish in between. */
  pass(ms: number, settle: () => Promise<unknown>): Promise<void>;
  /** The wall clock alone steps, forwards or back: NTP, or a machine that was suspended in between. */
  jump(ms: number): void;
  /** Milliseconds until the next sleeper is due; `Infinity` when all are awake. */
  readonly untilNext: number;
  /** How many are asleep: a timer that is never cleared is a leak. */
  readonly sleepers: number;
}

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

export function handClock(start: string): HandClock {
  const begin = Date.parse(start);
  let monotonic = 0;
  let jumped = 0;
  const sleepers = new Set<Sleeper>();
  const due = (until: number): Sleeper[] =>
    [...sleepers].filter((one) => one.until <= until).sort((a, b) => a.until - b.until);

  function advance(ms: number): void {
    monotonic += ms;
    for (const sleeper of due(monotonic)) sleeper.wake();
  }

  function after(ms: number, step: () => void): () => void {
    const sleeper = {
      until: monotonic + ms,
      wake: () => {
        sleepers.delete(sleeper);
        step();
      },
    };
    sleepers.add(sleeper);
    return () => void sleepers.delete(sleeper);
  }

  return {
    now: () => begin + monotonic + jumped,
    monotonic: () => monotonic,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = () => {
          cancel();
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const cancel = after(ms, wake);
        if (signal?.aborted) wake();
        else signal?.addEventListener('abort', wake, { once: true });
      }),
    after,
    advance,
    async pass(ms, settle) {
      const end = monotonic + ms;
      await settle();
      for (let next = due(end)[0]; next; next = due(end)[0]) {
        advance(Math.max(0, next.until - monotonic));
        await settle();
      }
      advance(end - monotonic);
      await settle();
    },
    jump(ms) {
      jumped += ms;
    },
    get untilNext() {
      return Math.min(...Array.from(sleepers, ({ until }) => until)) - monotonic;
    },
    get sleepers() {
      return sleepers.size;
    },
  };
}
