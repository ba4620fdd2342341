// One run of one account under a claim: open what is kept, do what is due, publish, write everything in one statement and
// give the account back. News are written before they are published.
import type { Account, Told } from '../accounts/account.ts';
import {
  accountView,
  duplicateReasons,
  eventsOfRefresh,
  eventsOfStates,
  isIncomplete,
  meterViews,
} from '../accounts/composition.ts';
import type { AccountContext } from '../accounts/context.ts';
import { drawRefreshFraction, msUntilRefresh } from '../auth/tokens.ts';
import { needsAPerson } from '../domain/health.ts';
import { type Polled, pollTurn } from '../engine/turn.ts';
import { about } from '../foundation/about.ts';
import { safeWords } from '../foundation/failure.ts';
import { backOffMs } from '../foundation/retry.ts';
import type { Link } from '../mqtt/link.ts';
import type { Message } from '../mqtt/message.ts';
import { deviceId } from '../publication/discovery.ts';
import { homeLanguage } from '../publication/language.ts';
import { composeAccount } from '../publication/messages.ts';
import { type KeptTopics, RetainedDiff, withdrawAll } from '../publication/retainedDiff.ts';
import type { ClaimedAccount } from '../store/database/claimedAccount.ts';
import type { ClaimedRow, Columns } from '../store/database/claimedRow.ts';
import type { Claims } from '../store/database/claims.ts';
import type { Codec } from '../store/stateStore.ts';
import type { FleetCounts } from './health.ts';
import type { Membership } from './membership.ts';
import type { OpenFleet } from './open.ts';
import type { OpenAccount, OpenAccounts, Shared } from './openAccounts.ts';
import type { Pace } from './pace.ts';
import type { Schedule } from './schedule.ts';

/** What everything in a process works with. */
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
  readonly shared: Shared;
}

/** What the broker has of the account, and what it is still to be told. */
interface Published extends KeptTopics {
  /** What its lists were written by, beside readings and invoices; `null`: not all of these are published yet. */
  readonly lists: string | null;
  readonly told: Told;
  /** Oldest first; they stay until the broker has acknowledged them. */
  readonly events: readonly Message[];
}

/** Of the life of an access token: no refresh is planned before. */
const EARLIEST_REFRESH = 0.8;
const PUBLISH_AGAIN_MS = 2_000;
/** Somebody has to change the rights at the broker first. */
const REFUSED_AGAIN_MS = 600_000;
const LEAST_REST_MS = 1_000;
/** A document as it is, with these objects in it. */
export const asItIs = <T>(...objects: readonly (keyof T & string)[]): Codec<T> => ({
  encode: (value) => value,
  decode(json) {
    if (objects.some((name) => !(Object(json)[name] instanceof Object)))
      throw new TypeError('another document');
    return json as T;
  },
});
const publishedCodec = asItIs<Published>('topics', 'components', 'told', 'events');

const NOTHING = { topics: {}, components: {}, lists: null, events: [] };

/** Without topics of meters that another account has taken over: that one publishes them. */
function ofOwnMeters(
  { topics, components }: KeptTopics,
  claim: ClaimedAccount,
  { topics: { base } }: Pick<AccountContext, 'topics'>,
): KeptTopics {
  const places = [`${base}/meter/`, `/${deviceId(base, 'meter', '')}`];
  const meterIn = (topic: string) => places.flatMap((place) => topic.split(place)[1]?.split('/')[0] ?? []);
  const own = <T>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      Object.entries(all).filter(([topic]) => meterIn(topic).every((series) => claim.hasSeries(series))),
    );
  return { topics: own(topics), components: own(components) };
}

/** What a run has done. */
interface Acted {
  /** `null`: no poll was due. */
  readonly polled: Polled | null;
  readonly refreshFault: unknown;
}

