// What is published of the bridge itself: state, info and health.
import { type HealthRecord, verdict } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import { about } from '../foundation/about.ts';
import type { Message } from '../mqtt/message.ts';
import type { Topics } from './topics.ts';
import type { BridgeView } from './views.ts';

export const stateMessage = (topics: Topics, state: 'online' | 'offline'): Message => ({
  topic: topics.of('bridge/state'),
  payload: state,
  retain: true,
});

/** The state of one process of a fleet. */
export const processMessage = (topics: Topics, number: number, state: 'online' | 'offline'): Message => ({
  topic: topics.of('bridge/process/<number>/state', String(number)),
  payload: state,
  retain: true,
});

export function infoMessage(topics: Topics, view: BridgeView): Message {
  return topics.message('bridge/info', [], {
    version: about.version,
    started_at: view.zone.iso(view.startedAt),
    schedule: view.schedule,
    timezone: view.zone.name,
    base_topic: topics.base,
    meters: view.meters.map(({ meter, friendlyName, account, identifiers, readingCloses }) => ({
      meter,
      name: friendlyName,
      account,
      identifiers,
      reading_closes: readingCloses,
      topic: topics.of('meter/<meter>/state', meter),
    })),
    links: { documentation: about.url, issues: `${about.url}/issues` },
  });
}

// Home Assistant refuses states of more than 255 characters.
const LONGEST_STATE = 250;
// Counted in code points: half a surrogate pair is no JSON to Home Assistant, which would lose the whole message.
const shortened = (text: string): string => [...text].slice(0, LONGEST_STATE).join('');

export function healthMessage(topics: Topics, record: HealthRecord, zone: Zone): Message {
  const instant = (at: number | null) => (at === null ? null : zone.iso(at));
  const auth = Object.entries(record.auth).map(([account, status]) => [
    account,
    {
      state: status.state,
      next_attempt_at: instant(status.nextAttemptAt),
      access_expires_at: instant(status.accessExpiresAt),
      refresh_expires_at: instant(status.refreshExpiresAt),
    },
  ]);
  return topics.message('bridge/health', [], {
    state: verdict(record),
    reasons: record.reasons,
    auth: Object.fromEntries(auth),
    progress: record.progress,
    statistics: record.statistics,
    last_poll_at: instant(record.lastPollAt),
    last_success_at: instant(record.lastSuccessAt),
    next_poll_at: instant(record.nextPollAt),
    poll_now_at: instant(record.pollNowAt),
    failures_in_a_row: record.failuresInARow,
    requests_today: record.requestsToday,
    logins_today: record.loginsToday,
    last_error: record.reasons[0] ? shortened(record.reasons[0].message) : null,
    ...(record.fleet && {
      fleet: {
        processes: record.fleet.processes.map(({ number, version, startedAt }) => ({
          number,
          version,
          started_at: zone.iso(startedAt),
        })),
        accounts: record.fleet.accounts,
        paused: record.fleet.paused,
        failing: record.fleet.failing,
        overdue: record.fleet.overdue,
        oldest_due_at: instant(record.fleet.oldestDueAt),
      },
    }),
  });
}
