// Home Assistant's birth message: it has started, and wants to hear everything again.
import type { Clock } from '../../foundation/clock.ts';
import type { Incoming } from '../../mqtt/message.ts';

export interface Birth {
  readonly subscriptions: readonly string[];
  concerns(incoming: Incoming): boolean;
  hear(incoming: Incoming): Promise<void>;
}

const LONGEST_WAIT_MS = 2_000;

export function birthOf(
  discoveryPrefix: string | false,
  parts: { readonly clock: Clock; readonly random: () => number; readonly onBirth: () => void },
): Birth {
  const topic = discoveryPrefix === false ? null : `${discoveryPrefix}/status`;
  return {
    subscriptions: topic === null ? [] : [topic],
    concerns: (incoming) => incoming.topic === topic,
    async hear({ retained, payload }) {
      if (retained || payload.toString('utf8') !== 'online') return;
      // It meets all its bridges at this moment: not all at once.
      await parts.clock.sleep(parts.random() * LONGEST_WAIT_MS);
      parts.onBirth();
    },
  };
}
