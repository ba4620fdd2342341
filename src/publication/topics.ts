// Every topic of the house below the base topic, and how a payload gets there.
import type { Message } from '../mqtt/message.ts';
import type { PayloadByTopic } from './payloads/payloads.ts';

export const STATE_TOPIC = 'bridge/state';

/** Topic builder for one base topic. */
export function topicsBelow(base: string) {
  return {
    state: `${base}/${STATE_TOPIC}`,
    info: `${base}/bridge/info`,
    health: `${base}/bridge/health`,
    bridgeEvent: `${base}/bridge/event`,
    request: (what: string) => `${base}/bridge/request/${what}`,
    requests: `${base}/bridge/request/+`,
    meterState: (meter: string) => `${base}/meter/${meter}/state`,
    meterUsage: (meter: string, interval: string) => `${base}/meter/${meter}/usage/${interval}`,
    meterHistory: (meter: string) => `${base}/meter/${meter}/history`,
    meterEvent: (meter: string) => `${base}/meter/${meter}/event`,
    accountState: (account: string) => `${base}/account/${account}/state`,
    accountInvoices: (account: string) => `${base}/account/${account}/invoices`,
    accountEvent: (account: string) => `${base}/account/${account}/event`,
    constituenciesSummary: `${base}/bridge/constituencies`,
    constituencies: (place: string) => `${base}/constituencies/${place}`,
  };
}

export type Topics = ReturnType<typeof topicsBelow>;

/** A JSON payload with its schema number. */
export function say<T extends keyof PayloadByTopic>(
  _kind: T,
  topic: string,
  payload: PayloadByTopic[T],
  { retain }: { retain: boolean },
): Message {
  return { topic, payload: JSON.stringify({ schema: 1, ...payload }), retain };
}

/** Withdraws a retained topic. */
export const clear = (topic: string): Message => ({ topic, payload: '', retain: true });
