// One run of one account under a claim: open what is kept, do what is due, publish, write everything in one statement and
// give the account back. News are written before they are published.
import type { Account, AccountOutcome } from '../accounts/account.ts';
import { accountView, composeAccount, isIncomplete, meterViews } from '../accounts/composition.ts';
import type { AccountContext } from '../accounts/context.ts';
import { eventsOfPoll, eventsOfRefresh, eventsOfStates } from '../accounts/events.ts';
import { SeriesNames } from '../accounts/names.ts';
import { openAccounts } from '../accounts/openAccounts.ts';
import type { openReplyShapes } from '../accounts/replyShapes.ts';
import type { IssuerMemory } from '../auth/oidc.ts';
import { drawRefreshFraction, msUntilRefresh } from '../auth/tokens.ts';
import type { Account as ConfiguredAccount } from '../config/schema.ts';
import { Secret } from '../config/secret.ts';
import { needsAPerson } from '../domain/health.ts';
import { type Property, seriesName, topicSafe } from '../domain/reading.ts';
import { about } from '../foundation/about.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { Scrubber } from '../foundation/log.ts';
import { backOffMs, retryAfterMs } from '../foundation/retry.ts';
import type { Gate } from '../http/client.ts';
import type { Link } from '../mqtt/link.ts';
import type { Message } from '../mqtt/message.ts';
import { homeLanguage } from '../publication/language.ts';
import { type KeptTopics, RetainedDiff, withdrawAll } from '../publication/retainedDiff.ts';
import { AccountState, type KeptRow } from '../store/database/accountState.ts';
import type { Claim, ClaimedRow, Claims, Columns } from '../store/database/claims.ts';
import { PLACES, type Seal } from '../store/database/seal.ts';
import type { Codec } from '../store/stateStore.ts';
import type { OpenFleet } from './open.ts';
import type { Pace } from './pace.ts';
import type { Schedule } from './schedule.ts';

/** What all runs of a process share. */
export interface RunParts {
  readonly context: Omit<AccountContext, 'state' | 'changed'>;
  readonly opened: OpenFleet;
  readonly claims: Claims;
  readonly pace: Pace;
  readonly schedule: Schedule;
  readonly issuerMemory: IssuerMemory;
  /** Notes the shapes of replies. */
  readonly onReply: Awaited<ReturnType<typeof openReplyShapes>>;
  readonly link: Pick<Link, 'send'>;
  /** The provider has asked all accounts to wait. */
  readonly pauseAll: (ms: number) => void;
}

/** Sealed in the account's row. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** What the broker has of the account. */
interface Published extends KeptTopics {
  /** What its lists were written by, beside readings and invoices; `null`: not all of these are published yet. */
  readonly lists: string | null;
}

/** Of the life of an access token: no refresh is planned before. */
const EARLIEST_REFRESH = 0.8;
const PUBLISH_AGAIN_MS = 2_000;
const LEAST_REST_MS = 1_000;
// Too many requests; service unavailable.
const ASKS_FOR_TIME = [429, 503];
/** A document as it is, with these objects in it. */
export const asItIs = <T>(objects: readonly string[] = []): Codec<T> => ({
  encode: (value) => value,
  decode(json) {
    if (objects.some((name) => !(Object(json)[name] instanceof Object)))
      throw new TypeError('another document');
    return json as T;
  },
});
const publishedCodec = asItIs<Published>(['topics', 'components']);
const toldCodec = asItIs<Account['told']>(['late', 'use']);

/** Rejects when the run is to be dropped: what it has not written never was. */
export async function runAccount(claim: Claim, kept: readonly KeptRow[], parts: RunParts): Promise<void> {
  const { context, opened } = parts;
  const { row } = claim;
  const isLenient = row.repair || row.removed;
  const state = new AccountState({ claim, ...opened, clock: context.clock, isLenient }, kept);
  if (row.removed) return withdraw(state, claim, parts);
  const scrubber = ownScrubber(context.scrubber);
  try {
    await workOn(state, claim, { ...parts, context: { ...context, scrubber } });
  } finally {
    scrubber.forgetAll();
  }
}

