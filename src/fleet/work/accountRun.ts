// One run of one account under a claim: read what is kept, do what is due, write everything in one transaction, publish.

import type { Account, AccountOutcome } from '../../accounts/account.ts';
import { openAccounts } from '../../accounts/openAccounts.ts';
import { SeriesNames } from '../../accounts/seriesNames.ts';
import type { IssuerMemory } from '../../auth/oidc.ts';
import { msUntilFraction, refreshIsWorthTrying } from '../../auth/tokens.ts';
import type { Account as ConfiguredAccount } from '../../config/schema.ts';
import { Secret } from '../../config/secrets/secrets.ts';
import { type Context, Signals } from '../../daemon/context.ts';
import type { Invoice } from '../../domain/invoice.ts';
import { type Property, seriesName, topicSafe } from '../../domain/reading.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit } from '../../foundation/limits.ts';
import type { Scrubber } from '../../foundation/log.ts';
import { backOffMs } from '../../foundation/retry.ts';
import type { Message } from '../../mqtt/message.ts';
import { withdrawAll } from '../../publication/retainedDiff.ts';
import { ClaimedState } from '../../store/database/claimedState.ts';
import type { Claim, Claims } from '../../store/database/claims.ts';
import { type Database, DatabaseTrouble } from '../../store/database/database.ts';
import { publishedCodec } from '../../store/database/published.ts';
import type { Seal } from '../../store/database/seal.ts';
import type { Budget } from './budget.ts';
import { openGates } from './gates.ts';
import { compose, type News } from './publication.ts';

/** What all runs of a process share. */
export interface RunParts {
  readonly context: Omit<Context, 'state' | 'signals'>;
  readonly database: Database;
  readonly seal: Seal;
  readonly claims: Claims;
  readonly budget: Budget;
  readonly issuerMemory: IssuerMemory;
  /** Milliseconds until the next poll of the schedule. */
  readonly untilNextPoll: (account: string) => number;
}

/** Sealed in the account's row. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

const NO_CHANGE = { sql: 'due_at = due_at', values: [] };

export const loginPlace = (account: string): string => `account ${account} login`;

const RETRY_MS = 500;
// As the daemon refreshes: a retry still ends before the access token does.
const REFRESH_FROM = 0.8;
const REFRESH_UNTIL = 0.88;

/**
 * Does what is due and commits it. Resolves to whether the history is still being read for the first time. Rejects when the
 * run is to be dropped: what it has not committed never was.
 */
export async function runAccount(claim: Claim, parts: RunParts): Promise<boolean> {
  const { context } = parts;
  const { row } = claim;
  const state = await ClaimedState.open({ ...parts, claim, clock: context.clock });
  const published = state.document('published', publishedCodec);
  if (row.removed) {
    await commit(state, claim, NO_CHANGE, withdrawAll(await published.read()), context);
    return false;
  }
  const isWanted = row.wanted > row.answered || row.anew;
  const isPollDue = isWanted || row.poll_at <= context.clock.now();
  if (row.paused || !(isPollDue || context.config.provider?.keep_alive)) return false;
  const scrubber = ownScrubber(context.scrubber);
  try {
    const signals = new Signals();
    const newInvoices: Invoice[] = [];
    signals.on('newInvoices', (_, invoices) => newInvoices.push(...invoices));
    const login = parts.seal.open(loginPlace(row.id), row.login) as Login;
    const own: Context = {
      ...context,
      config: { ...context.config, accounts: [accountOf(row.id, login, scrubber)] },
      limit: concurrencyLimit(1),
      scrubber,
      signals,
      state,
    };
    const gates = openGates(() => claim, claim.signal, { ...parts, ...context });
    const [account] = await openAccounts(
      own,
      { apply: (meter) => meter.store.restore(null) },
      {
        names: new FleetNames(state),
        issuerMemory: parts.issuerMemory,
        gate: gates.gate,
      },
    );
    if (account === undefined) return false;
    if (row.wanted > row.answered) await account.upstream.askForLogin();
    const outcome = isPollDue ? await account.poll(claim.signal) : null;
    const refreshFault = isPollDue ? null : await refresh(account);
    await account.settled();
    claim.check();
    gates.throwIfPaused();
    if (outcome !== null) own.counters.countPoll(outcome.fault);
    tell(account, outcome, own);
    const before = row.anew ? null : await published.read();
    const news: News = { outcome, newInvoices, wasFailing: row.failures > 0 };
    const composed = compose(account, news, before, own);
    await published.write(composed.published);
    const columns = await columnsAfter(account, outcome, refreshFault, claim, parts);
    await commit(state, claim, columns, composed.messages, own);
    return account.meters?.some(({ ledger }) => !ledger.complete) ?? true;
  } finally {
    scrubber.forgetAll();
  }
}

