// The events of requests that were understood and are not done now.
import { RateLimit } from '../../foundation/limits.ts';
import type { Message } from '../../mqtt/message.ts';
import type { Context, SkippedRequest } from '../context.ts';

const WHY_SKIPPED: Readonly<Record<SkippedRequest['reason'], string>> = {
  cool_down: 'the provider was asked less than five minutes ago',
  retry_after: 'the service has asked for a pause',
  rate_limit: 'too many questions were asked within five minutes',
};
const MINUTE_MS = 60_000;
const MOST_IN_A_MINUTE = 10;

/** A flood of requests does not become a flood of events. */
export function skippedRequests({
  topics,
  zone,
  clock,
}: Pick<Context, 'topics' | 'zone' | 'clock'>): (skipped: SkippedRequest) => Message[] {
  const limit = new RateLimit(clock, MOST_IN_A_MINUTE, MINUTE_MS);
  return ({ request, reason, until }) => {
    if (!limit.tryStart()) return [];
    // Rounded up to the minute.
    const time = zone.iso(until + MINUTE_MS - 1).slice(11, 16);
    const message = `Not done now, because ${WHY_SKIPPED[reason]}. It is possible again at ${time}.`;
    const at = zone.iso(clock.now());
    const told = { event_type: 'request_skipped', at, code: reason, message, request } as const;
    return [topics.message('bridge/event', [], { ...told, next_at: zone.iso(until) })];
  };
}