/** Clears the topics of an account that is being removed, then deletes it. */
async function withdraw(state: AccountState, claim: Claim, parts: RunParts): Promise<void> {
  const { answered, republished } = claim.row;
  const published = await state.document('published', publishedCodec).read();
  if (await publish([...eventsOf(state), ...withdrawAll(published)], claim, parts))
    return state.deleteAccount();
  const dueAt = new Date(parts.context.clock.now() + PUBLISH_AGAIN_MS);
  await state.write({ columns: {}, end: { dueAt, answered, republished, isTold: false } });
}

async function workOn(state: AccountState, claim: Claim, parts: RunParts): Promise<void> {
  const { row } = claim;
  const { context, opened, issuerMemory, onReply } = parts;
  const own: AccountContext = {
    ...context,
    config: { ...context.config, accounts: [accountOf(row, openLogin(row, opened.seal), context.scrubber)] },
    limit: concurrencyLimit(1),
    changed: () => undefined,
    state,
  };
  const gates = openGates(claim, parts);
  const shared = { names: new FleetNames(state), issuerMemory, gate: gates.gate, onReply };
  const [account] = await openAccounts(own, (meter) => meter.store.restore(null), shared);
  if (account === undefined) return;
  const told = state.document('told', toldCodec);
  account.told = (await told.read()) ?? account.told;
  const published = state.document('published', publishedCodec);
  const before = (await published.read()) ?? { topics: {}, components: {}, lists: null };
  const { outcome, refreshFault } = await act(account, claim, own);
  await account.settled();
  claim.check();
  gates.throwIfPaused();

  const events = [
    ...(outcome === null ? [] : eventsOfPoll(account, outcome, row.failures > 0, own)),
    ...(refreshFault === null ? [] : eventsOfRefresh(account, refreshFault, own)),
    ...eventsOfStates(account, meterViews(account), own),
  ];
  let columns: Columns =
    outcome === null ? sessionColumns(account) : columnsAfter(account, outcome, row, parts);
  const pollAt = 'poll_at' in columns ? Number(columns.poll_at) : row.poll_at;
  await told.write(account.told);
  state.currency = account.extras.currency;
  state.friendlyNameOf = (series) =>
    account.meters?.find(({ name }) => name === series)?.friendlyName ?? null;
  const lists = `${about.version} ${account.extras.currency}`;
  const areListsSame = before.lists === lists && !state.hasNews;
  if (state.hasNews || events.length > 0) {
    // A process that dies from here on leaves it to the next run to publish.
    if (!areListsSame) await published.write({ ...before, lists: null });
    await state.write({ columns, events });
    columns = {};
  }

  const diff = new RetainedDiff(before);
  if (row.republish > row.republished) diff.forget();
  const retained = await changesOf(account, diff, areListsSame, state, own);
  const isTold = await publish([...retained, ...eventsOf(state)], claim, parts);
  if (isTold) {
    for (const message of retained) diff.delivered(message);
    await published.write({ ...diff.kept(), lists });
  }
  const restsUntil = Math.min(pollAt, await refreshAt(account, refreshFault, own));
  const end = {
    dueAt: new Date(isTold ? restsUntil : context.clock.now() + PUBLISH_AGAIN_MS),
    answered: outcome === null ? row.answered : row.wanted,
    republished: isTold ? row.republish : row.republished,
    isTold,
  };
  await state.write({ columns: row.repair ? { ...columns, repair: false } : columns, end });
}

