// The messages about meters, accounts and the bridge itself: states, lists and events.
import { inFull, knownInFull, knownUnits, toUnits } from '../domain/amount.ts';
import type { Invoices } from '../domain/extras.ts';
import { needsAPerson, type Reason } from '../domain/health.ts';
import type { Expectation, UnusualUse } from '../domain/insight/alarm.ts';
import { billCheckRecord } from '../domain/insight/billWords.ts';
import { type Invoice, invoiceRecord } from '../domain/invoice.ts';
import type { Change } from '../domain/ledger.ts';
import { compareText } from '../domain/order.ts';
import type { Day } from '../domain/period.ts';
import type { Tariff, TariffChange } from '../domain/tariff/tariff.ts';
import { periodSums } from '../domain/totals.ts';
import { about } from '../foundation/about.ts';
import type { Message } from '../mqtt/message.ts';
import { accountDocument, type DiscoveryOptions, meterDocument } from './discovery.ts';
import { ACCOUNT_ROWS } from './entities/accountEntities.ts';
import { keysOf, stateFrom } from './entities/entityRow.ts';
import { METER_ROWS } from './entities/meterEntities.ts';
import type { PayloadByTopic } from './payloads/payloads.ts';
import type { Retained } from './retainedDiff.ts';
import { statementOf } from './statement/statement.ts';
import type { Topics } from './topics.ts';
import type { AccountView, BridgeView, MeterView } from './views.ts';

const METER_KEYS = keysOf(METER_ROWS);
const ACCOUNT_KEYS = keysOf(ACCOUNT_ROWS);
const NEWEST = { day: 62, week: 26, month: 36 } as const;
// Two years of months; the command `invoices` prints more.
const NEWEST_INVOICES = 24;

/** Everything that is retained of an account and its meters. `discovery`: `null` where no device is announced. */
export function composeAccount(
  view: AccountView,
  meters: readonly MeterView[],
  { topics, discovery }: { readonly topics: Topics; readonly discovery: DiscoveryOptions | null },
): Retained[] {
  const { account, invoices, checks, currency } = view;
  const retained: Retained[] = [];
  if (discovery) {
    retained.push(accountDocument(discovery, view));
    for (const meter of meters) retained.push(meterDocument(discovery, meter));
  }
  retained.push(topics.retain('account/<account>/state', [account], () => stateFrom(ACCOUNT_KEYS, view)));
  if (invoices) {
    // The checks are new whenever the invoices are.
    const sources = [checks, currency];
    const write = () => invoicesOf(view, invoices);
    retained.push(topics.retain('account/<account>/invoices', [account], write, sources));
  }
  for (const meter of meters)
    retained.push(topics.retain('meter/<meter>/state', [meter.meter], () => stateFrom(METER_KEYS, meter)));
  for (const meter of meters) retained.push(...listsOf(meter, view, topics));
  return retained;
}

/** History, usage, and the statement of the newest complete month. Each is written from these sources alone. */
function listsOf(meter: MeterView, account: AccountView, topics: Topics): Retained[] {
  const { meter: name, ledger, currency, readingCloses, statementMonth: month } = meter;
  const { tenancy, house, register, identifiers, witness } = meter;
  const ofHistory = [ledger, currency, readingCloses];
  const lists: Retained[] = [
    topics.retain('meter/<meter>/history', [name], () => historyOf(meter), ofHistory),
  ];
  for (const interval of ['day', 'week', 'month'] as const) {
    const write = () => usageOf(meter, interval);
    lists.push(topics.retain('meter/<meter>/usage/<interval>', [name, interval], write, [ledger, currency]));
  }
  if (month === null) return lists;
  const { invoices, checks, balance } = account;
  const ofMeter = [month, tenancy, house, currency, register, identifiers, witness?.midnights];
  const ofStatement = [...ofMeter, invoices, checks, balance];
  const write = () => statementOf(month, { meter, account });
  lists.push(topics.retain('meter/<meter>/statement', [name], write, ofStatement));
  return lists;
}

