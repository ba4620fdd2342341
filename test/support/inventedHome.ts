// An invented home as the publication sees it: one meter, one account, a healthy bridge.

import { summaryMessage } from '../../src/constituencies/lists.ts';
import type { Invoices } from '../../src/domain/extras.ts';
import { judgeUse } from '../../src/domain/insight/alarm.ts';
import { billJudge } from '../../src/domain/insight/bill.ts';
import { forecastMonth } from '../../src/domain/insight/forecast.ts';
import { checkRegister } from '../../src/domain/insight/registerCheck.ts';
import { openHouse } from '../../src/domain/insight/weather.ts';
import type { Invoice } from '../../src/domain/invoice.ts';
import type { Ledger } from '../../src/domain/ledger.ts';
import { addDays, type Day, zone } from '../../src/domain/period.ts';
import type { RegisterHistory } from '../../src/domain/reading.ts';
import { fitTariff } from '../../src/domain/tariff/tariff.ts';
import { totals } from '../../src/domain/totals.ts';
import type { Message } from '../../src/mqtt/message.ts';
import {
  accountDocument,
  announce,
  bridgeDocument,
  type DiscoveryOptions,
  meterDocument,
} from '../../src/publication/discovery.ts';
import { composeAccount, healthOf, infoMessage, stateMessage } from '../../src/publication/messages.ts';
import { Topics } from '../../src/publication/topics.ts';
import type { AccountView, BridgeView, MeterView } from '../../src/publication/views.ts';
import { ledgerOf, row } from '../domain/ledgers.ts';

export const DUBLIN = zone('Europe/Dublin');
export const NOW = Date.parse('2025-06-30T12:00:00Z');
const TODAY: Day = '2025-06-30';

export const discoveryBelow = (baseTopic: string, prefix = 'homeassistant'): DiscoveryOptions => ({
  prefix,
  topics: new Topics(baseTopic),
  constituencies: true,
});

/** With a reading ten days before that. */
function registerAt(readAt: number): RegisterHistory {
  const newest = { energy: 8_123_456_000, readAt };
  return { ...newest, readings: [{ energy: 8_071_000_000, readAt: readAt - 10 * 86_400_000 }, newest] };
}

/** The view of a meter with this ledger, as the daemon would show it on the day. */
export function meterView(ledger: Ledger, { today = TODAY as Day, timezone = DUBLIN } = {}): MeterView {
  const sums = totals(ledger, today);
  const tariff = fitTariff(ledger.days);
  const readingAt = sums.newestDay === null ? null : timezone.startOf(addDays(sums.newestDay, 1));
  const register = readingAt === null ? null : registerAt(readingAt - 3_600_000);
  return {
    meter: '70418235',
    friendlyName: null,
    account: 'home',
    identifiers: ['70418235', '70418236'],
    ledger,
    tenancy: ledger,
    totals: sums,
    tariff,
    monthForecast: forecastMonth({ days: ledger.days, today, tariff }),
    house: null,
    degreeDaysMonth: null,
    weatherChange: null,
    heatParts: null,
    use: judgeUse(ledger.days, today, null, tariff),
    zone: timezone,
    readingCloses: 'same_day',
    currency: 'EUR',
    readingAt,
    late: readingAt === null ? null : false,
    updatedAt: NOW,
    register,
    statementMonth: null,
    registerCheck: register && checkRegister(register, ledger, 'same_day', timezone),
  };
}

const INVOICE: Invoice = {
  id: '880123',
  status: 'invoice',
  startAt: Date.parse('2025-04-30T23:00:00Z'),
  endAt: Date.parse('2025-05-31T23:00:00Z'),
  dueAt: Date.parse('2025-06-18T23:00:00Z'),
  total: 48_120_000,
  open: 48_120_000,
};

const WEATHER: Pick<MeterView, 'house' | 'degreeDaysMonth' | 'weatherChange'> = {
  house: openHouse(new Map(), { temperatures: new Map([['2025-06-29', 14.2]]), base: 15.5 }),
  degreeDaysMonth: { sum: 41.34, days: 29 },
  weatherChange: {
    isSure: true,
    percent: -8.34,
    low: -12.2,
    high: -4.48,
    from: '2025-04-01',
    to: '2025-06-29',
    days: 90,
    used: 472.5,
    expected: 515.49,
  },
};

