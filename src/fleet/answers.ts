// What a process of a fleet answers: requests over MQTT, and health and metrics over HTTP.
import { metricLines, renderMetrics } from '../accounts/metrics.ts';
import { openTo } from '../config/listenAddress.ts';
import { listAnswer, listMessage, listName } from '../constituencies/onDemand.ts';
import { openPublicList } from '../constituencies/publicList.ts';
import { caveat } from '../domain/constituency.ts';
import type { Clock } from '../foundation/clock.ts';
import { safeWords } from '../foundation/failure.ts';
import { RateLimit, SingleFlight } from '../foundation/limits.ts';
import { type Handler, notConfigured, readParameters } from '../mqtt/requests.ts';
import { withReasons } from '../publication/messages.ts';
import { REQUESTS } from '../publication/payloads/requests.ts';
import { serveHealth } from '../web/server.ts';
import type { Counted, Membership } from './membership.ts';
import type { ProcessParts } from './run.ts';
import type { Worker } from './worker.ts';

const MOST_FETCHES = 30;
const FETCHES_WITHIN_MS = 5 * 60_000;

const COUNT_LASTS_MS = 2_000;

/** To count a large fleet costs the database a tenth of a second: a flood of questions is one count in two seconds. */
function countedSeldom(membership: Pick<Membership, 'count'>, clock: Clock): () => Promise<Counted> {
  const counting = new SingleFlight<Counted>();
  let newest: { readonly counted: Counted; readonly at: number } | null = null;
  return async () => {
    if (newest !== null && clock.monotonic() - newest.at < COUNT_LASTS_MS) return newest.counted;
    const counted = await counting.run(() => membership.count());
    newest = { counted, at: clock.monotonic() };
    return counted;
  };
}

interface HandlerParts {
  readonly membership: Pick<Membership, 'count'>;
  readonly opened: Pick<ProcessParts['opened'], 'database'>;
  readonly link: Pick<ProcessParts['link'], 'publish' | 'refusals'>;
  readonly context: Pick<ProcessParts['context'], 'zone' | 'config' | 'clock' | 'topics'>;
}

/** For requests over MQTT. */
export function fleetHandlers(parts: HandlerParts): Readonly<Record<string, Handler>> {
  const { membership, opened, link, context } = parts;
  const { zone, config, clock, topics } = context;
  const count = countedSeldom(membership, clock);
  const publicList = config.constituencies ? openPublicList(config.constituencies, clock) : null;
  const fetches = new RateLimit(clock, MOST_FETCHES, FETCHES_WITHIN_MS);
  const skipped = (reason: string, next_at: string) =>
    ({ status: 'skipped', data: { reason, next_at } }) as const;
  return {
    async refresh(parameters) {
      readParameters(REQUESTS.refresh, parameters);
      // Accounts that the provider has told to wait are taken after that.
      const accepted = await opened.database.query(
        `WITH asked AS (UPDATE heat2mqtt.fleet SET asked_at = now() WHERE asked_at <= now() - interval '5 minutes' RETURNING id),
        woken AS (UPDATE heat2mqtt.account SET wanted = wanted + 1, due_at = least(due_at, now())
          FROM asked WHERE NOT paused AND NOT removed)
        SELECT id FROM asked`,
      );
      if (accepted.length === 0) {
        const [row] = await opened.database.query<{ readonly until: number }>(
          `SELECT (extract(epoch FROM asked_at + interval '5 minutes') * 1000)::float8 AS until FROM heat2mqtt.fleet`,
        );
        return skipped('cool_down', zone.iso(row?.until ?? clock.now()));
      }
      // What comes of it is on the topics of each account.
      return { status: 'ok', data: { accounts: [] } };
    },
    async backfill() {
      throw notConfigured('A fleet does not read days again on request.');
    },
    async health(parameters) {
      readParameters(REQUESTS.health, parameters);
      const counted = (await count()).health;
      const { state, failures_in_a_row, reasons } = withReasons(counted, link.refusals().map(safeWords));
      return { status: 'ok', data: { state, failures_in_a_row, reasons } };
    },
    /** The list of a house is published on its topic; one with gaps, or of unknown shape, is not. */
    async constituencies(parameters) {
      if (publicList === null)
        throw notConfigured('No constituencies are configured: the section constituencies is missing.');
      const asked = publicList.readQuestion(parameters);
      if (!fetches.tryStart()) return skipped('rate_limit', zone.iso(clock.now() + fetches.waitMs()));
      const answered = await publicList.read(asked);
      const view = { ...answered, fetchedAt: clock.now(), stale: false };
      const warning = caveat(answered);
      const isWhole = warning === null && (view.list.constituencies ?? []).length > 0;
      const name = isWhole ? listName(view.question) : null;
      if (name !== null) link.publish([listMessage(topics, zone, name, view)]);
      // What was published before is not known here.
      const more = { ...(warning === null ? {} : { warning }), fetched: true, changed: name !== null };
      return { status: 'ok', data: { ...listAnswer(topics, zone, name, view), ...more } };
    },
  };
}

