// Keeps a document true to what it is written from: soon after each change, and with many changes a few times for all.
import type { Clock } from '../../foundation/clock.ts';
import { openShare } from './share.ts';

export interface Upkeep {
  /** What it is written from has changed. */
  changed(): void;
  /** Resolves once every change so far has been written. */
  saved(): Promise<void>;
}

/** `write` never rejects. */
export function openUpkeep(write: () => Promise<void>, clock: Clock): Upkeep {
  const share = openShare(clock);
  let isChanged = false;
  let flight: Promise<void> | null = null;
  let stopWaiting: (() => void) | null = null;

  async function writeOnce(): Promise<void> {
    isChanged = false;
    const end = share.begin();
    await write();
    end();
  }

  function plan(): void {
    if (flight !== null || stopWaiting !== null || !isChanged) return;
    const rest = share.restMs();
    if (rest > 0) {
      stopWaiting = clock.after(rest, () => {
        stopWaiting = null;
        plan();
      });
      return;
    }
    flight = writeOnce().finally(() => {
      flight = null;
      plan();
    });
  }

  return {
    changed() {
      isChanged = true;
      plan();
    },
    async saved() {
      while (isChanged || flight !== null) {
        stopWaiting?.();
        stopWaiting = null;
        await (flight ?? writeOnce());
      }
    },
  };
}