/** What is due: a poll, or a refresh of the session, or neither. */
async function act(
  account: Account,
  { row, signal }: Claim,
  { clock, config, counters, log }: AccountContext,
) {
  const isWanted = row.wanted > row.answered;
  if (isWanted) await account.upstream.askForLogin();
  if (!isWanted && row.poll_at > clock.now()) {
    const { session } = account.upstream;
    const isDue =
      config.provider?.keep_alive && msUntilRefresh(await session.current(), EARLIEST_REFRESH, clock) === 0;
    return { outcome: null, refreshFault: isDue ? await faultOf(session.renew()) : null };
  }
  // While others read its meters, no request of its own would show that it is signed in again.
  const isAnotherReading = row.needs_user && account.meters?.length === 0;
  const refused = isAnotherReading ? await faultOf(account.upstream.session.accessToken()) : null;
  const outcome: AccountOutcome =
    refused === null
      ? await account.poll(signal)
      : { account: row.id, events: [], unread: [], fault: refused };
  const { fault } = outcome;
  counters.countPoll(fault);
  if (fault === null) log.debug({ account: row.id, meters: account.meters?.length ?? 0 }, 'polled');
  else if (fault instanceof Failure) log.warn({ account: row.id, ...safeWords(fault) }, 'poll failed');
  else log.error({ account: row.id, err: fault }, 'poll failed unexpectedly');
  return { outcome, refreshFault: null };
}

const faultOf = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    () => null,
    (err: unknown) => err,
  );

/** The row after a poll. */
function columnsAfter(
  account: Account,
  { fault }: AccountOutcome,
  row: ClaimedRow,
  { context, schedule }: RunParts,
): Columns {
  const now = context.clock.now();
  const failures = fault === null ? 0 : row.failures + 1;
  const retryMs = account.retryDelayMs(fault, failures) ?? Number.POSITIVE_INFINITY;
  const toldToWait = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
  const slot = schedule.nextPoll(row.id, now);
  const pollAt = fault === null ? slot : Math.max(now + toldToWait, Math.min(slot, now + retryMs));
  const { requests, logins } = account.history.today();
  return {
    poll_at: new Date(pollAt),
    retry_after: new Date(now + toldToWait),
    first_history: isIncomplete(account),
    last_poll_at: new Date(now),
    ...(fault === null ? { last_success_at: new Date(now) } : {}),
    ...failureColumns(fault, row, now),
    ...sessionColumns(account),
    requests_today: requests,
    logins_today: logins,
    counted_on: context.zone.dayAt(now),
  };
}

/** Of an account of which a poll, or the whole run, has failed; `null`: it has not. */
export function failureColumns(fault: unknown, row: ClaimedRow, now: number): Columns {
  const words = fault === null ? null : safeWords(fault);
  return {
    failures: words === null ? 0 : row.failures + 1,
    failing_since: words === null ? null : new Date(row.failing_since ?? now),
    last_error: words?.code ?? null,
    advice: words?.hint ?? words?.message ?? null,
  };
}

function sessionColumns({ upstream }: Account): Columns {
  const { state } = upstream.session.status();
  return { auth_state: state, needs_user: needsAPerson(state) };
}

/** Epoch milliseconds; infinite when there is nothing to refresh. */
async function refreshAt(
  account: Account,
  fault: unknown,
  { clock, random, config }: AccountContext,
): Promise<number> {
  const tokens = await account.upstream.session.current();
  const delayMs = msUntilRefresh(tokens, drawRefreshFraction(random), clock);
  if (!config.provider?.keep_alive || delayMs === null) return Number.POSITIVE_INFINITY;
  return clock.now() + Math.max(LEAST_REST_MS, fault === null ? delayMs : backOffMs(fault, 1, random));
}

const eventsOf = ({ events }: AccountState): Message[] =>
  events.map((event) => ({ ...event, retain: false }));

const METER_TOPIC = /(?:\/meter\/|_meter_)([^/]+)/;

/** What differs from what was published last, and the clearing of what is gone and no other account writes by now. */
async function changesOf(
  account: Account,
  diff: RetainedDiff,
  areListsSame: boolean,
  state: AccountState,
  context: AccountContext,
): Promise<readonly Message[]> {
  const { topics, config } = context;
  const { discovery_prefix: prefix } = config.mqtt;
  const discovery =
    prefix === false ? null : { prefix, topics, page: null, language: homeLanguage(config.language) };
  const all = composeAccount(accountView(account, context), meterViews(account), { topics, discovery });
  const news = diff.take(account.id, all, areListsSame);
  // While a history is incomplete, a meter may only be read anew.
  const gone = isIncomplete(account) ? [] : diff.gone();
  if (gone.length === 0) return news;
  const meterOf = ({ topic }: Message) => METER_TOPIC.exec(topic)?.[1] ?? '';
  const readElsewhere = await state.othersSeries(gone.map(meterOf));
  return [...news, ...gone.filter((message) => !readElsewhere.includes(meterOf(message)))];
}

