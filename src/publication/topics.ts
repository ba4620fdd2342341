// Every topic of the house below the base topic, and what is said on each.
import type { Verdict } from '../domain/health.ts';
import type { Message } from '../mqtt/message.ts';

/** Instants are ISO 8601 with offset, days `YYYY-MM-DD`; `null` = not known. */
export interface PayloadByTopic {
  'bridge/info': {
    version: string;
    started_at: string;
    schedule: string | null;
    timezone: string;
    base_topic: string;
    meters: { meter: string; account: string; identifiers: readonly string[]; topic: string }[];
    links: Record<string, string>;
  };
  'bridge/health': {
    state: Verdict;
    reasons: { code: string; message: string; hint?: string; account?: string; meter?: string }[];
    auth: Record<
      string,
      {
        state: string;
        next_attempt_at: string | null;
        access_expires_at: string | null;
        refresh_expires_at: string | null;
      }
    >;
    /** While the history is read for the first time. */
    progress: { account: string; meter: string; days_read: number; days_total: number }[];
    last_poll_at: string | null;
    last_success_at: string | null;
    next_poll_at: string | null;
    failures_in_a_row: number;
    requests_today: number;
    logins_today: number;
    last_error: string | null;
  };
  'bridge/event': { event_type: string; at: string; code: string; message: string; account?: string };
  'meter/+/state': Record<string, unknown>;
  'meter/+/usage/+': {
    interval: 'day' | 'week' | 'month';
    timezone: string;
    currency: string;
    buckets: UsageBucket[];
  };
  'meter/+/event': {
    event_type: 'new_day' | 'corrected' | 'late' | 'tariff_changed';
    at: string;
    day: string | null;
    [detail: string]: unknown;
  };
  'account/+/state': Record<string, unknown>;
  /** The configured list in short; `names` only while Home Assistant can take them as an attribute. */
  'bridge/constituencies': {
    count: number | null;
    topic: string;
    fetched_at: string | null;
    stale: boolean | null;
    names: readonly string[] | null;
  };
  /** `count` and `constituencies` are `null` when the reply had an unknown shape: it is in `raw` then. */
  'constituencies/+/+': {
    fetched_at: string;
    stale: boolean;
    query: {
      chamber: string | null;
      house_no: number | null;
      chamber_id: readonly string[];
      skip: number | null;
      limit: number | null;
    };
    count: number | null;
    /** By the service's own word, before `skip` and `limit`. */
    total: number | null;
    complete: boolean;
    constituencies: readonly ConstituencyRecord[] | null;
    raw?: unknown;
  };
}

export interface ConstituencyRecord {
  uri: string;
  name: string;
  code: string | null;
  type: string | null;
  house: { chamber: string | null; house_no: number | null; name: string | null; uri: string | null };
}

export interface UsageBucket {
  /** First instant of the stretch, and of the one after it. */
  start: string;
  end: string;
  energy_kwh: number | null;
  cost_eur: number | null;
  /** 0 as first given, one more for each correction; the highest of the days within. */
  revision: number;
  received_at: string;
}

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
    meterEvent: (meter: string) => `${base}/meter/${meter}/event`,
    accountState: (account: string) => `${base}/account/${account}/state`,
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
export const unsay = (topic: string): Message => ({ topic, payload: '', retain: true });
