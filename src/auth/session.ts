// The session with the issuer: a valid access token, else a refresh, else one login; one token request at a time.
import type { AuthState, AuthStatus } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { RateLimit, SingleFlight } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { TokenSet } from '../store/documents.ts';
import type { Document } from '../store/stateStore.ts';
import { sessionIdIn } from './claims.ts';
import { type Login, LoginSuspended, type TypedCredentials } from './login.ts';
import type { LoginBudget } from './loginBudget.ts';
import type { Issuer } from './oidc.ts';
import {
  accessTokenRejected,
  LoginRefused,
  NO_REFRESH_TOKEN,
  RefusedForNow,
  SessionEnded,
} from './refusals.ts';
import * as token from './tokens.ts';
import { GrantUnusable } from './unreachable.ts';

export interface SessionOptions {
  readonly issuer: Pick<Issuer, 'refresh' | 'endSession'>;
  readonly login: Pick<Login, 'attempt' | 'suspendedBy' | 'needsPerson' | 'useless'>;
  readonly budget: Pick<LoginBudget, 'isUnproven' | 'useful'>;
  readonly tokens: Document<TokenSet>;
  /** The configuration asks for a session without an end, which needs a refresh token. */
  readonly wantsRefreshToken: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a login, or a refresh, was granted. */
  readonly onLogin: () => void;
  readonly onRefresh: () => void;
  /** Called whenever `status()` or the tokens may have changed. */
  readonly onChange: () => void;
  /** Gets each token before anything else may see it. */
  readonly scrub: (secret: string) => void;
  /** Runs a step that no other process runs for this account at the same moment. `false`: it must not refresh. */
  readonly withLock: <T>(step: (mayRefresh: boolean) => Promise<T>) => Promise<T>;
}

const HOUR_MS = 3_600_000;