/** Resolves to false when the broker has not acknowledged all: the next run publishes it. */
async function publish(
  messages: readonly Message[],
  claim: Claim,
  { link, context }: RunParts,
): Promise<boolean> {
  // A process that was stopped here must not publish what is old by now.
  claim.check();
  try {
    await link.send(messages);
    return true;
  } catch (err) {
    context.log.info(
      { account: claim.account, ...safeWords(err) },
      'not published yet: the next run does it',
    );
    return false;
  }
}

/** Before each request stand the pace of the fleet and, before a token, the claim. */
function openGates(claim: Claim, { claims, pace, context, pauseAll }: RunParts) {
  let paused: unknown = null;
  const { clock, log } = context;
  const gate = (to: 'issuer' | 'provider'): Gate => ({
    async enter() {
      if (paused !== null) throw paused;
      await pace.turn(claim.signal).catch((err) => {
        paused = err;
        throw err;
      });
      if (to === 'issuer') await claims.confirm(claim);
      claim.check();
      return claim.signal;
    },
    answered({ status, headers }) {
      const ms = ASKS_FOR_TIME.includes(status) && retryAfterMs(headers['retry-after'], clock.now());
      if (!ms) return;
      const isAboutAll = pace.isAboutAll(claim.account);
      const whom = isAboutAll ? 'all accounts' : 'this account';
      log.warn(
        { account: claim.account, seconds: Math.round(ms / 1000) },
        `the provider asks ${whom} to wait`,
      );
      if (isAboutAll) pauseAll(ms);
    },
  });
  return {
    gate,
    /** A pause is not a failure of the account. */
    throwIfPaused(): void {
      if (paused !== null) throw paused;
    },
  };
}

export function openLogin({ id, login }: Pick<ClaimedRow, 'id' | 'login'>, seal: Seal): Login {
  try {
    return seal.open(PLACES.login(id), login) as Login;
  } catch {
    // The row has been changed by something else than this program.
    throw failure('damaged_login', `The login of ${id} in the database cannot be opened.`, {
      exit: EXIT.config,
      retry: 'never',
      hint: 'Import this account again with `heat2mqtt accounts import`.',
    });
  }
}

const accountOf = (
  { id, history_since }: ClaimedRow,
  { username, password }: Login,
  scrubber: Scrubber,
): ConfiguredAccount => ({
  id,
  username,
  password: new Secret('database', async () => password, scrubber),
  ...(history_since === null ? {} : { history_since }),
});

/** What is registered for one run is forgotten with it. */
function ownScrubber(shared: Scrubber): Scrubber & { forgetAll(): void } {
  const own = new Set<string>();
  const register = (secret: string) => {
    if (!own.has(secret)) shared.register(secret);
    own.add(secret);
  };
  return {
    ...shared,
    register,
    registerToken: register,
    forgetAll() {
      for (const secret of own) shared.forget(secret);
    },
  };
}

/** How the series of a property may be called. */
export const wantedSeries = (property: Property) => {
  const name = seriesName(property);
  const { propertyCustomerId } = property;
  return { property: propertyCustomerId, name, longerName: `${name}-${topicSafe(propertyCustomerId)}` };
};

/** Of all accounts of the fleet the lowest id that is usable reads a property, under a name that no other has. */
class FleetNames extends SeriesNames {
  readonly #state: AccountState;

  constructor(state: AccountState) {
    super();
    this.#state = state;
  }

  override async claim(properties: readonly Property[]): Promise<readonly Property[]> {
    await this.#state.takeSeries(properties.map(wantedSeries));
    return properties.filter((one) => this.#state.seriesName(one.propertyCustomerId) !== undefined);
  }

  override nameOf(property: Property): string {
    return this.#state.seriesName(property.propertyCustomerId) ?? super.nameOf(property);
  }
}
