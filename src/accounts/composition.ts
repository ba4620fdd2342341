// What is known of one account and its meters at this moment, what is wrong with them, and everything that is retained of them.
import type { Reason } from '../domain/health.ts';
import { newestOf } from '../domain/invoice.ts';
import { seriesName } from '../domain/reading.ts';
import { accountStateMessage, invoicesMessage } from '../publication/accountMessages.ts';
import { accountDocument, type DiscoveryOptions, meterDocument } from '../publication/discovery.ts';
import { historyMessage, meterStateMessage, usageMessage } from '../publication/meterMessages.ts';
import type { Retained } from '../publication/retainedDiff.ts';
import { statementMessage, statementOf } from '../publication/statement/statement.ts';
import type { Topics } from '../publication/topics.ts';
import type { AccountView, MeterView } from '../publication/views.ts';
import type { Account } from './account.ts';
import type { AccountContext } from './context.ts';
import type { Meter } from './meter.ts';

export function accountView(
  account: Account,
  { zone, clock, config }: Pick<AccountContext, 'zone' | 'clock' | 'config'>,
): AccountView {
  const { id, upstream, history, extras } = account;
  const now = clock.now();
  const { requests, logins } = history.today();
  const { balance, credit, invoices } = extras.known;
  return {
    account: id,
    auth: upstream.session.status(),
    zone,
    today: zone.dayAt(now),
    currency: extras.currency,
    balance: balance.found,
    credit: credit.found,
    invoices: invoices.found,
    newestInvoice: newestOf(invoices.found?.all ?? [], now),
    checks: account.checks(),
    nextBill: account.nextBill(zone.dayAt(now)),
    asked: config.extras,
    statement: config.statement,
    requestsToday: requests,
    loginsToday: logins,
  };
}

/** The meters whose history is complete. */
export const meterViews = ({ meters }: Account): MeterView[] =>
  meters?.flatMap((meter) => meter.view() ?? []) ?? [];

/** Its history is being read for the first time, or its meters are not known yet. */
export const isIncomplete = ({ meters }: Account): boolean =>
  meters?.some(({ ledger }) => !ledger.complete) ?? true;

export function meterReasons(
  meter: Meter,
  { zone, config }: Pick<AccountContext, 'zone' | 'config'>,
): Reason[] {
  const about = { account: meter.account, meter: meter.name };
  const found: Reason[] = [];
  if (meter.ledger.quarantined.size > 0) {
    const days = [...meter.ledger.quarantined.keys()].sort().join(', ');
    found.push({
      code: 'implausible_reading',
      message: `The provider's amounts for ${days} are implausible and not counted yet.`,
      hint: 'They count once the provider reports the same amounts again.',
      ...about,
    });
  }
  if (meter.isContradicted) {
    const isSame = meter.store.readingCloses === 'same_day';
    const [taken, counted] = isSame ? ['the first hours', 'that day'] : ['the second half', 'the day before'];
    const request = JSON.stringify({ from: meter.ledger.origin });
    found.push({
      code: 'reading_closes_doubtful',
      message: `Readings are taken in ${taken} of a day now, and counted for ${counted}: every day may be one day off.`,
      hint: `Send the request backfill with ${request}: the bridge then decides again and reads all days again. Or set usage.reading_closes.`,
      ...about,
    });
  }
  const reading = meter.reading();
  if (reading?.late && reading.readingAt !== null) {
    found.push({
      code: 'data_late',
      message: `The newest reading was taken ${zone.iso(reading.readingAt)}, more than ${config.usage.late_after_hours} hours ago.`,
      hint: 'The provider has nothing newer. Nothing is lost: late days fill in by themselves.',
      ...about,
    });
  }
  return found;
}

/** The meters that it has together with others of these accounts. */
export function duplicateReasons(account: Account, accounts: readonly Account[]): Reason[] {
  const turnOf = (id: string) =>
    accounts.find((one) => one.id === id)?.isUsable
      ? `It is read once, by ${id}.`
      : `It counts once. ${id}, which is to read it, cannot sign in at present.`;
  return account.sharedMeters().map(({ account: owner, readBy, property }) => ({
    code: 'duplicate_meter',
    message: `The accounts ${owner} and ${account.id} have the same meter. ${turnOf(readBy)}`,
    hint: 'Take one of the two out of the configuration. Until then the first one that is signed in reads the meter.',
    account: account.id,
    meter: seriesName(property),
  }));
}

/** `discovery`: `null` where no device is announced. */
export function composeAccount(
  view: AccountView,
  meters: readonly MeterView[],
  { topics, discovery }: { readonly topics: Topics; readonly discovery: DiscoveryOptions | null },
): Retained[] {
  const { account, invoices, checks, currency } = view;
  const documents = discovery
    ? [accountDocument(discovery, view), ...meters.map((meter) => meterDocument(discovery, meter))]
    : [];
  return [
    ...documents.map((document) => ({ topic: document.topic, document })),
    {
      topic: topics.of('account/<account>/state', account),
      write: () => accountStateMessage(topics, view),
    },
    ...(invoices === null
      ? []
      : [
          {
            topic: topics.of('account/<account>/invoices', account),
            // The checks are new whenever the invoices are.
            sources: [checks, currency],
            write: () => invoicesMessage(topics, view, invoices),
          },
        ]),
    ...meters.map((meter) => ({
      topic: topics.of('meter/<meter>/state', meter.meter),
      write: () => meterStateMessage(topics, meter),
    })),
    ...meters.flatMap((meter) => listsOf(meter, view, topics)),
  ];
}

/** History, usage, and the statement of the newest complete month. */
function listsOf(meter: MeterView, account: AccountView, topics: Topics): Retained[] {
  const { meter: name, ledger, currency, readingCloses, statementMonth: month } = meter;
  const { tenancy, weather, register } = meter;
  const { invoices, checks, balance } = account;
  return [
    {
      topic: topics.of('meter/<meter>/history', name),
      sources: [ledger, currency, readingCloses],
      write: () => historyMessage(topics, meter),
    },
    ...(['day', 'week', 'month'] as const).map((interval) => ({
      topic: topics.of('meter/<meter>/usage/<interval>', name, interval),
      sources: [ledger, currency],
      write: () => usageMessage(topics, meter, interval),
    })),
    ...(month === null
      ? []
      : [
          {
            topic: topics.of('meter/<meter>/statement', name),
            sources: [month, tenancy, weather, currency, register, invoices, checks, balance],
            write: () => statementMessage(topics, statementOf(month, { meter, account })),
          },
        ]),
  ];
}