/** Rejects when the run is to be dropped: what it has not written never was. */
export async function runAccount(claim: ClaimedAccount, parts: ProcessParts): Promise<void> {
  if (claim.row.removed) return withdraw(claim, parts);
  const open = await parts.openAccounts.take(claim, parts);
  try {
    if (await workOn(claim, open, parts)) parts.openAccounts.keep(open);
  } finally {
    // Those of the next accounts come.
    for (const secret of open.secrets) parts.context.scrubber.forget(secret);
  }
}

/** Resolves to whether all went well, so that the account may stay open. */
async function workOn(
  claim: ClaimedAccount,
  { account, context: own }: OpenAccount,
  parts: ProcessParts,
): Promise<boolean> {
  const { row } = claim;
  const { context } = parts;
  const document = claim.document('published', publishedCodec);
  const known = (await document.read()) ?? { ...NOTHING, told: account.told };
  account.told = known.told;
  const { polled, refreshFault } = await act(account, claim, own, parts.schedule);
  await account.settled();
  claim.check();

  const before = { ...known, ...ofOwnMeters(known, claim, own) };
  const meters = meterViews(account);
  const events = [
    ...before.events,
    ...(polled?.events ?? []),
    ...(refreshFault === null ? [] : eventsOfRefresh(account, refreshFault, own)),
    ...eventsOfStates(account, meters, own),
  ];
  // They are written with the rest: the documents of the account need not remember them.
  for (const { onTaken } of events) onTaken?.();
  const columns = columnsAfter(account, polled, row, parts);
  const { currency } = account.extras;
  claim.describe = (series) => {
    const meter = account.meters?.find(({ name }) => name === series);
    return {
      currency,
      friendlyName: meter?.friendlyName ?? null,
      ...(meter && { identifiers: meter.property.meterIdentifiers }),
    };
  };
  const lists = `${about.version} ${currency}`;
  const areListsSame = before.lists === lists && !claim.hasNews();
  const untold = { ...before, lists: areListsSame ? lists : null, told: account.told, events };
  if (claim.hasNews() || events.length > before.events.length) {
    // A process that dies from here on leaves it to the next run to publish.
    await document.write(untold);
    await claim.write(columns);
  }

  const diff = new RetainedDiff(before);
  if (row.republish > 0) diff.forget();
  const { topics, config } = own;
  const { discovery_prefix: prefix } = config.mqtt;
  const discovery =
    prefix === false ? null : { prefix, topics, page: null, language: homeLanguage(config.language) };
  const all = composeAccount(accountView(account, own), meters, { topics, discovery });
  const news = diff.take(account.id, all, areListsSame);
  // While a history is incomplete, a meter may only be read again.
  const gone = isIncomplete(account) ? [] : diff.gone();
  const retained = [...news, ...gone];
  const refused = await publish([...retained, ...events], claim, parts);
  const isTold = refused !== null;
  const isRefused = (topic: string) => refused?.has(topic) ?? false;
  if (isTold) for (const message of retained) if (!isRefused(message.topic)) diff.delivered(message);
  // The next run tries these again.
  diff.forget(isRefused);
  await document.write(isTold ? { ...diff.kept(), lists, told: account.told, events: [] } : untold);
  const pollAt = columns.poll_at?.getTime() ?? row.poll_at;
  const restsUntil = Math.min(pollAt, await refreshAt(account, refreshFault, own));
  const dueAt = new Date(isTold ? restsUntil : context.clock.now() + PUBLISH_AGAIN_MS);
  await claim.write(columns, { dueAt, isPolled: polled !== null, isPublished: isTold });
  return (polled?.outcome.fault ?? refreshFault) === null;
}

/** Clears the topics of an account that is being removed, then deletes it. */
async function withdraw(claim: ClaimedAccount, parts: ProcessParts): Promise<void> {
  const { events, ...kept } = (await claim.document('published', publishedCodec).read()) ?? NOTHING;
  const messages = [...events, ...withdrawAll(ofOwnMeters(kept, claim, parts.context))];
  const refused = await publish(messages, claim, parts);
  if (refused?.size === 0) return claim.deleteAccount();
  // What is left on the broker has to be remembered.
  const dueAt = new Date(
    parts.context.clock.now() + (refused === null ? PUBLISH_AGAIN_MS : REFUSED_AGAIN_MS),
  );
  await claim.write({}, { dueAt, isPolled: false, isPublished: false });
}