const BROKER_GRACE_MS = 5 * 60_000;

export const isHealthy = ({ link, membership }: Pick<ProcessParts, 'link' | 'membership'>): boolean =>
  link.status().offlineMs < BROKER_GRACE_MS && !membership.isDatabaseGone();

/** Resolves to `null` when HTTP is off, or its port is taken. */
export async function serveFleetHealth(worker: Worker, parts: ProcessParts) {
  const { link, membership, context } = parts;
  const { config, clock, counters, log } = context;
  if (config.http === false) return null;
  const startedAt = clock.now();
  const answers = {
    healthy: () => isHealthy(parts),
    ready: () => link.status().connected && !membership.isDatabaseGone(),
    metrics() {
      const more = { startedAt, accessExpiresAt: {}, meters: [], now: clock.now() };
      const { contentType, text } = renderMetrics({ ...counters, ...link.status(), ...more });
      return { contentType, text: text + metricsOf(worker, membership) };
    },
    metricsFor: openTo(config).metricsFor,
    metricsRefused: () => log.debug('metrics were asked for and refused'),
    page: null,
  };
  return serveHealth(config.http.listen, answers, { clock }).catch((err) => {
    log.error({ err }, 'no HTTP: health and metrics are not served');
    return null;
  });
}

/** What the database counts is the same in each process, and some seconds old. */
function metricsOf(worker: Worker, membership: Membership): string {
  const { health, toldToWait, oldestDueMs = 0 } = membership.counted() ?? {};
  const found = health?.fleet;
  const metrics: readonly (readonly [string, string, number | undefined])[] = [
    ['process', 'Its number in the fleet.', membership.number],
    ['database_up', '1 while the database answers.', membership.isDatabaseGone() ? 0 : 1],
    ['runs_under_way', 'Accounts that this process works on.', worker.underWay()],
    ['pause_seconds_left', 'For how long the provider wants no request.', membership.pausedMs() / 1000],
    ['processes', 'Processes that live.', found?.processes.length],
    ['accounts', 'Accounts.', found?.accounts],
    ['accounts_paused', 'Accounts that are paused.', found?.paused],
    ['accounts_failing', 'Accounts whose last poll failed.', found?.failing],
    ['accounts_overdue', 'Accounts that are due for longer than a claim lasts.', found?.overdue],
    ['accounts_told_to_wait', 'Accounts that the provider has told to wait.', toldToWait],
    ['oldest_due_seconds', 'For how long the oldest of them is due.', found && oldestDueMs / 1000],
  ];
  const lines = metrics.flatMap(([name, help, value]) =>
    value === undefined ? [] : metricLines('gauge', `fleet_${name}`, help, [[{}, value]]),
  );
  return lines.map((line) => `${line}\n`).join('');
}
