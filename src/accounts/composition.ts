// The view of one account and its meters at this moment, their troubles, and the facts that are worth an event.
import { needsAPerson, type Reason } from '../domain/health.ts';
import { newestOf } from '../domain/invoice.ts';
import { seriesName } from '../domain/reading.ts';
import { DUPLICATE_METER } from '../domain/sharedMeter.ts';
import { EXIT, failure, safeWords } from '../foundation/failure.ts';
import type { Message } from '../mqtt/message.ts';
import { billMessage, changeMessage, lateMessage, unusualUseMessage } from '../publication/messages.ts';
import type { PayloadByTopic } from '../publication/payloads/payloads.ts';
import type { AccountView, MeterView } from '../publication/views.ts';
import type { Account, AccountOutcome } from './account.ts';
import type { AccountContext, MeterEvent } from './context.ts';
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

type Needs = Pick<AccountContext, 'topics' | 'zone' | 'clock' | 'config'>;
type Told = Pick<PayloadByTopic['bridge/event'], 'event_type' | 'code' | 'message'>;

const isWaitingForPerson = ({ upstream }: Account): boolean => needsAPerson(upstream.session.status().state);

/** A refresh between two polls has ended in a login that only a person can help. */
export function eventsOfRefresh(account: Account, fault: unknown, context: Needs): Message[] {
  if (!isWaitingForPerson(account)) return [];
  account.told = { ...account.told, needsPerson: true };
  return [troubleMessage(account, fault, context)];
}

function changeEvent(account: Account, name: string, change: MeterEvent['change'], context: Needs): Message {
  const { topics, zone, clock } = context;
  const meter = account.meters?.find((one) => one.name === name);
  const message = changeMessage(topics, name, change, zone.iso(clock.now()));
  return { ...message, onTaken: () => void meter?.store.told([change]) };
}

/** The events that a process has not told before its end. */
export const eventsLeft = (account: Account, context: Needs): Message[] =>
  (account.meters ?? []).flatMap(({ name, store }) =>
    store.untold.map((change) => changeEvent(account, name, change, context)),
  );

/** `wasFailing`: the poll before this one failed. */
export function eventsOfPoll(
  account: Account,
  { events, fault }: AccountOutcome,
  wasFailing: boolean,
  context: Needs,
): Message[] {
  const changes = events.map(({ meter, change }) => changeEvent(account, meter, change, context));
  if (fault !== null) return [...changes, troubleMessage(account, fault, context)];
  const wasTroubled = account.told.needsPerson || wasFailing;
  // The access token may still serve, while health goes on saying that the session does not.
  const needsPerson = wasTroubled && isWaitingForPerson(account);
  account.told = { ...account.told, needsPerson };
  if (!wasTroubled || needsPerson) return changes;
  const recovered = { code: 'recovered', message: 'Readings arrive again.' };
  return [...changes, bridgeEvent(account, { event_type: 'recovered', ...recovered }, context)];
}

function troubleMessage(account: Account, fault: unknown, context: Needs): Message {
  const { code, message } = safeWords(fault);
  const event_type = isWaitingForPerson(account) ? 'auth_needed' : 'poll_failed';
  return bridgeEvent(account, { event_type, code, message }, context);
}

const bridgeEvent = ({ id }: Account, told: Told, { topics, zone, clock }: Needs): Message =>
  topics.message('bridge/event', [], { at: zone.iso(clock.now()), ...told, account: id });

/**
 * Invoices that are new, and meters whose data has become late or whose use unusual, since the last call. What is known of a meter at
 * its first call is no news.
 */
export function eventsOfStates(account: Account, meters: readonly MeterView[], context: Needs): Message[] {
  const { topics, zone, clock } = context;
  const at = zone.iso(clock.now());
  const { told } = account;
  const messages = account.extras.takeNews().map((invoice): Message => {
    const message = billMessage(topics, accountView(account, context), invoice, at);
    return { ...message, onTaken: () => void account.extras.told([invoice.id]) };
  });
  const late = { ...told.late };
  const use = { ...told.use };
  for (const { meter, late: isLate, readingAt, use: judged } of meters) {
    if (isLate === true && told.late[meter] === false)
      messages.push(lateMessage(topics, meter, readingAt === null ? null : zone.iso(readingAt), at));
    late[meter] = isLate === true;
    if (!judged) continue;
    const { newest, unusual } = judged;
    const direction = unusual?.direction ?? null;
    const before = use[meter] ?? { day: newest.day, direction };
    use[meter] = { day: newest.day < before.day ? before.day : newest.day, direction };
    // A day's arrival does not tell: its weather may be known later.
    if (unusual !== null && unusual.since > before.day && direction !== before.direction)
      messages.push(unusualUseMessage(topics, meter, newest, unusual, at));
  }
  account.told = { ...told, late, use };
  return messages;
}