/** What is due: a poll, or a refresh of the session, or neither. */
async function act(
  account: Account,
  claim: ClaimedAccount,
  context: AccountContext,
  schedule: Schedule,
): Promise<Acted> {
  const { row, signal } = claim;
  const { clock, config, log } = context;
  const { session } = account.upstream;
  if (row.wanted > 0) await account.upstream.askForLogin();
  else if (row.poll_at > clock.now()) {
    const isDue =
      config.provider?.keep_alive && msUntilRefresh(await session.current(), EARLIEST_REFRESH, clock) === 0;
    return { polled: null, refreshFault: isDue ? await faultOf(session.renew()) : null };
  }
  const slot = () => schedule.nextPoll(row.id, clock.now());
  // While others read its meters, no request of its own would show that it is signed in again.
  account.hasToSignIn = row.needs_user && account.meters?.length === 0;
  const polled = await pollTurn(account, { slot, signal, wasFailing: row.failures > 0 }, context);
  if (polled?.outcome.fault === null)
    log.debug({ account: row.id, meters: account.meters?.length ?? 0 }, 'polled');
  return { polled, refreshFault: null };
}

const faultOf = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    () => null,
    (err: unknown) => err,
  );

/** The row after a run. */
function columnsAfter(
  account: Account,
  polled: Polled | null,
  row: ClaimedRow,
  { context }: ProcessParts,
): Columns & { readonly poll_at?: Date } {
  const { state } = account.upstream.session.status();
  const { requests, logins } = account.history.today();
  const now = context.clock.now();
  const columns = {
    requests_today: requests,
    logins_today: logins,
    counted_on: context.zone.dayAt(now),
    auth_state: state,
    needs_user: needsAPerson(state),
    ...(row.repair && { repair: false }),
  };
  if (polled === null) return columns;
  const { fault } = polled.outcome;
  const { pollAt, retryAfter } = account.history.record;
  return {
    ...columns,
    ...failureColumns(fault, row, now),
    poll_at: new Date(pollAt ?? now),
    retry_after: new Date(retryAfter ?? now),
    first_history: isIncomplete(account),
    ...(fault === null && { last_success_at: new Date(now), ...duplicateColumns(account) }),
  };
}

/** An account that is well may still be one too many. */
function duplicateColumns(account: Account): Columns {
  const [duplicate] = duplicateReasons(account);
  return duplicate ? { last_error: duplicate.code, advice: `${duplicate.message} ${duplicate.hint}` } : {};
}

/** Of an account whose poll, or whose whole run, has ended with this fault; `null`: with none. */
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
async function refreshAt(
  account: Account,
  fault: unknown,
  { clock, random, config }: AccountContext,
): Promise<number> {
  if (!config.provider?.keep_alive) return Number.POSITIVE_INFINITY;
  const tokens = await account.upstream.session.current();
  const delayMs = msUntilRefresh(tokens, drawRefreshFraction(random), clock);
  if (delayMs === null) return Number.POSITIVE_INFINITY;
  return clock.now() + Math.max(LEAST_REST_MS, fault === null ? delayMs : backOffMs(fault, 1, random));
}

/** Resolves to the topics that the broker has refused, or to `null` when it has not answered: the next run publishes it. */
async function publish(messages: readonly Message[], claim: ClaimedAccount, { link, context }: ProcessParts) {
  // A process that was stopped here must not publish what is old by now.
  claim.check();
  try {
    return await link.send(messages);
  } catch (fault) {
    context.log.info({ account: claim.id, ...safeWords(fault) }, 'not published yet: the next run does it');
    return null;
  }
}
