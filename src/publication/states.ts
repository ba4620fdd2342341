// The retained states of meters and accounts, written from the table.
import { inFull, type Micro, toUnits } from '../domain/amount.ts';
import type { Day } from '../domain/period.ts';
import { stretches } from '../domain/totals.ts';
import type { Message } from '../mqtt/message.ts';
import { ACCOUNT_ROWS } from './accountEntities.ts';
import type { EntityRow } from './entityRow.ts';
import { METER_ROWS } from './meterEntities.ts';
import type { UsageBucket } from './payloads/payloads.ts';
import { say, type Topics } from './topics.ts';
import type { AccountView, MeterView } from './views.ts';

const NEWEST = { day: 62, week: 26, month: 36 } as const;

export const meterStateMessage = (topics: Topics, view: MeterView): Message =>
  say('meter/+/state', topics.meterState(view.meter), read(METER_ROWS, view), { retain: true });

/** The history and the three usage topics: they change with the ledger only. */
export const usageMessages = (topics: Topics, view: MeterView): Message[] => [
  historyMessage(topics, view),
  ...(['day', 'week', 'month'] as const).map((interval) =>
    say(
      'meter/+/usage/+',
      topics.meterUsage(view.meter, interval),
      {
        interval,
        timezone: view.zone.name,
        currency: view.currency,
        buckets: buckets(view, interval),
      },
      { retain: true },
    ),
  ),
];

function historyMessage(
  topics: Topics,
  { meter, zone, readingCloses, currency, ledger }: MeterView,
): Message {
  const full = (amount: Micro | null) => (amount === null ? null : inFull(amount));
  const days: [Day, number | null, number | null][] = [];
  let newest = '';
  let isInOrder = true;
  ledger.days.forEach(({ energy, cost }, day) => {
    if (day < newest) isInOrder = false;
    newest = day;
    days.push([day, full(energy), full(cost)]);
  });
  // Rarely: gaps are filled later.
  if (!isInOrder) days.sort(([a], [b]) => (a < b ? -1 : 1));
  return say(
    'meter/+/history',
    topics.meterHistory(meter),
    {
      timezone: zone.name,
      reading_closes: readingCloses,
      currency,
      origin: ledger.origin,
      days,
    },
    { retain: true },
  );
}

export const accountStateMessage = (topics: Topics, view: AccountView): Message =>
  say('account/+/state', topics.accountState(view.account), read(ACCOUNT_ROWS, view), { retain: true });

function read<View>(rows: readonly EntityRow<View>[], view: View): Record<string, unknown> {
  return Object.fromEntries(rows.map((row) => [row.key, row.read(view)]));
}

function buckets({ ledger, zone }: MeterView, interval: 'day' | 'week' | 'month'): UsageBucket[] {
  return stretches(ledger, interval, NEWEST[interval]).map((stretch) => ({
    start: zone.iso(zone.startOf(stretch.start)),
    end: zone.iso(zone.startOf(stretch.end)),
    energy_kwh: stretch.energy === null ? null : toUnits(stretch.energy),
    cost_eur: stretch.cost === null ? null : toUnits(stretch.cost),
    revision: stretch.revision,
    received_at: zone.iso(stretch.receivedAt),
  }));
}
