// How often requests over MQTT may make the daemon ask the provider.
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Answer } from '../../mqtt/requests.ts';
import type { Poller } from '../polling/poll.ts';

export interface CoolDown {
  /** The answer to give instead of asking, or `null`: go on, and the cool-down begins anew. */
  hold(): Answer | null;
}

const COOL_DOWN_MS = 5 * 60_000;

export function openCoolDown(poller: Poller, zone: Zone, clock: Clock): CoolDown {
  let lastAt: number | null = null;
  const skipped = (reason: string, nextAt: number): Answer => ({
    status: 'skipped',
    data: { reason, next_at: zone.iso(nextAt) },
  });
  return {
    hold() {
      const now = clock.monotonic();
      if (lastAt !== null && now - lastAt < COOL_DOWN_MS) {
        return skipped('cool_down', clock.now() + COOL_DOWN_MS - (now - lastAt));
      }
      const patientUntil = poller.patientUntil();
      if (patientUntil !== null) return skipped('retry_after', patientUntil);
      lastAt = now;
      return null;
    },
  };
}
