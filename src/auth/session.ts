// The session with the issuer: a valid access token, else a refresh, else one login; one token request at a time.
//
//   state                      entered when                                     tokens
//   ok                         tokens came, or the issuer has ended the session  new, or none
//   refreshing                 a caller waits for a refresh or a login           as before
//   provider_down              no answer, or one that refuses nothing            kept
//   backoff                    the API refuses tokens, or a login must wait      kept
//   that of a refusal          a login is refused, or waits because one was      those that there are
//   needs_user_action          the account is disabled, or a secret unreadable   kept
import type { AuthState, AuthStatus } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { RateLimit, SingleFlight } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { TokenSet } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import { sessionIdIn } from './claims.ts';
import { GrantUnusable } from './issuerTrouble.ts';
import type { Login, TypedCredentials } from './login.ts';
import type { LoginBudget } from './loginBudget.ts';
import { LoginSuspended } from './loginSuspended.ts';
import type { Issuer } from './oidc.ts';
import {
  accessTokenRejected,
  LoginRefused,
  NO_REFRESH_TOKEN,
  RefusedForNow,
  SessionEnded,
} from './refusals.ts';
import * as token from './tokens.ts';

export interface SessionDeps {
  readonly issuer: Pick<Issuer, 'refresh' | 'endSession'>;
  readonly login: Login;
  readonly budget: Pick<LoginBudget, 'isUnproven' | 'useful' | 'forget'>;
  readonly tokens: Document<TokenSet>;
  /** The configuration asks for a session without an end, which needs a refresh token. */
  readonly wantsRefreshToken: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a login, or a refresh, was granted. */
  readonly onLogin?: (() => void) | undefined;
  readonly onRefresh?: (() => void) | undefined;
  /** Called whenever `status()` or the tokens may have changed. */
  readonly onChange?: (() => void) | undefined;
  /** Gets each token before anything else may see it. */
  readonly scrub: (secret: string) => void;
  /** Runs a step that no other process runs for this account at the same moment. `false`: it must not refresh. */
  readonly withLock: <T>(step: (mayRefresh: boolean) => Promise<T>) => Promise<T>;
}

const HOUR_MS = 3_600_000;
/** Facts about the tokens since a login, or since those of another process were taken. */
const AFTER_LOGIN = {
  /** The API has accepted them. */
  areUseful: false,
  refreshes: 0,
  /** The last refresh got no answer: the issuer may have carried it out all the same. */
  isUnanswered: false,
};

interface Standing extends Pick<AuthStatus, 'state' | 'nextAttemptAt'> {
  readonly fault: Failure | null;
  /** Epoch milliseconds. */
  readonly at: number;
}
const WELL: Standing = { state: 'ok', fault: null, nextAttemptAt: null, at: 0 };

/** A refresh got no answer while the clock was ahead, and is not due by the clock as it is now. */
function isOver({ state, at }: Standing, current: token.CurrentTokens | null, clock: Clock): boolean {
  if (state !== 'provider_down' || current === null || clock.now() >= at) return false;
  return (token.msUntilRefresh(current, 0, clock) ?? 0) > 0;
}

