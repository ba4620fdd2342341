// What the bridge says of itself: state, info, health and events.

import { inFull, type Micro, toUnits } from '../domain/amount.ts';
import { type HealthRecord, verdict } from '../domain/health.ts';
import type { Change } from '../domain/ledger.ts';
import type { Zone } from '../domain/period.ts';
import type { Tariff, TariffChange } from '../domain/tariff/tariff.ts';
import { about } from '../foundation/about.ts';
import type { Message } from '../mqtt/message.ts';
import { say, type Topics } from './topics.ts';
import type { BridgeView } from './views.ts';

export const stateMessage = (topics: Topics, state: 'online' | 'offline'): Message => ({
  topic: topics.state,
  payload: state,
  retain: true,
});

export function infoMessage(topics: Topics, baseTopic: string, view: BridgeView): Message {
  return say(
    'bridge/info',
    topics.info,
    {
      version: about.version,
      started_at: view.zone.iso(view.startedAt),
      schedule: view.schedule,
      timezone: view.zone.name,
      base_topic: baseTopic,
      meters: view.meters.map(({ meter, account, identifiers }) => ({
        meter,
        account,
        identifiers,
        topic: topics.meterState(meter),
      })),
      links: { documentation: about.url, issues: `${about.url}/issues` },
    },
    { retain: true },
  );
}

// Home Assistant refuses states of more than 255 characters.
const LONGEST_STATE = 250;
// By code points: half a surrogate pair is no JSON to Home Assistant, which would lose the whole message.
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
  return say(
    'bridge/health',
    topics.health,
    {
      state: verdict(record),
      reasons: [...record.reasons],
      auth: Object.fromEntries(auth),
      progress: record.progress.map(({ account, meter, daysRead, daysTotal }) => ({
        account,
        meter,
        days_read: daysRead,
        days_total: daysTotal,
      })),
      statistics: record.statistics && {
        state: record.statistics.state,
        series: record.statistics.series,
        rows_stored: record.statistics.rowsStored,
        rows_total: record.statistics.rowsTotal,
        last_success_at: instant(record.statistics.lastSuccessAt),
        next_attempt_at: instant(record.statistics.nextAttemptAt),
      },
      last_poll_at: instant(record.lastPollAt),
      last_success_at: instant(record.lastSuccessAt),
      next_poll_at: instant(record.nextPollAt),
      failures_in_a_row: record.failuresInARow,
      requests_today: record.requestsToday,
      logins_today: record.loginsToday,
      last_error: record.reasons[0] ? shortened(record.reasons[0].message) : null,
    },
    { retain: true },
  );
}

export interface BridgeEvent {
  readonly type: 'poll_failed' | 'auth_needed' | 'recovered';
  readonly code: string;
  readonly message: string;
  readonly account?: string;
}

export function bridgeEventMessage(topics: Topics, event: BridgeEvent, at: string): Message {
  const { type, ...rest } = event;
  return say('bridge/event', topics.bridgeEvent, { event_type: type, at, ...rest }, { retain: false });
}

export function changeMessage(topics: Topics, meter: string, change: Change, at: string): Message {
  const units = (amount: Micro | null | undefined) => (amount == null ? null : toUnits(amount));
  const { before, after } = change;
  const read = { at, day: change.day, energy_kwh: units(after.energy), cost_eur: units(after.cost) };
  return say(
    'meter/+/event',
    topics.meterEvent(meter),
    change.kind === 'new_day'
      ? { event_type: 'new_day', ...read }
      : {
          event_type: 'corrected',
          ...read,
          old_energy_kwh: units(before?.energy),
          old_cost_eur: units(before?.cost),
        },
    { retain: false },
  );
}

export function tariffMessage(
  topics: Topics,
  meter: string,
  { before, after }: TariffChange,
  at: string,
): Message {
  const told = ({ unitRate, standingCharge, from, to }: Tariff) => ({
    unit_rate: unitRate,
    standing_charge: inFull(standingCharge),
    from,
    to,
  });
  return say(
    'meter/+/event',
    topics.meterEvent(meter),
    { event_type: 'tariff_changed', at, day: after.from, before: told(before), after: told(after) },
    { retain: false },
  );
}

export function lateMessage(topics: Topics, meter: string, readingAt: string | null, at: string): Message {
  return say(
    'meter/+/event',
    topics.meterEvent(meter),
    { event_type: 'late', at, day: null, reading_at: readingAt },
    { retain: false },
  );
}
