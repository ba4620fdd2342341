// Prometheus text about the bridge, written when it is asked for.
import { Failure } from '../foundation/failure.ts';

/** Counts since the start of the process. */
export class Counters {
  polls = 0;
  readonly pollFailures: Record<string, number> = {};
  requests = 0;
  requestSeconds = 0;
  requestsUnanswered = 0;
  logins = 0;
  refreshes = 0;

  countRequest({ ms, ok }: { readonly ms: number; readonly ok: boolean }): void {
    this.requests += 1;
    this.requestSeconds += ms / 1000;
    if (!ok) this.requestsUnanswered += 1;
  }

  /** `fault`: what the poll of an account failed of, or `null`. */
  countPoll(fault: unknown): void {
    this.polls += 1;
    if (fault === null) return;
    const code = fault instanceof Failure ? fault.code : 'unexpected';
    this.pollFailures[code] = (this.pollFailures[code] ?? 0) + 1;
  }
}

/** Times in epoch milliseconds. */
export interface MetricsSource extends Omit<Counters, 'countRequest' | 'countPoll'> {
  readonly startedAt: number;
  readonly accessExpiresAt: Readonly<Record<string, number | null>>;
  readonly published: number;
  readonly waiting: number;
  readonly connected: boolean;
  readonly meters: readonly {
    readonly meter: string;
    readonly days: number;
    readonly revisions: number;
    readonly readingAt: number | null;
  }[];
  readonly now: number;
}

// A counter that only appears with its first count hides that first one from Prometheus.
const NONE_FAILED = {
  provider_unreachable: 0,
  provider_not_trusted: 0,
  provider_refused: 0,
  unexpected_reply: 0,
  incomplete_reply: 0,
  issuer_unreachable: 0,
  issuer_not_trusted: 0,
  bad_credentials_or_locked: 0,
};

type Kind = 'counter' | 'gauge';
type Labels = Readonly<Record<string, string>>;
type Sample = readonly [Labels, number];

/** One metric, with its name after `heat2mqtt_`. */
export function metricLines(kind: Kind, name: string, help: string, samples: readonly Sample[]): string[] {
  const full = `heat2mqtt_${name}${kind === 'counter' ? '_total' : ''}`;
  const head = [`# HELP ${full} ${help}`, `# TYPE ${full} ${kind}`];
  return [...head, ...samples.map(([labels, value]) => `${full}${written(labels)} ${value}`)];
}

const ofMeters =
  (read: (meter: MetricsSource['meters'][number], now: number) => number | null) =>
  ({ meters, now }: MetricsSource): readonly Sample[] =>
    meters.flatMap((meter): Sample[] => {
      const value = read(meter, now);
      return value === null ? [] : [[{ meter: meter.meter }, value]];
    });

const METRICS: readonly (readonly [
  kind: Kind,
  name: string,
  help: string,
  read: (source: MetricsSource) => readonly Sample[] | number,
])[] = [
  [
    'gauge',
    'start_time_seconds',
    'When the process started, seconds since the Unix epoch.',
    ({ startedAt }) => startedAt / 1000,
  ],
  ['counter', 'polls', 'Polls of an account.', ({ polls }) => polls],
  [
    'counter',
    'poll_failures',
    'Failed polls of an account, by the code of the failure.',
    ({ pollFailures }) =>
      Object.entries({ ...NONE_FAILED, ...pollFailures }).map(([code, count]) => [{ code }, count]),
  ],
  ['counter', 'provider_requests', 'Requests to the provider and its issuer.', ({ requests }) => requests],
  [
    'counter',
    'provider_request_seconds',
    'Time spent waiting for them.',
    ({ requestSeconds }) => requestSeconds,
  ],
  [
    'counter',
    'provider_requests_unanswered',
    'Requests that got no answer.',
    ({ requestsUnanswered }) => requestsUnanswered,
  ],
  ['counter', 'logins', 'Successful logins of the running bridge.', ({ logins }) => logins],
  ['counter', 'token_refreshes', 'Refreshed sessions.', ({ refreshes }) => refreshes],
  [
    'gauge',
    'access_token_seconds_left',
    'Life left in the access token.',
    ({ accessExpiresAt, now }) =>
      Object.entries(accessExpiresAt).flatMap(([account, at]): Sample[] =>
        at === null ? [] : [[{ account }, (at - now) / 1000]],
      ),
  ],
  ['counter', 'mqtt_published', 'Messages that the broker has acknowledged.', ({ published }) => published],
  ['gauge', 'mqtt_outbox', 'Messages waiting for the broker.', ({ waiting }) => waiting],
  ['gauge', 'mqtt_connected', '1 while connected to the broker.', ({ connected }) => Number(connected)],
  ['gauge', 'days', 'Days known in the ledger.', ofMeters(({ days }) => days)],
  ['gauge', 'revisions', 'Corrections taken in so far.', ofMeters(({ revisions }) => revisions)],
  [
    'gauge',
    'reading_age_seconds',
    'Age of the newest reading.',
    ofMeters(({ readingAt }, now) => readingAt && (now - readingAt) / 1000),
  ],
];

/** Prometheus' text format, version 0.0.4. */
export function renderMetrics(source: MetricsSource): { contentType: string; text: string } {
  const lines = METRICS.flatMap(([kind, name, help, read]) => {
    const samples = read(source);
    return metricLines(kind, name, help, typeof samples === 'number' ? [[{}, samples]] : samples);
  });
  return { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: `${lines.join('\n')}\n` };
}

const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function written(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (odd) => ESCAPED[odd] ?? odd)}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
