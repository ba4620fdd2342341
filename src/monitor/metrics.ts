// Prometheus text about the bridge, written when it is asked for.

/** Counts since the start of the process; times in epoch milliseconds. */
export interface MetricsSource {
  readonly startedAt: number;
  readonly polls: number;
  readonly pollFailures: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly requestSeconds: number;
  readonly requestsUnanswered: number;
  readonly logins: number;
  readonly refreshes: number;
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
const COMMON_FAILURES = [
  'provider_unreachable',
  'provider_refused',
  'unexpected_reply',
  'issuer_unreachable',
  'bad_credentials_or_locked',
];

/** Built anew for each scrape, so that prom-client is only loaded where somebody scrapes. */
export async function renderMetrics(source: MetricsSource): Promise<{ contentType: string; text: string }> {
  const { default: prometheus } = await import('prom-client');
  const { Counter, Gauge, Registry } = prometheus;
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, value: number) =>
    new Counter({ name: `heat2mqtt_${name}_total`, help, registers }).inc(value);
  const gauge = (name: string, help: string, value: number) =>
    new Gauge({ name: `heat2mqtt_${name}`, help, registers }).set(value);
  const labelled = (name: string, help: string, label: string, values: Iterable<[string, number | null]>) => {
    const labels = new Gauge({ name: `heat2mqtt_${name}`, help, labelNames: [label], registers });
    for (const [of, value] of values) if (value !== null) labels.set({ [label]: of }, value);
  };

  gauge(
    'start_time_seconds',
    'When the process started, seconds since the Unix epoch.',
    source.startedAt / 1000,
  );
  counter('polls', 'Polls of an account.', source.polls);
  const failures = new Counter({
    name: 'heat2mqtt_poll_failures_total',
    help: 'Failed polls of an account, by the code of the failure.',
    labelNames: ['code'],
    registers,
  });
  for (const code of COMMON_FAILURES) failures.inc({ code }, 0);
  for (const [code, count] of Object.entries(source.pollFailures)) failures.inc({ code }, count);
  counter('provider_requests', 'Requests to the provider and its issuer.', source.requests);
  counter('provider_request_seconds', 'Time spent waiting for them.', source.requestSeconds);
  counter('provider_requests_unanswered', 'Requests that got no answer.', source.requestsUnanswered);
  counter('logins', 'Logins with the password.', source.logins);
  counter('token_refreshes', 'Refreshed sessions.', source.refreshes);
  const left = Object.entries(source.accessExpiresAt).map(([account, at]): [string, number | null] => [
    account,
    at === null ? null : (at - source.now) / 1000,
  ]);
  labelled('access_token_seconds_left', 'Life left in the access token.', 'account', left);
  counter('mqtt_published', 'Messages that the broker has acknowledged.', source.published);
  gauge('mqtt_outbox', 'Messages waiting for the broker.', source.waiting);
  gauge('mqtt_connected', '1 while connected to the broker.', source.connected ? 1 : 0);
  const ofMeters = (pick: (meter: MetricsSource['meters'][number]) => number | null) =>
    source.meters.map((meter): [string, number | null] => [meter.meter, pick(meter)]);
  labelled(
    'days',
    'Days known in the ledger.',
    'meter',
    ofMeters(({ days }) => days),
  );
  labelled(
    'revisions',
    'Corrections taken in so far.',
    'meter',
    ofMeters(({ revisions }) => revisions),
  );
  const age = ofMeters(({ readingAt }) => (readingAt === null ? null : (source.now - readingAt) / 1000));
  labelled('reading_age_seconds', 'Age of the newest reading.', 'meter', age);
  return { contentType: registry.contentType, text: await registry.metrics() };
}
