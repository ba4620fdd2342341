// A turn of an account, which is a poll or a refresh, in a household as in a fleet, and what log and counters are told of it.
import type { Account, AccountOutcome } from '../accounts/account.ts';
import type { AccountContext, MeterEvent } from '../accounts/context.ts';
import { eventsOfPoll, eventsOfRefresh } from '../accounts/events.ts';
import { knownUnits } from '../domain/amount.ts';
import { type Change, newestDay } from '../domain/ledger.ts';
import type { DaySpan } from '../domain/period.ts';
import { sumAmounts } from '../domain/totals.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Message } from '../mqtt/message.ts';
import { type Due, dueAfterPoll, keptDue, momentOf } from './due.ts';

interface Turn {
  /** The next poll of the schedule, epoch milliseconds. */
  readonly slot: () => number;
  readonly signal: AbortSignal;
  /** These days are read instead of what is due. */
  readonly again?: DaySpan | undefined;
  /** The poll before this one failed. */
  readonly wasFailing: boolean;
}

export interface Polled {
  readonly outcome: AccountOutcome;
  readonly due: Due;
  /** The facts that are worth an event. */
  readonly events: readonly Message[];
}

/** Polls the account: what came of it is in its record, in the log, in the counters and in the events. `null`: it was stopped. Never rejects. */
export async function pollTurn(
  account: Account,
  turn: Turn,
  context: AccountContext,
): Promise<Polled | null> {
  const outcome = await account.poll(turn.signal, turn.again);
  // A stop in the middle of a poll says nothing about the provider.
  if (turn.signal.aborted) return null;
  const { fault } = outcome;
  const { journal } = account;
  const { clock, counters, log, zone } = context;
  counters.countPoll(fault);
  journal.notePoll(fault === null ? null : safeWords(fault));
  const retryMs = fault === null ? null : account.retryDelayMs(fault, journal.record.failures);
  const moment = momentOf(clock);
  const due = dueAfterPoll({ fault, retryMs }, turn.slot(), moment);
  journal.note(keptDue(due, moment));
  if (fault !== null)
    logFailed(account.id, fault, retryMs === null ? null : zone.iso(moment.now + retryMs), log);
  return { outcome, due, events: eventsOfPoll(account, outcome, turn.wasFailing, context) };
}

export interface Refreshed {
  /** `null`: it did not fail, or was not due. */
  readonly fault: unknown;
  readonly events: readonly Message[];
  /** A poll would go well again, or is all that is left to be tried. */
  readonly isPollWanted: boolean;
}

/** Refreshes the session if that is due. Never rejects. */
export async function refreshTurn(
  account: Account,
  { signal, wasFailing }: Pick<Turn, 'signal' | 'wasFailing'>,
  context: AccountContext,
): Promise<Refreshed> {
  const { fault, isNews, isOver } = await account.refreshPlan.run(signal);
  const { state, accessExpiresAt } = account.upstream.session.status();
  // The issuer has ended the session, and the login got no answer: a poll tries that again, as after any failure.
  const isLost = fault !== null && state === 'provider_down' && accessExpiresAt === null;
  return {
    fault,
    events: isNews ? eventsOfRefresh(account, fault, context) : [],
    isPollWanted: (isOver && wasFailing) || isLost,
  };
}

type Log = AccountContext['log'];

/** `retryAt`: when it is tried again, as text. */
function logFailed(account: string, fault: unknown, retryAt: string | null, log: Log): void {
  // A Failure tells everything in its words; anything else is a bug of ours and needs its stack.
  if (fault instanceof Failure) log.warn({ account, ...safeWords(fault), retryAt }, 'poll failed');
  else log.error({ account, err: fault }, 'poll failed unexpectedly');
}

// More changes come at once only after a long outage or a backfill.
const MOST_CHANGES_TOLD = 7;

/** New and corrected days in amounts that a person cares about, then what came of the poll. */
export function logPolled({ id, meters, extras }: Account, { events }: AccountOutcome, log: Log): void {
  for (const { meter, change } of events.slice(-MOST_CHANGES_TOLD)) {
    const called = meters?.find(({ name }) => name === meter)?.friendlyName;
    const about = { account: id, meter, ...(called ? { called } : {}) };
    if (change.kind === 'tariff_changed') log.info({ ...about, from: change.after.from }, 'tariff changed');
    else
      log.info(
        { ...about, ...amountsOf(change), currency: extras.currency },
        change.kind === 'new_day' ? 'new day' : 'day corrected',
      );
  }
  const figures = { ...countsOf(events), ...newestOf(meters ?? []) };
  const currency = 'kwh' in figures ? { currency: extras.currency } : {};
  log.info({ account: id, ...figures, ...currency }, 'polled');
}

/** The newest day that any of the meters has, and what all of them used on it. */
function newestOf(meters: NonNullable<Account['meters']>) {
  const ledgers = meters.filter(({ isComplete }) => isComplete).map(({ book }) => book.saved);
  const newest = ledgers
    .flatMap(({ days }) => newestDay(days) ?? [])
    .sort()
    .at(-1);
  if (newest === undefined) return { newestDay: null };
  const { energy, cost } = sumAmounts(ledgers.flatMap(({ days }) => days.get(newest) ?? []));
  return { newestDay: newest, kwh: knownUnits(energy), cost: knownUnits(cost) };
}

/** `undefined`: none, which the log leaves out. */
export function countsOf(events: readonly MeterEvent[]) {
  const count = (kind: Change['kind']) =>
    events.filter(({ change }) => change.kind === kind).length || undefined;
  return { newDays: count('new_day'), correctedDays: count('corrected') };
}

function amountsOf({ kind, day, before, after }: Change) {
  const now = { day, kwh: knownUnits(after.energy), cost: knownUnits(after.cost) };
  if (kind === 'new_day') return now;
  return { ...now, kwhBefore: knownUnits(before?.energy), costBefore: knownUnits(before?.cost) };
}