export class Session {
  readonly #options: SessionOptions;
  // With rotation a refresh token that is used twice ends the session: others wait for the request under way.
  readonly #flight = new SingleFlight<string | null>();
  // Realms end sessions after hours; some do after minutes.
  readonly #loginsForEndedSession: RateLimit;
  #current: token.CurrentTokens | null | undefined;
  #state: AuthState = 'ok';
  #nextAttemptAt: number | null = null;
  #fault: Failure | null = null;
  /** The tokens that were on the disk when they were last read or written: others are news. */
  #onDisk: TokenSet | null = null;
  /** The API has accepted tokens since this process has taken those of another login. */
  #areUseful = false;
  #refreshesSinceLogin = 0;
  /** The last refresh got no answer: the issuer may have carried it out all the same. */
  #isUnanswered = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#loginsForEndedSession = new RateLimit(options.clock, 6, HOUR_MS);
  }

  /**
   * An access token that is valid now. `rejected` lists the tokens that the API refused within one exchange: after the
   * first the session is refreshed, after the second it logs in, after the third it rejects with `key_rejected`.
   */
  async accessToken(rejected: readonly string[] = []): Promise<string> {
    const current = await this.current();
    if (current && this.#isUsable(current, rejected)) return current.set.accessToken;
    while (this.#flight.current !== null) {
      const granted = await this.#flight.current;
      if (granted !== null && !rejected.includes(granted)) return granted;
    }
    const obtained = await this.#flight.run(() =>
      this.#options.withLock((mayRefresh) => this.#obtain(rejected, mayRefresh)),
    );
    return obtained ?? this.accessToken(rejected);
  }

  /** To be called when the API has answered: it accepts the access tokens, and no login is needed. */
  async accepted(): Promise<void> {
    const isInDoubt = this.#state === 'backoff' || this.#wasRefused;
    if (isInDoubt && this.#current && this.#isUsable(this.#current, [])) this.#enter('ok');
    if (this.#areUseful) return;
    this.#areUseful = true;
    const { budget, withLock } = this.#options;
    if (await budget.isUnproven()) await withLock(() => budget.useful());
  }

  /** To be called when the tokens turn out to be of no use. */
  async useless(fault: Failure): Promise<void> {
    await this.#options.withLock(() => this.#options.login.useless(fault));
  }

  /**
   * Refreshes ahead of expiry. A session that the issuer has ended is replaced by a login, at a limited rate.
   * Resolves to whether there are new tokens.
   */
  async renew(): Promise<boolean> {
    const granted = await this.#flight.run(() => this.#options.withLock(() => this.#renewNow()));
    return granted !== null;
  }

  /** Logs in, whatever tokens there are. */
  async logIn(typed: TypedCredentials | null = null): Promise<void> {
    await this.#alone(() => this.#logIn(typed));
  }

  /** Stores what a person has brought, by a sign-in of another kind. */
  async storeGrant(grant: token.Grant): Promise<void> {
    await this.#alone(() => this.#store(grant, null));
  }

  /** Takes the tokens that another process has stored meanwhile. Resolves to whether there were any. */
  async reload(): Promise<boolean> {
    return this.#flight.current === null && this.#takeStored();
  }

  /** Ends the session at the issuer and forgets the tokens. Resolves to false when there was none. */
  async end(): Promise<boolean> {
    const { issuer, tokens, withLock } = this.#options;
    return withLock(async () => {
      const stored = await tokens.read();
      if (stored?.refreshToken) await issuer.endSession(stored.refreshToken);
      await tokens.remove();
      this.#current = null;
      this.#enter('ok');
      return stored !== null;
    });
  }

  /** The tokens in use; read from disk at first. */
  async current(): Promise<token.CurrentTokens | null> {
    if (this.#current !== undefined) return this.#current;
    const stored = await this.#options.tokens.read();
    if (this.#current === undefined) {
      if (stored !== null) this.#scrub(stored);
      this.#onDisk = stored;
      this.#current = stored && token.readFromDisk(stored, this.#options.clock);
    }
    return this.#current;
  }

  status(): AuthStatus {
    return {
      state: this.#state,
      nextAttemptAt: this.#nextAttemptAt,
      accessExpiresAt: this.#current?.set.accessExpiresAt ?? null,
      refreshExpiresAt: this.#current?.set.refreshExpiresAt ?? null,
    };
  }

  /** The issuer has given none, although the configuration asks for more than it usually gives. */
  get lacksRefreshToken(): boolean {
    return (
      this.#options.wantsRefreshToken && this.#current != null && this.#current.set.refreshToken === null
    );
  }

  /** What went wrong last; `null` when nothing did. */
  get fault(): Failure | null {
    return this.#fault;
  }

  /** The last login was refused, and the next one waits. */
  get isSuspended(): boolean {
    return this.#wasRefused && !this.#options.login.needsPerson;
  }

  get #wasRefused(): boolean {
    return this.#fault instanceof LoginRefused || this.#fault instanceof LoginSuspended;
  }

  /** After whatever is under way. */
  async #alone(step: () => Promise<string>): Promise<void> {
    while (this.#flight.current !== null) await this.#flight.current.catch(() => undefined);
    await this.#flight.run(() => this.#options.withLock(step));
  }

  async #obtain(rejected: readonly string[], mayRefresh: boolean): Promise<string> {
    const current = await this.#newest();
    if (current) {
      if (this.#isUsable(current, rejected)) return current.set.accessToken;
      const isWorthIt = mayRefresh && token.refreshIsWorthTrying(current, this.#options.clock);
      if (rejected.length < 2 && isWorthIt) {
        this.#enter('refreshing');
        const refreshed = await this.#refresh(current);
        if (refreshed !== null) return refreshed;
      }
    }
    if (rejected.length > 0) await this.#rejectIfUseless(rejected);
    return this.#logIn();
  }

  /** The API refuses whatever tokens there are: another login may help, and may be tried now, or it rejects. */
  async #rejectIfUseless(rejected: readonly string[]): Promise<void> {
    const { login } = this.#options;
    const fault = accessTokenRejected();
    await login.useless(fault);
    const mayLogIn =
      rejected.length <= 2 &&
      !(login.needsPerson && this.#current) &&
      (await login.suspendedBy())?.about !== 'tokens';
    if (mayLogIn) return;
    this.#enter('backoff');
    throw fault;
  }

  async #renewNow(): Promise<string | null> {
    const before = await this.current();
    const current = await this.#newest();
    if (current && current !== before) return current.set.accessToken;
    if (!current || !token.refreshIsWorthTrying(current, this.#options.clock)) return null;
    const wasRefreshed = this.#refreshesSinceLogin > 0;
    // Does not enter 'refreshing': no poll waits, and it would be the most frequent message of all.
    const refreshed = await this.#refresh(current);
    if (refreshed !== null) return refreshed;
    // If the realm ends each session at its first refresh, the next login waits for the next poll.
    const mayLogIn = this.#options.login.needsPerson || wasRefreshed;
    return mayLogIn && this.#loginsForEndedSession.tryStart() ? this.#logIn() : null;
  }

  /** `null` when the issuer has ended the session. */
  async #refresh(current: token.CurrentTokens): Promise<string | null> {
    const { issuer, tokens, log, onRefresh } = this.#options;
    const { set } = current;
    try {
      const grant = await issuer.refresh(set.refreshToken ?? '');
      this.#refreshesSinceLogin += 1;
      onRefresh();
      return await this.#store(grant, set);
    } catch (err) {
      if (err instanceof GrantUnusable) await this.#storeRotated(err.grant, current);
      if (!(err instanceof SessionEnded)) {
        if (!(err instanceof RefusedForNow)) this.#isUnanswered = true;
        this.#fail(err);
        throw err;
      }
      // A lost answer means that the token was used; without one, using it twice is our own bug.
      const isOurs = err.reused && !this.#isUnanswered;
      log[isOurs ? 'error' : 'info']({ reused: err.reused }, 'session ended by the issuer');
      this.#current = null;
      await tokens.remove().catch((fault) => log.error({ err: fault }, 'ended session could not be removed'));
      this.#enter('ok');
      return null;
    }
  }

  async #logIn(typed: TypedCredentials | null = null): Promise<string> {
    const { login, log, onLogin } = this.#options;
    const isTried = typed !== null || (!login.needsPerson && (await login.suspendedBy()) === null);
    if (isTried) this.#enter('refreshing');
    try {
      const grant = await login.attempt(typed);
      this.#refreshesSinceLogin = 0;
      this.#areUseful = false;
      log.info('logged in');
      onLogin();
      return await this.#store(grant, null);
    } catch (err) {
      if (err instanceof GrantUnusable) onLogin();
      const next = login.needsPerson ? null : await login.suspendedBy();
      this.#fail(err, next?.nextAttemptAt ?? null);
      throw err;
    }
  }

  async #store(grant: token.Grant, previous: TokenSet | null): Promise<string> {
    const { clock, log } = this.#options;
    const set = token.toTokenSet(grant, clock.now(), previous);
    await this.#save(token.grantedNow(set, clock));
    if (this.lacksRefreshToken) log.warn(NO_REFRESH_TOKEN, 'the session cannot be refreshed');
    this.#isUnanswered = false;
    this.#enter('ok');
    return set.accessToken;
  }

  /** The refresh token that an unusable answer has brought: the one before it is used up. */
  async #storeRotated(grant: token.Grant, current: token.CurrentTokens): Promise<void> {
    const { set } = current;
    const session = sessionIdIn(set.refreshToken) ?? sessionIdIn(set.accessToken);
    if (session === null || sessionIdIn(grant.refreshToken) !== session) return;
    const { refreshToken, refreshExpiresAt } = token.toTokenSet(grant, this.#options.clock.now(), set);
    await this.#save({ ...current, set: { ...set, refreshToken, refreshExpiresAt } });
  }

  /** On disk before its first use: a crash in between must not lose the only valid pair. */
  async #save(next: token.CurrentTokens): Promise<void> {
    const { tokens, log } = this.#options;
    this.#scrub(next.set);
    try {
      await tokens.write(next.set);
      this.#onDisk = next.set;
    } catch (err) {
      log.error({ err }, 'tokens could not be saved');
    }
    this.#current = next;
  }

  #isUsable(current: token.CurrentTokens, rejected: readonly string[]): boolean {
    return !rejected.includes(current.set.accessToken) && token.accessIsUsable(current, this.#options.clock);
  }

  /** The newest tokens: those in use, or what another process has stored since. */
  async #newest(): Promise<token.CurrentTokens | null> {
    await this.#takeStored();
    return this.current();
  }

  async #takeStored(): Promise<boolean> {
    const before = await this.current();
    const stored = await this.#options.tokens.read();
    // Not by their times: a clock may have stepped back. Those known already are older than ours, or have ended.
    if (stored === null || this.#current !== before || areSame(stored, this.#onDisk)) return false;
    this.#onDisk = stored;
    if (before && areSame(stored, before.set)) return false;
    this.#areUseful = false;
    this.#scrub(stored);
    this.#current = token.readFromDisk(stored, this.#options.clock);
    this.#refreshesSinceLogin = 0;
    this.#enter('ok');
    return true;
  }

  #fail(err: unknown, nextAttemptAt: number | null = null): void {
    this.#enter(stateAfter(err), nextAttemptAt, err instanceof Failure ? err : null);
  }

  #enter(state: AuthState, nextAttemptAt: number | null = null, fault: Failure | null = null): void {
    this.#state = state;
    this.#nextAttemptAt = nextAttemptAt;
    this.#fault = state === 'refreshing' ? this.#fault : fault;
    this.#options.onChange();
  }

  #scrub({ accessToken, refreshToken }: TokenSet): void {
    this.#options.scrub(accessToken);
    if (refreshToken !== null) this.#options.scrub(refreshToken);
  }
}

const areSame = (one: TokenSet, other: TokenSet | null): boolean =>
  one.accessToken === other?.accessToken && one.refreshToken === other.refreshToken;

function stateAfter(err: unknown): AuthState {
  if (err instanceof LoginSuspended) return err.suspension.state;
  if (err instanceof LoginRefused || err instanceof RefusedForNow) return err.state;
  // The secret cannot be read: the issuer was not asked.
  return err instanceof Failure && err.exitCode === EXIT.config ? 'needs_user_action' : 'provider_down';
}
