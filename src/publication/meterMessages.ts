// What is published of a heat meter: its state, its usage and history, and events.
import { inFull, knownInFull, knownUnits, toUnits } from '../domain/amount.ts';
import type { Expectation, UnusualUse } from '../domain/insight/alarm.ts';
import type { Change } from '../domain/ledger.ts';
import { compareText } from '../domain/order.ts';
import type { Day } from '../domain/period.ts';
import type { Tariff, TariffChange } from '../domain/tariff/tariff.ts';
import { periodSums } from '../domain/totals.ts';
import type { Message } from '../mqtt/message.ts';
import { keysOf, stateFrom } from './entities/entityRow.ts';
import { METER_ROWS } from './entities/meterEntities.ts';
import type { Topics } from './topics.ts';
import type { MeterView } from './views.ts';

const METER_KEYS = keysOf(METER_ROWS);
const NEWEST = { day: 62, week: 26, month: 36 } as const;

export const meterStateMessage = (topics: Topics, view: MeterView): Message =>
  topics.message('meter/<meter>/state', [view.meter], stateFrom(METER_KEYS, view));

export function historyMessage(topics: Topics, view: MeterView): Message {
  const { meter, zone, readingCloses, currency, ledger } = view;
  const days = [...ledger.days]
    .sort(([a], [b]) => compareText(a, b))
    .map(([day, { energy, cost }]): [Day, number | null, number | null] => [
      day,
      knownInFull(energy),
      knownInFull(cost),
    ]);
  return topics.message('meter/<meter>/history', [meter], {
    timezone: zone.name,
    reading_closes: readingCloses,
    currency,
    origin: ledger.origin,
    days,
  });
}

export function usageMessage(topics: Topics, view: MeterView, interval: keyof typeof NEWEST): Message {
  const { meter, ledger, zone, currency } = view;
  const buckets = periodSums(ledger, interval, NEWEST[interval]).map((period) => ({
    start: zone.iso(zone.startOf(period.start)),
    end: zone.iso(zone.startOf(period.end)),
    energy_kwh: knownUnits(period.energy),
    cost_eur: knownUnits(period.cost),
    revision: period.revision,
    received_at: zone.iso(period.receivedAt),
  }));
  const payload = { interval, timezone: zone.name, currency, buckets };
  return topics.message('meter/<meter>/usage/<interval>', [meter, interval], payload);
}

export function changeMessage(
  topics: Topics,
  meter: string,
  change: Change | TariffChange,
  at: string,
): Message {
  if (change.kind === 'tariff_changed') {
    const [before, after] = [termsOf(change.before), termsOf(change.after)];
    const payload = { event_type: change.kind, at, day: after.from, before, after };
    return topics.message('meter/<meter>/event', [meter], payload);
  }
  const { kind, day, before, after } = change;
  const read = { at, day, energy_kwh: knownUnits(after.energy), cost_eur: knownUnits(after.cost) };
  const old = { old_energy_kwh: knownUnits(before?.energy), old_cost_eur: knownUnits(before?.cost) };
  return topics.message(
    'meter/<meter>/event',
    [meter],
    kind === 'new_day' ? { event_type: kind, ...read } : { event_type: kind, ...read, ...old },
  );
}

const termsOf = ({ unitRate, standingCharge, from, to }: Tariff) => ({
  unit_rate: unitRate,
  standing_charge: inFull(standingCharge),
  from,
  to,
});

export function lateMessage(topics: Topics, meter: string, readingAt: string | null, at: string): Message {
  return topics.message('meter/<meter>/event', [meter], {
    event_type: 'late',
    at,
    day: null,
    reading_at: readingAt,
  });
}

export function unusualUseMessage(
  topics: Topics,
  meter: string,
  { day, energy, expected, low, high, by }: Expectation,
  { direction, reason }: UnusualUse,
  at: string,
): Message {
  return topics.message('meter/<meter>/event', [meter], {
    event_type: 'unusual_use',
    at,
    day,
    energy_kwh: toUnits(energy),
    expected: toUnits(expected),
    low: toUnits(low),
    high: toUnits(high),
    by,
    direction,
    reason,
  });
}
