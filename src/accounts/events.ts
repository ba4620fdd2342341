// What of one account is worth an event: new and corrected days, another tariff, late data, unusual use, failed polls and recoveries, a
// login that is needed, new invoices.
import { needsAPerson } from '../domain/health.ts';
import type { Invoice } from '../domain/invoice.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Message } from '../mqtt/message.ts';
import { billMessage } from '../publication/accountMessages.ts';
import { changeMessage, lateMessage, unusualUseMessage } from '../publication/meterMessages.ts';
import type { MeterView } from '../publication/views.ts';
import type { Account, AccountOutcome } from './account.ts';
import { accountView } from './composition.ts';
import type { AccountContext } from './context.ts';

type Needs = Pick<AccountContext, 'topics' | 'zone' | 'clock' | 'config'>;
type StateOfMeter = Pick<MeterView, 'meter' | 'late' | 'readingAt' | 'use'>;

const nowIn = ({ zone, clock }: Needs): string => zone.iso(clock.now());

/** A refresh between two polls has ended in a login that only a person can help. */
export function eventsOfRefresh(account: Account, fault: unknown, context: Needs): Message[] {
  if (!isWaitingForPerson(account)) return [];
  account.told = { ...account.told, needsPerson: true };
  return [troubleMessage(account, fault, context)];
}

/** `wasFailing`: the poll before this one failed. */
export function eventsOfPoll(
  account: Account,
  { events, fault }: AccountOutcome,
  wasFailing: boolean,
  context: Needs,
): Message[] {
  const { topics } = context;
  const at = nowIn(context);
  const changes = events.map(({ meter, change }) => changeMessage(topics, meter, change, at));
  if (fault !== null) return [...changes, troubleMessage(account, fault, context)];
  const wasTroubled = account.told.needsPerson || wasFailing;
  // The access token may still serve, while health goes on saying that the session does not.
  const needsPerson = wasTroubled && isWaitingForPerson(account);
  account.told = { ...account.told, needsPerson };
  if (!wasTroubled || needsPerson) return changes;
  const message = 'Readings arrive again.';
  const recovered = {
    event_type: 'recovered',
    at,
    code: 'recovered',
    message,
    account: account.id,
  } as const;
  return [...changes, topics.message('bridge/event', [], recovered)];
}

/** `invoices`: those that were not known before, oldest first. */
export const eventsOfInvoices = (account: Account, invoices: readonly Invoice[], context: Needs): Message[] =>
  invoices.map((invoice) =>
    billMessage(context.topics, accountView(account, context), invoice, nowIn(context)),
  );

/** Takes note of the use that was known when the meters were published for the first time: that is no news. */
export function noteUse(account: Account, meters: readonly Pick<StateOfMeter, 'meter' | 'use'>[]): void {
  const use = { ...account.told.use };
  for (const one of meters)
    if (one.use)
      use[one.meter] ??= { day: one.use.newest.day, direction: one.use.unusual?.direction ?? null };
  account.told = { ...account.told, use };
}

/** Meters whose data has become late, or whose use has become unusual, since the last call. The first call only takes note. */
export function eventsOfStates(account: Account, meters: readonly StateOfMeter[], context: Needs): Message[] {
  noteUse(account, meters);
  const { topics, zone } = context;
  const at = nowIn(context);
  const { told } = account;
  const becameLate = meters.filter(({ meter, late }) => late === true && told.late[meter] === false);
  const messages = becameLate.map(({ meter, readingAt }) =>
    lateMessage(topics, meter, readingAt === null ? null : zone.iso(readingAt), at),
  );
  const use = { ...told.use };
  for (const { meter, use: judged } of meters) {
    const before = use[meter];
    if (!judged || !before) continue;
    const { newest, unusual } = judged;
    const direction = unusual?.direction ?? null;
    use[meter] = { day: newest.day < before.day ? before.day : newest.day, direction };
    // A day's arrival does not tell: its weather may be known later.
    if (unusual !== null && unusual.since > before.day && direction !== before.direction)
      messages.push(unusualUseMessage(topics, meter, newest, unusual, at));
  }
  const late = Object.fromEntries(meters.map((one) => [one.meter, one.late === true]));
  account.told = { ...told, late: { ...told.late, ...late }, use };
  return messages;
}

function troubleMessage(account: Account, fault: unknown, context: Needs): Message {
  const { code, message } = safeWords(fault);
  const event_type = isWaitingForPerson(account) ? 'auth_needed' : 'poll_failed';
  const told = { event_type, at: nowIn(context), code, message, account: account.id } as const;
  return context.topics.message('bridge/event', [], told);
}

const isWaitingForPerson = ({ upstream }: Account): boolean => needsAPerson(upstream.session.status().state);
