// Words about what others send: the first is told at once, the rest of an hour as a number; a flood must not fill a disk.
import type { Clock } from '../foundation/clock.ts';

export interface Sparing {
  /** Calls `say` unless the same kind was said within the last hour; `unsaid`: how many were kept back since. */
  tell(kind: string, say: (unsaid: { readonly repeated?: number }) => void): void;
}

const PAUSE_MS = 3_600_000;

/** `kind` must come from a short list of our own, never from what was sent. */
export function openSparing(clock: Clock): Sparing {
  const told = new Map<string, { readonly at: number; repeated: number }>();
  return {
    tell(kind, say) {
      const last = told.get(kind);
      if (last && clock.monotonic() - last.at < PAUSE_MS) {
        last.repeated += 1;
        return;
      }
      told.set(kind, { at: clock.monotonic(), repeated: 0 });
      say(last && last.repeated > 0 ? { repeated: last.repeated } : {});
    },
  };
}
