// Writes a document soon after what it is written from has changed; many changes in a row share one write.
import type { Clock } from '../foundation/clock.ts';
import { Throttle } from '../foundation/limits.ts';

export type Autosave = ReturnType<typeof autosave>;

export function autosave(write: () => Promise<unknown>, clock: Clock) {
  const throttle = new Throttle(clock);
  let isChanged = false;
  let isHurried = false;
  let resting = new AbortController();
  let running: Promise<void> | null = null;

  async function writeChanges(): Promise<void> {
    // Changes of one moment are one write.
    await Promise.resolve();
    while (isChanged) {
      const restMs = throttle.restMs();
      if (restMs > 0 && !isHurried) {
        resting = new AbortController();
        await clock.sleep(restMs, resting.signal);
      }
      isChanged = false;
      const end = throttle.begin();
      await write();
      end();
    }
    running = null;
  }

  return {
    changed(): void {
      isChanged = true;
      running ??= writeChanges();
    },

    /** Resolves once every change so far has been written. */
    async saved(): Promise<void> {
      isHurried = true;
      resting.abort();
      while (running !== null) await running;
      isHurried = false;
    },
  };
}
