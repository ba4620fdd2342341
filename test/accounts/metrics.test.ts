// The Prometheus text: each number under its name, labels where there are several, and nothing for what is not known.
import { expect, test } from 'vitest';
import { type MetricsSource, renderMetrics } from '../../src/accounts/metrics.ts';

const NOW = Date.UTC(2025, 2, 10, 12);

const source: MetricsSource = {
  startedAt: NOW - 3_600_000,
  polls: 7,
  pollFailures: { provider_unreachable: 2, unexpected_reply: 1 },
  requests: 19,
  requestSeconds: 3.25,
  requestsUnanswered: 1,
  logins: 1,
  refreshes: 4,
  accessExpiresAt: { home: NOW + 90_000, flat: null },
  published: 40,
  waiting: 3,
  connected: true,
  meters: [
    { meter: '70418235', days: 434, revisions: 5, readingAt: NOW - 12 * 3_600_000 },
    { meter: 'new', days: 0, revisions: 0, readingAt: null },
  ],
  now: NOW,
};

/** Sample lines by what stands before the value. */
function samples(changes: Partial<MetricsSource> = {}): Record<string, number> {
  const { text } = renderMetrics({ ...source, ...changes });
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const pairs = lines.map((line) => /^(.*) (\S+)$/.exec(line) ?? []);
  return Object.fromEntries(pairs.map(([, name = '', value]) => [name, Number(value)]));
}

test('writes every number once when it is asked', () => {
  expect(samples()).toEqual({
    heat2mqtt_start_time_seconds: (NOW - 3_600_000) / 1000,
    heat2mqtt_polls_total: 7,
    'heat2mqtt_poll_failures_total{code="provider_unreachable"}': 2,
    'heat2mqtt_poll_failures_total{code="unexpected_reply"}': 1,
    'heat2mqtt_poll_failures_total{code="incomplete_reply"}': 0,
    'heat2mqtt_poll_failures_total{code="bad_credentials_or_locked"}': 0,
    'heat2mqtt_poll_failures_total{code="issuer_unreachable"}': 0,
    'heat2mqtt_poll_failures_total{code="issuer_not_trusted"}': 0,
    'heat2mqtt_poll_failures_total{code="provider_not_trusted"}': 0,
    'heat2mqtt_poll_failures_total{code="provider_refused"}': 0,
    heat2mqtt_provider_requests_total: 19,
    heat2mqtt_provider_request_seconds_total: 3.25,
    heat2mqtt_provider_requests_unanswered_total: 1,
    heat2mqtt_logins_total: 1,
    heat2mqtt_token_refreshes_total: 4,
    'heat2mqtt_access_token_seconds_left{account="home"}': 90,
    heat2mqtt_mqtt_published_total: 40,
    heat2mqtt_mqtt_outbox: 3,
    heat2mqtt_mqtt_connected: 1,
    'heat2mqtt_days{meter="70418235"}': 434,
    'heat2mqtt_days{meter="new"}': 0,
    'heat2mqtt_revisions{meter="70418235"}': 5,
    'heat2mqtt_revisions{meter="new"}': 0,
    'heat2mqtt_reading_age_seconds{meter="70418235"}': 43_200,
  });
});

test('writes type and help before the samples when there are any or none', () => {
  const { text, contentType } = renderMetrics(source);
  expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  const named = (word: string) =>
    [...text.matchAll(new RegExp(`^# ${word} (\\w+) \\S`, 'gm'))].map((match) => match[1]);
  expect(named('HELP')).toEqual(named('TYPE'));
  expect(named('TYPE').length).toBeGreaterThan(12);
  expect(text).toContain('# TYPE heat2mqtt_polls_total counter');
  expect(text).toContain('# TYPE heat2mqtt_mqtt_outbox gauge');
});

test('escapes a name when it has quotes, backslashes or line ends', () => {
  const meters = [{ meter: 'a"b\\c\nd', days: 1, revisions: 0, readingAt: null }];
  expect(samples({ meters })).toMatchObject({ 'heat2mqtt_days{meter="a\\"b\\\\c\\nd"}': 1 });
});