function historyOf({ zone, readingCloses, currency, ledger }: MeterView) {
  const days = [...ledger.days]
    .sort(([a], [b]) => compareText(a, b))
    .map(([day, { energy, cost }]): [Day, number | null, number | null] => [
      day,
      knownInFull(energy),
      knownInFull(cost),
    ]);
  return { timezone: zone.name, reading_closes: readingCloses, currency, origin: ledger.origin, days };
}

function usageOf({ ledger, zone, currency }: MeterView, interval: keyof typeof NEWEST) {
  const buckets = periodSums(ledger, interval, NEWEST[interval]).map((period) => ({
    start: zone.iso(zone.startOf(period.start)),
    end: zone.iso(zone.startOf(period.end)),
    energy_kwh: knownUnits(period.energy),
    cost_eur: knownUnits(period.cost),
    revision: period.revision,
    received_at: zone.iso(period.receivedAt),
  }));
  return { interval, timezone: zone.name, currency, buckets };
}

const invoicesOf = (view: AccountView, { fetchedAt, all }: Invoices) => ({
  fetched_at: view.zone.iso(fetchedAt),
  currency: view.currency,
  invoices: all.slice(0, NEWEST_INVOICES).map((invoice) => recordOf(invoice, view)),
});

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
  const now = { at, day, energy_kwh: knownUnits(after.energy), cost_eur: knownUnits(after.cost) };
  if (kind === 'new_day') return topics.message('meter/<meter>/event', [meter], { event_type: kind, ...now });
  return topics.message('meter/<meter>/event', [meter], {
    event_type: kind,
    ...now,
    old_energy_kwh: knownUnits(before?.energy),
    old_cost_eur: knownUnits(before?.cost),
  });
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

/** `at`: ISO 8601. */
export const billMessage = (
  topics: Topics,
  view: Pick<AccountView, 'account' | Facts>,
  invoice: Invoice,
  at: string,
): Message =>
  topics.message('account/<account>/event', [view.account], {
    event_type: 'bill',
    at,
    currency: view.currency,
    invoice: recordOf(invoice, view),
  });

/** The facts in a record of an invoice. */
type Facts = 'currency' | 'zone' | 'checks';

function recordOf(invoice: Invoice, { currency, zone, checks }: Pick<AccountView, Facts>) {
  const check = checks.get(invoice.id);
  return { ...invoiceRecord(invoice, zone), check: check ? billCheckRecord(check, currency) : null };
}

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
    instance: view.instance,
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

export type Health = PayloadByTopic['bridge/health'];

const FAILURES_UNTIL_FAILING = 3;
// Home Assistant refuses states of more than 255 characters.
const LONGEST_STATE = 250;
// Counted in code points: half a surrogate pair is no JSON to Home Assistant, which would lose the whole message.
const shortened = (text: string): string => [...text].slice(0, LONGEST_STATE).join('');

/** Adds the verdict. `failing`: no account can be read, and waiting will not help, or has not helped for a while. */
export function healthOf(facts: Omit<Health, 'state' | 'last_error'>, isSomeAccountWell: boolean): Health {
  const { auth, reasons, failures_in_a_row: failures } = facts;
  const [worst] = reasons;
  const isStuck = Object.values(auth).some(({ state }) => needsAPerson(state));
  // The cause of the failures may be over already, although no poll has come to its end since.
  const isLasting = failures >= FAILURES_UNTIL_FAILING && worst !== undefined;
  const isDegraded = isStuck || worst !== undefined || failures > 0;
  const isFailing = (isStuck || isLasting) && !isSomeAccountWell;
  const stateUnlessFailing = isDegraded ? 'degraded' : 'ok';
  const state = isFailing ? 'failing' : stateUnlessFailing;
  return { state, ...facts, last_error: worst ? shortened(worst.message) : null };
}

/** The same while something else is wrong, too. */
export function withReasons<H extends Health>(health: H, more: readonly Reason[]): H {
  const [worst] = more;
  if (worst === undefined) return health;
  return {
    ...health,
    state: health.state === 'ok' ? 'degraded' : health.state,
    reasons: [...health.reasons, ...more],
    last_error: health.last_error ?? shortened(worst.message),
  };
}
