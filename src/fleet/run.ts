// One run of one account under a claim: open what is stored, do what is due, write what is new, publish, and give the account back with
// everything else, in one statement. A run without news writes once.
import type { Account } from '../accounts/account.ts';
import type { AccountContext } from '../accounts/context.ts';
import type { SharedInFleet } from '../accounts/openAccounts.ts';
import { duplicateReasons } from '../accounts/reasons.ts';
import { needsAPerson } from '../domain/health.ts';
import { type Polled, pollTurn, type Refreshed, refreshTurn } from '../engine/turn.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Link } from '../mqtt/link.ts';
import type { Claim, ClaimedRow, Columns } from '../store/database/claim.ts';
import type { Claims } from '../store/database/claims.ts';
import type { FleetCounts } from './health.ts';
import type { Membership } from './membership.ts';
import type { OpenFleet } from './open.ts';
import { type OpenAccount, type OpenAccounts, withAccount } from './openAccount.ts';
import type { Pace } from './pace.ts';
import { clearTopics, publishNews, readPublished } from './publishing.ts';
import type { Schedule } from './schedule.ts';

/** Shared by everything in a process. */
export interface ProcessParts {
  readonly context: Omit<AccountContext, 'state' | 'changed'>;
  readonly opened: OpenFleet;
  readonly membership: Membership;
  readonly pace: Pace;
  readonly counts: FleetCounts;
  readonly claims: Claims;
  readonly schedule: Schedule;
  readonly link: Link;
  readonly openAccounts: OpenAccounts;
  readonly shared: SharedInFleet;
}

const PUBLISH_AGAIN_MS = 2_000;
/** Somebody has to change the rights at the broker first. */
const REFUSED_AGAIN_MS = 600_000;
const LEAST_REST_MS = 1_000;

/** Rejects when the run is to be dropped: what it has not written never was. */
export async function runAccount(claim: Claim, parts: ProcessParts): Promise<void> {
  if (claim.row.removed) await withdraw(claim, parts);
  else await withAccount(claim, parts, (open) => workOn(open, parts));
}

/** Clears the topics of an account that is being removed, then deletes it. */
async function withdraw(claim: Claim, { link, context }: ProcessParts): Promise<void> {
  const { isAnswered, isCleared } = await clearTopics(claim, link, context);
  if (isCleared) return claim.deleteAccount();
  // Topics left on the broker have to be remembered.
  const dueAt = new Date(context.clock.now() + (isAnswered ? REFUSED_AGAIN_MS : PUBLISH_AGAIN_MS));
  await claim.write({}, { dueAt, isPolled: false, isPublished: false });
}

/** Resolves to whether all went well. */
async function workOn({ account, context, ties }: OpenAccount, { link, schedule }: ProcessParts) {
  const { claim } = ties;
  const published = await readPublished(claim, account);
  const { polled, refreshed } = await doWhatIsDue(account, claim, context, schedule);
  await account.settled();
  claim.check();

  const columns = {
    ...columnsAfter(account, polled, claim.row, context),
    ...(refreshed?.isPollWanted && { poll_at: new Date(context.clock.now()) }),
  };
  const { events = [] } = polled ?? refreshed ?? {};
  const ended = { account, published, events, claim, context };
  const isTold = await publishNews(ended, link, () => claim.write(columns));
  const pollAt = columns.poll_at?.getTime() ?? claim.row.poll_at;
  const restsUntil = Math.min(pollAt, await refreshAt(account, context));
  const dueAt = new Date(isTold ? restsUntil : context.clock.now() + PUBLISH_AGAIN_MS);
  await claim.write(columns, { dueAt, isPolled: polled !== null, isPublished: isTold });
  return (polled?.outcome.fault ?? refreshed?.fault ?? null) === null;
}

/** A poll, or where none is due a refresh of the session, if that is. */
async function doWhatIsDue(
  account: Account,
  { row, signal }: Claim,
  context: AccountContext,
  schedule: Schedule,
): Promise<{ readonly polled: Polled | null; readonly refreshed: Refreshed | null }> {
  const { clock, config, log } = context;
  const wasFailing = row.failures > 0;
  if (row.wanted > 0) await account.upstream.askForLogin();
  else if (row.poll_at > clock.now()) {
    const isKeptAlive = config.provider?.keep_alive;
    const refreshed = isKeptAlive ? await refreshTurn(account, { signal, wasFailing }, context) : null;
    return { polled: null, refreshed };
  }
  const slot = () => schedule.nextPoll(row.id, clock.now());
  // While others read its meters, no request of its own would show that it is signed in again.
  account.hasToSignIn = row.needs_user && account.meters?.length === 0;
  const polled = await pollTurn(account, { slot, signal, wasFailing }, context);
  if (polled?.outcome.fault === null)
    log.debug({ account: row.id, meters: account.meters?.length ?? 0 }, 'polled');
  return { polled, refreshed: null };
}

/** The row after a run. */
function columnsAfter(
  account: Account,
  polled: Polled | null,
  row: ClaimedRow,
  { clock, zone }: AccountContext,
): Columns & { readonly poll_at?: Date } {
  const { state } = account.upstream.session.status();
  const { requests, logins } = account.journal.today();
  const now = clock.now();
  const columns = {
    requests_today: requests,
    logins_today: logins,
    counted_on: zone.dayAt(now),
    auth_state: state,
    needs_user: needsAPerson(state),
    ...(row.repair && { repair: false }),
  };
  if (polled === null) return columns;
  const { fault } = polled.outcome;
  const { pollAt, retryAfter } = account.journal.record;
  // An account that is well may still be one too many.
  const [duplicate] = duplicateReasons(account);
  return {
    ...columns,
    ...failureColumns(fault, row, now),
    poll_at: new Date(pollAt ?? now),
    retry_after: new Date(retryAfter ?? now),
    first_history: account.isIncomplete,
    ...(fault === null && { last_success_at: new Date(now) }),
    ...(fault === null &&
      duplicate && { last_error: duplicate.code, advice: `${duplicate.message} ${duplicate.hint}` }),
  };
}

/** `fault`: that of the poll, or of the whole run; `null`: none. */
export function failureColumns(fault: unknown, row: ClaimedRow, now: number): Columns {
  const words = fault === null ? null : safeWords(fault);
  return {
    last_poll_at: new Date(now),
    failures: words === null ? 0 : row.failures + 1,
    failing_since: words === null ? null : new Date(row.failing_since ?? now),
    last_error: words?.code ?? null,
    advice: words?.hint ?? words?.message ?? null,
  };
}

/** Epoch milliseconds; infinite when there is nothing to refresh. */
async function refreshAt(account: Account, { clock, config }: AccountContext): Promise<number> {
  const delayMs = config.provider?.keep_alive ? await account.refreshPlan.msUntilDue() : null;
  return delayMs === null ? Number.POSITIVE_INFINITY : clock.now() + Math.max(LEAST_REST_MS, delayMs);
}
