// The facts of an account that are worth an event, and the events that the broker has not answered yet.
import { isDeepStrictEqual } from 'node:util';
import { needsAPerson } from '../domain/health.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Message } from '../mqtt/message.ts';
import { billMessage, changeMessage, lateMessage, unusualUseMessage } from '../publication/messages.ts';
import type { PayloadByTopic } from '../publication/payloads/payloads.ts';
import type { MeterView } from '../publication/views.ts';
import type { Account, AccountOutcome } from './account.ts';
import type { AccountContext, MeterChange } from './context.ts';

type Needs = Pick<AccountContext, 'topics' | 'zone' | 'clock' | 'config'>;
type BridgeEvent = Pick<PayloadByTopic['bridge/event'], 'event_type' | 'code' | 'message'>;

const isWaitingForPerson = ({ upstream }: Account): boolean => needsAPerson(upstream.session.status().state);

/** A person was needed, and the access token of then still serves: whether the session is renewed again is not known. */
function isSameToken({ told, upstream }: Account): boolean {
  return told.needsPerson && told.accessExpiresAt === upstream.session.status().accessExpiresAt;
}

function tellNeed(account: Account): void {
  const { accessExpiresAt } = account.upstream.session.status();
  account.told = { ...account.told, needsPerson: true, accessExpiresAt };
}

/** A refresh between two polls has ended in a login that only a person can help. */
export function eventsOfRefresh(account: Account, fault: unknown, context: Needs): Message[] {
  if (!isWaitingForPerson(account)) return [];
  tellNeed(account);
  return [troubleMessage(account, fault, context)];
}

function changeEvent(account: Account, name: string, change: MeterChange, context: Needs): Message {
  const { topics, zone, clock } = context;
  const meter = account.meters?.find((candidate) => candidate.name === name);
  const message = changeMessage(topics, name, change, zone.iso(clock.now()));
  return { ...message, onAnswered: () => void meter?.book.told([change]) };
}

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
  if (!wasTroubled) return changes;
  // The access token may still serve, while health goes on saying that the session does not.
  if (isWaitingForPerson(account) || isSameToken(account)) {
    tellNeed(account);
    return changes;
  }
  account.told = { ...account.told, needsPerson: false };
  const recovered = { code: 'recovered', message: 'Readings arrive again.' };
  return [...changes, bridgeEvent(account, { event_type: 'recovered', ...recovered }, context)];
}

function troubleMessage(account: Account, fault: unknown, context: Needs): Message {
  const { code, message } = safeWords(fault);
  // While somebody has to sign in, a poll may fail of something else: a clock that is not set, or a provider that is away.
  const isOfSession = account.upstream.session.fault === fault;
  const event_type = isOfSession && isWaitingForPerson(account) ? 'auth_needed' : 'poll_failed';
  return bridgeEvent(account, { event_type, code, message }, context);
}

const bridgeEvent = ({ id }: Account, event: BridgeEvent, { topics, zone, clock }: Needs): Message =>
  topics.message('bridge/event', [], { at: zone.iso(clock.now()), ...event, account: id });

/**
 * Invoices that are new, and meters whose data has become late or whose use unusual, since the last call. What is known of a meter at
 * its first call is no news.
 */
export function eventsOfStates(account: Account, meters: readonly MeterView[], context: Needs): Message[] {
  const { topics, zone, clock } = context;
  const at = zone.iso(clock.now());
  const { told } = account;
  const messages = account.extras.takeNews().map((invoice): Message => {
    const message = billMessage(topics, account.view(), invoice, at);
    return { ...message, onAnswered: () => void account.extras.told([invoice.id]) };
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

// A broker that is away for weeks must not make the record grow.
const MOST_UNTOLD = 20;

/** Events that are about to be published: they are on the disk, with the facts that they tell, until the broker has answered. */
export function remembered(account: Account, events: readonly Message[]): Message[] {
  const { journal, told } = account;
  const { record } = journal;
  // New days and bills are remembered where they are kept.
  const others = events.filter(({ onAnswered }) => onAnswered === undefined);
  if (others.length > 0 || !isDeepStrictEqual(told, record.told)) {
    journal.note({ told, untold: [...record.untold, ...others].slice(-MOST_UNTOLD) });
    journal.save();
  }
  return events.map((event) => (event.onAnswered ? event : forgottenOnceAnswered(account, event)));
}

function forgottenOnceAnswered({ journal }: Account, event: Message): Message {
  function onAnswered(): void {
    journal.note({ untold: journal.record.untold.filter((other) => other !== event) });
    journal.save();
  }
  return { ...event, onAnswered };
}

/** The events that a process has not told before its end. */
export const eventsLeft = (account: Account, context: Needs): Message[] => [
  ...(account.meters ?? []).flatMap(({ name, book }) =>
    book.untold.map((change) => changeEvent(account, name, change, context)),
  ),
  ...account.journal.record.untold.map((event) => forgottenOnceAnswered(account, event)),
];