export class Session {
  readonly #deps: SessionDeps;
  readonly #tokens: SessionTokens;
  // A rotated refresh token that is used twice ends the session: others wait for the request under way.
  readonly #flight = new SingleFlight<string | null>();
  // Realms end sessions after hours; some do after minutes.
  readonly #loginsForEndedSession: RateLimit;
  #since = AFTER_LOGIN;
  #entered = WELL;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#tokens = new SessionTokens(deps);
    this.#loginsForEndedSession = new RateLimit(deps.clock, 6, HOUR_MS);
  }

  /**
   * An access token that is valid now. `rejected` lists the tokens that the API refused within one exchange: after the
   * first the session is refreshed, after the second it logs in, after the third it rejects with `key_rejected`.
   */
  async accessToken(rejected: readonly string[] = []): Promise<string> {
    const usable = token.usable(await this.#tokens.read(), rejected, this.#deps.clock);
    if (usable !== null) return usable;
    while (this.#flight.current !== null) {
      const granted = await this.#flight.current;
      if (granted !== null && !rejected.includes(granted)) return granted;
    }
    // Nothing is under way: it is this step that runs.
    return this.#locked((mayRefresh) => this.#obtain(rejected, mayRefresh)) as Promise<string>;
  }

  /** The API has answered: it accepts the access tokens, and no login is needed. */
  async accepted(): Promise<void> {
    const { budget, withLock } = this.#deps;
    const isInDoubt = this.#standing.state === 'backoff' || this.#wasRefused;
    if (isInDoubt && this.hasUsableAccess) this.#enter('ok');
    if (this.#since.areUseful) return;
    this.#since = { ...this.#since, areUseful: true };
    if (await budget.isUnproven()) await withLock(() => budget.useful());
  }

  /** The tokens have turned out to be of no use. */
  useless(why: Failure): Promise<void> {
    return this.#deps.withLock(() => this.#deps.login.useless(why));
  }

  /** Refreshes ahead of expiry; a session that has ended is replaced at a limited rate. Resolves to whether there are new tokens. */
  async renew(): Promise<boolean> {
    return (await this.#locked(() => this.#renew())) !== null;
  }

  /** Logs in, whatever tokens there are. */
  logIn(typed: TypedCredentials | null = null): Promise<void> {
    return this.#alone(() => this.#logIn(typed));
  }

  /** Stores what a person has brought, by a sign-in of another kind: no refusal counts any more. */
  storeGrant(grant: token.Grant): Promise<void> {
    return this.#alone(async () => {
      const stored = await this.#store(grant, null);
      await this.#deps.budget.forget();
      return stored;
    });
  }

  /** Takes the tokens that another process has stored meanwhile. Resolves to whether there were any. */
  async reload(): Promise<boolean> {
    return this.#flight.current === null && this.#takeStored();
  }

  /** Ends the session at the issuer and forgets the tokens. Resolves to false when there was none. */
  end(): Promise<boolean> {
    const { tokens, issuer, withLock } = this.#deps;
    return withLock(async () => {
      const stored = await tokens.read();
      if (stored?.refreshToken) await issuer.endSession(stored.refreshToken);
      await this.#tokens.remove();
      this.#enter('ok');
      return stored !== null;
    });
  }

  /** The tokens in use; read from disk at first. */
  current(): Promise<token.CurrentTokens | null> {
    return this.#tokens.read();
  }

  status(): AuthStatus {
    const { state, nextAttemptAt } = this.#standing;
    const { accessExpiresAt = null, refreshExpiresAt = null } = this.#tokens.now?.set ?? {};
    return { state, nextAttemptAt, accessExpiresAt, refreshExpiresAt };
  }

  /** A request that starts now may use the access token. */
  get hasUsableAccess(): boolean {
    return token.usable(this.#tokens.now, [], this.#deps.clock) !== null;
  }

  /** A refresh may bring the next access token. */
  get isRenewable(): boolean {
    const { now } = this.#tokens;
    return now !== null && token.refreshIsWorthTrying(now, this.#deps.clock);
  }

  /** The issuer has given none, although the configuration asks for more than it usually gives. */
  get lacksRefreshToken(): boolean {
    return this.#deps.wantsRefreshToken && this.#tokens.now?.set.refreshToken === null;
  }

  /** The failure that is in the way; `null`: none. */
  get fault(): Failure | null {
    return this.#standing.fault;
  }

  /** The last login was refused, and the next one waits. */
  get isSuspended(): boolean {
    return this.#wasRefused && !this.#deps.login.needsPerson;
  }

  get #standing(): Standing {
    return isOver(this.#entered, this.#tokens.now, this.#deps.clock) ? WELL : this.#entered;
  }

  get #wasRefused(): boolean {
    return this.fault instanceof LoginRefused || this.fault instanceof LoginSuspended;
  }

  #enter(state: AuthState, fault: Failure | null = null, nextAttemptAt: number | null = null): void {
    this.#entered = { state, fault, nextAttemptAt, at: this.#deps.clock.now() };
    this.#deps.onChange?.();
  }

  #fail(err: unknown, nextAttemptAt: number | null = null): void {
    this.#enter(stateAfter(err), err instanceof Failure ? err : null, nextAttemptAt);
  }

  #locked(step: (mayRefresh: boolean) => Promise<string | null>): Promise<string | null> {
    return this.#flight.run(() => this.#deps.withLock(step));
  }

  /** It waits for whatever is under way. */
  async #alone(step: () => Promise<string>): Promise<void> {
    while (this.#flight.current !== null) await this.#flight.current.catch(() => undefined);
    await this.#locked(step);
  }

  async #obtain(rejected: readonly string[], mayRefresh: boolean): Promise<string> {
    await this.#takeStored();
    const current = this.#tokens.now;
    const usable = token.usable(current, rejected, this.#deps.clock);
    if (usable !== null) return usable;
    if (current !== null && mayRefresh && this.isRenewable && rejected.length < 2) {
      this.#enter('refreshing', this.fault);
      const refreshed = await this.#refresh(current);
      if (refreshed !== null) return refreshed;
    }
    if (rejected.length > 0) await this.#rejectIfUseless(rejected);
    return this.#logIn();
  }

  /** The API refuses whatever tokens there are: another login may help, and may be tried now, or it rejects. */
  async #rejectIfUseless(rejected: readonly string[]): Promise<void> {
    const { login } = this.#deps;
    const refused = accessTokenRejected();
    await login.useless(refused);
    const mayLogIn =
      rejected.length <= 2 &&
      !(login.needsPerson && this.#tokens.now) &&
      (await login.suspendedBy())?.about !== 'tokens';
    if (mayLogIn) return;
    this.#enter('backoff');
    throw refused;
  }

  async #renew(): Promise<string | null> {
    const isTaken = await this.#takeStored();
    const current = this.#tokens.now;
    if (isTaken) return current?.set.accessToken ?? null;
    if (current === null || !this.isRenewable) return null;
    const wasRefreshed = this.#since.refreshes > 0;
    // Does not enter 'refreshing': no poll waits, and it would be the most frequent message of all.
    const refreshed = await this.#refresh(current);
    if (refreshed !== null) return refreshed;
    // If the realm ends each session at its first refresh, the next login waits for the next poll.
    const mayLogIn = this.#deps.login.needsPerson || wasRefreshed;
    return mayLogIn && this.#loginsForEndedSession.tryStart() ? this.#logIn() : null;
  }

  /** `null` when the issuer has ended the session. */
  async #refresh(current: token.CurrentTokens): Promise<string | null> {
    const { set } = current;
    try {
      const grant = await this.#deps.issuer.refresh(set.refreshToken ?? '');
      this.#since = { ...this.#since, refreshes: this.#since.refreshes + 1 };
      this.#deps.onRefresh?.();
      return await this.#store(grant, set);
    } catch (err) {
      // The refresh token that an unusable answer has brought: the one before it is used up.
      if (err instanceof GrantUnusable && isOfSameSession(err.grant, set))
        await this.#tokens.save(token.withRotated(current, err.grant, this.#deps.clock.now()));
      if (err instanceof SessionEnded) return this.#ended(err);
      if (!(err instanceof RefusedForNow)) this.#since = { ...this.#since, isUnanswered: true };
      this.#fail(err);
      throw err;
    }
  }

  async #ended({ reused }: SessionEnded): Promise<null> {
    // A lost answer means that the token was used; without one, using it twice is our own bug.
    const isOurs = reused && !this.#since.isUnanswered;
    this.#deps.log[isOurs ? 'error' : 'info']({ reused }, 'session ended by the issuer');
    await this.#tokens.remove();
    this.#enter('ok');
    return null;
  }

  async #logIn(typed: TypedCredentials | null = null): Promise<string> {
    const { login, log, onLogin } = this.#deps;
    try {
      const grant = await login.attempt(typed, () => this.#enter('refreshing', this.fault));
      log.info('logged in');
      this.#since = AFTER_LOGIN;
      onLogin?.();
      return await this.#store(grant, null);
    } catch (err) {
      if (err instanceof GrantUnusable) onLogin?.();
      const next = login.needsPerson ? null : await login.suspendedBy();
      this.#fail(err, next?.nextAttemptAt);
      throw err;
    }
  }

  async #store(grant: token.Grant, previous: TokenSet | null): Promise<string> {
    const { clock, log } = this.#deps;
    const set = token.toTokenSet(grant, clock.now(), previous);
    await this.#tokens.save(token.grantedNow(set, clock));
    if (this.lacksRefreshToken) log.warn(NO_REFRESH_TOKEN, 'the session cannot be refreshed');
    this.#since = { ...this.#since, isUnanswered: false };
    this.#enter('ok');
    return set.accessToken;
  }

  async #takeStored(): Promise<boolean> {
    if (!(await this.#tokens.takeStored())) return false;
    this.#since = AFTER_LOGIN;
    this.#enter('ok');
    return true;
  }
}