/** The columns of the account's row: what was counted, and when which run is due. */
async function columnsAfter(
  account: Account,
  outcome: AccountOutcome | null,
  refreshFault: unknown,
  { row }: Claim,
  { context, untilNextPoll }: RunParts,
) {
  const { clock, random, zone, config } = context;
  const { session } = account.upstream;
  const fault = outcome?.fault ?? null;
  const failures = outcome === null ? row.failures : fault === null ? 0 : row.failures + 1;
  const { nextAttemptAt } = session.status();
  const retryMs = () => {
    if (!(fault instanceof Failure) || fault.retry !== 'never') return backOffMs(fault, failures, random);
    return nextAttemptAt === null ? Number.POSITIVE_INFINITY : Math.max(0, nextAttemptAt - clock.now());
  };
  const slotMs = untilNextPoll(row.id);
  const pollMs =
    outcome === null ? row.poll_at - clock.now() : fault === null ? slotMs : Math.min(slotMs, retryMs());
  const refreshMs = config.provider?.keep_alive ? await untilRefresh(account, refreshFault, context) : pollMs;
  const { requests, logins } = account.history.today();
  return {
    sql: `due_at = CASE WHEN wanted > $3 THEN now() ELSE now() + make_interval(secs => $4) END,
      poll_at = now() + make_interval(secs => $5), answered = $3, anew = false, failures = $6,
      failing_since = CASE WHEN $6 = 0 THEN NULL ELSE coalesce(failing_since, now()) END,
      last_poll_at = CASE WHEN $7 THEN now() ELSE last_poll_at END,
      last_success_at = CASE WHEN $7 AND $6 = 0 THEN now() ELSE last_success_at END,
      last_error = $8, auth_state = $9, requests_today = $10, logins_today = $11, counted_on = $12, invoices = $13`,
    values: [
      row.wanted,
      Math.min(pollMs, refreshMs) / 1000,
      pollMs / 1000,
      failures,
      outcome !== null,
      fault === null ? null : safeWords(fault).code,
      session.status().state,
      requests,
      logins,
      zone.dayAt(clock.now()),
      JSON.stringify(account.extras.known.invoices.found?.all ?? null),
    ],
  };
}

/** Milliseconds; infinite when there is nothing to refresh. */
async function untilRefresh(
  { upstream }: Account,
  fault: unknown,
  { clock, random }: RunParts['context'],
): Promise<number> {
  const current = await upstream.session.current();
  if (current === null || !refreshIsWorthTrying(current, clock)) return Number.POSITIVE_INFINITY;
  if (fault !== null) return backOffMs(fault, 1, random);
  return msUntilFraction(current, REFRESH_FROM + random() * (REFRESH_UNTIL - REFRESH_FROM), clock);
}

/** Resolves to what went wrong, or to `null`. A session that only a person can bring back waits for the poll. */
const refresh = ({ upstream }: Account): Promise<unknown> =>
  upstream.session.renew().then(
    () => null,
    (err) => err,
  );

/** Tried for as long as the claim lasts. */
async function commit(
  state: ClaimedState,
  claim: Claim,
  { sql, values }: { readonly sql: string; readonly values: readonly unknown[] },
  messages: readonly Message[],
  { clock }: Pick<Context, 'clock'>,
): Promise<void> {
  for (;;) {
    try {
      return await state.commit(sql, values, messages);
    } catch (err) {
      if (!(err instanceof DatabaseTrouble)) throw err;
      await clock.sleep(RETRY_MS, claim.signal);
      claim.check();
    }
  }
}

export const accountOf = (
  id: string,
  { username, password }: Login,
  scrubber: Scrubber,
): ConfiguredAccount => ({
  id,
  username,
  password: new Secret('database', async () => password, scrubber),
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

/** Names of series are given by the database: of all accounts of the fleet the first keeps a property, and a name. */
class FleetNames extends SeriesNames<Account> {
  readonly #state: ClaimedState;

  constructor(state: ClaimedState) {
    super();
    this.#state = state;
  }

  override async claim(properties: readonly Property[]): Promise<readonly Property[]> {
    const plain = properties.map((one) => ({ property: one.propertyCustomerId, name: seriesName(one) }));
    await this.#state.claimSeries(plain);
    await this.#state.claimSeries(
      plain.map(({ property, name }) => ({ property, name: `${name}-${topicSafe(property)}` })),
    );
    return properties.filter((one) => this.#state.seriesName(one.propertyCustomerId) !== undefined);
  }

  override nameOf(property: Property): string {
    return this.#state.seriesName(property.propertyCustomerId) ?? super.nameOf(property);
  }
}

function tell({ id, meters }: Account, outcome: AccountOutcome | null, { log }: Context): void {
  const fault = outcome?.fault ?? null;
  if (fault === null) log.debug({ account: id, meters: meters?.length ?? 0 }, 'polled');
  else if (fault instanceof Failure) log.warn({ account: id, ...safeWords(fault) }, 'poll failed');
  else log.error({ account: id, err: fault }, 'poll failed unexpectedly');
}