export const FULL = { ...meterView(ledgerOf(row('2025-01-01', 180, 5.25, 1.337))), ...WEATHER };
export const EMPTY = meterView(ledgerOf([]));

export const INVOICES: Invoices = {
  all: [INVOICE],
  knownIds: [INVOICE.id],
  profiles: [''],
  notFoundAt: null,
  fetchedAt: NOW,
};

export const ACCOUNT: AccountView = {
  account: 'home',
  auth: {
    state: 'ok',
    nextAttemptAt: null,
    accessExpiresAt: NOW + 300_000,
    refreshExpiresAt: NOW + 1_800_000,
  },
  zone: DUBLIN,
  today: TODAY,
  currency: 'EUR',
  balance: { amount: 48_120_000 },
  credit: { amount: 0 },
  invoices: INVOICES,
  newestInvoice: INVOICE,
  checks: billJudge()([INVOICE], [FULL.ledger], DUBLIN),
  nextBill: {
    span: { from: '2025-06-01', to: '2025-07-01' },
    cost: { amount: 46_120_000, low: 44_000_000, high: 48_240_000 },
    energy: { amount: 157_500_000, low: 150_000_000, high: 165_000_000 },
  },
  asked: { meter_reading: true, balance: true, invoices: true },
  statement: {},
  requestsToday: 3,
  loginsToday: 1,
};

/** What is known of a bridge that is well. */
export const WELL: Parameters<typeof healthOf>[0] = {
  reasons: [],
  auth: {
    home: {
      state: 'ok',
      next_attempt_at: null,
      access_expires_at: DUBLIN.iso(NOW + 300_000),
      refresh_expires_at: DUBLIN.iso(NOW + 1_800_000),
    },
  },
  progress: [],
  statistics: null,
  last_poll_at: DUBLIN.iso(NOW - 60_000),
  last_success_at: DUBLIN.iso(NOW - 60_000),
  next_poll_at: DUBLIN.iso(NOW + 3_600_000),
  poll_now_at: null,
  failures_in_a_row: 0,
  requests_today: 3,
  logins_today: 1,
};

export const bridgeView = (meters: readonly MeterView[] = [FULL]): BridgeView => ({
  startedAt: NOW - 3_600_000,
  instance: 'b7a1c8d2-5d0f-4b8e-9c55-2f8f0e6a4d11',
  schedule: '23 */4 * * *',
  zone: DUBLIN,
  meters,
});

export const discoveryOf = (options: DiscoveryOptions, meter: MeterView = FULL): Message[] =>
  [bridgeDocument(options), accountDocument(options, ACCOUNT), meterDocument(options, meter)].flatMap((doc) =>
    announce(doc),
  );

/** Everything that is retained of the account and its meters, discovery apart. */
export const accountMessages = (topics: Topics, account = ACCOUNT, meters = [FULL]): Message[] =>
  composeAccount(account, meters, { topics, discovery: null }).flatMap((one) =>
    'write' in one ? [one.write()] : [],
  );

/** Everything that is retained of one meter. */
export const meterMessages = (topics: Topics, view: MeterView): Message[] =>
  accountMessages(topics, ACCOUNT, [view]).filter(({ topic }) => topic.startsWith(`${topics.base}/meter/`));

/** Everything retained but discovery. */
export const statesOf = (topics: Topics, meter: MeterView = FULL): Message[] => [
  stateMessage(topics, 'online'),
  infoMessage(topics, bridgeView([meter])),
  topics.message('bridge/health', [], healthOf(WELL, true)),
  ...accountMessages(topics, ACCOUNT, [meter]),
  summaryMessage({ topics, zone: DUBLIN }, 'dail/34', null),
];

export const bodyOf = (message: Message | undefined): Record<string, unknown> =>
  JSON.parse(message?.payload ?? 'null');
