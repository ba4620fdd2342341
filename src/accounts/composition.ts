// The view of one account and its meters at this moment, and their troubles.
import type { Reason } from '../domain/health.ts';
import { newestOf } from '../domain/invoice.ts';
import { seriesName } from '../domain/reading.ts';
import { DUPLICATE_METER } from '../domain/sharedMeter.ts';
import { EXIT, failure } from '../foundation/failure.ts';
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

/** The meters that other accounts read, and that it has too. */
export function duplicateReasons({ id, own }: Account): Reason[] {
  return own.duplicates().map(({ property, reader }) => ({
    code: DUPLICATE_METER,
    message: `The accounts ${reader} and ${id} have the same meter. It is read once, by ${reader}.`,
    hint: `One of the two accounts is enough. If ${reader} cannot read it for a day, or needs somebody to sign in, ${id} takes it over with its history.`,
    account: id,
    meter: seriesName(property),
  }));
}

/** `complete`: the months that can be had, newest first. Throws no_statement or unknown_month. */
export function chosenMonth(complete: Iterable<string>, wanted: string | undefined): string {
  const months = [...complete];
  const [first, last] = [months.at(-1), months[0]];
  if (first === undefined || last === undefined)
    throw failure('no_statement', 'No month is complete yet.', {
      exit: EXIT.usage,
      retry: 'later',
      hint: 'A month is complete when all of its days are read, or usage.late_after_hours after its end.',
    });
  if (wanted === undefined) return last;
  if (months.includes(wanted)) return wanted;
  throw failure('unknown_month', `month: found ${wanted.slice(0, 20)}; allowed: ${first} to ${last}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'These are the months that are complete, from the first whole one of the history on.',
  });
}