/** The tokens in memory and on the disk, where another process may put others. */
class SessionTokens {
  readonly #deps: Pick<SessionDeps, 'tokens' | 'clock' | 'scrub'>;
  #now: token.CurrentTokens | null | undefined;
  /** They were last read or written: others are news. */
  #onDisk: TokenSet | null = null;

  constructor(deps: Pick<SessionDeps, 'tokens' | 'clock' | 'scrub'>) {
    this.#deps = deps;
  }

  get now(): token.CurrentTokens | null {
    return this.#now ?? null;
  }

  async read(): Promise<token.CurrentTokens | null> {
    if (this.#now !== undefined) return this.#now;
    const stored = await this.#deps.tokens.read();
    if (this.#now === undefined) this.#take(stored);
    return this.now;
  }

  /** Takes those that another process has stored since. Resolves to whether there were any. */
  async takeStored(): Promise<boolean> {
    const before = await this.read();
    const stored = await this.#deps.tokens.read();
    // Their times do not tell, since a clock may have stepped back. Those from before are older than ours, or have ended.
    if (stored === null || this.#now !== before || areSame(stored, this.#onDisk)) return false;
    this.#onDisk = stored;
    if (before && areSame(stored, before.set)) return false;
    this.#take(stored);
    return true;
  }

  /** They are written before their first use: a crash in between must not lose the only valid pair. */
  async save(next: token.CurrentTokens): Promise<void> {
    this.#scrub(next.set);
    if (await this.#deps.tokens.write(next.set)) this.#onDisk = next.set;
    this.#now = next;
  }

  remove(): Promise<boolean> {
    this.#now = null;
    return this.#deps.tokens.remove();
  }

  #take(stored: TokenSet | null): void {
    this.#onDisk = stored;
    if (stored !== null) this.#scrub(stored);
    this.#now = stored && token.readFromDisk(stored, this.#deps.clock);
  }

  #scrub({ accessToken, refreshToken }: TokenSet): void {
    this.#deps.scrub(accessToken);
    if (refreshToken !== null) this.#deps.scrub(refreshToken);
  }
}

function isOfSameSession({ refreshToken }: token.Grant, set: TokenSet): boolean {
  const session = sessionIdIn(set.refreshToken) ?? sessionIdIn(set.accessToken);
  return session !== null && sessionIdIn(refreshToken) === session;
}

const areSame = (set: TokenSet, other: TokenSet | null): boolean =>
  set.accessToken === other?.accessToken && set.refreshToken === other.refreshToken;

function stateAfter(err: unknown): AuthState {
  if (err instanceof LoginSuspended) return err.suspension.state;
  if (err instanceof LoginRefused || err instanceof RefusedForNow) return err.state;
  if (!(err instanceof Failure)) return 'provider_down';
  // The issuer was not asked: the outcome could not be kept, or the secret not be read.
  if (err.code === 'state_unwritable') return 'backoff';
  return err.exitCode === EXIT.config ? 'needs_user_action' : 'provider_down';
}
