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
import { type Login, LoginSuspended, type TypedCredentials } from './login.ts';
import type { LoginBudget } from './loginBudget.ts';
import type { Issuer } from './oidc.ts';
import { GrantUnusable } from './oidc.ts';
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

export type Session = ReturnType<typeof openSession>;

const HOUR_MS = 3_600_000;
/** What is known of the tokens since a login, or since those of another process were taken. */
const AFTER_LOGIN = {
  /** The API has accepted them. */
  areUseful: false,
  refreshes: 0,
  /** The last refresh got no answer: the issuer may have carried it out all the same. */
  isUnanswered: false,
};

export function openSession(deps: SessionDeps) {
  const { issuer, login, budget, wantsRefreshToken, clock, log, withLock } = deps;
  const kept = keepTokens(deps);
  // With rotation a refresh token that is used twice ends the session: others wait for the request under way.
  const flight = new SingleFlight<string | null>();
  // Realms end sessions after hours; some do after minutes.
  const loginsForEndedSession = new RateLimit(clock, 6, HOUR_MS);
  let since = AFTER_LOGIN;
  let state: AuthState = 'ok';
  let nextAttemptAt: number | null = null;
  let fault: Failure | null = null;

  function enter(next: AuthState, why: Failure | null = null, waitsUntil: number | null = null): void {
    state = next;
    fault = why;
    nextAttemptAt = waitsUntil;
    deps.onChange?.();
  }

  const fail = (err: unknown, waitsUntil: number | null = null): void =>
    enter(stateAfter(err), err instanceof Failure ? err : null, waitsUntil);

  const wasRefused = () => fault instanceof LoginRefused || fault instanceof LoginSuspended;
  const lacksRefreshToken = () =>
    wantsRefreshToken && kept.now !== null && kept.now.set.refreshToken === null;
  const isUsable = (current: token.CurrentTokens, rejected: readonly string[] = []) =>
    !rejected.includes(current.set.accessToken) && token.accessIsUsable(current, clock);

  async function accessToken(rejected: readonly string[] = []): Promise<string> {
    const current = await kept.read();
    if (current && isUsable(current, rejected)) return current.set.accessToken;
    while (flight.current !== null) {
      const granted = await flight.current;
      if (granted !== null && !rejected.includes(granted)) return granted;
    }
    const obtained = await flight.run(() => withLock((mayRefresh) => obtain(rejected, mayRefresh)));
    return obtained ?? accessToken(rejected);
  }

  async function obtain(rejected: readonly string[], mayRefresh: boolean): Promise<string> {
    await takeStored();
    const current = kept.now;
    if (current) {
      if (isUsable(current, rejected)) return current.set.accessToken;
      const isWorthIt = mayRefresh && token.refreshIsWorthTrying(current, clock);
      if (rejected.length < 2 && isWorthIt) {
        enter('refreshing', fault);
        const refreshed = await refresh(current);
        if (refreshed !== null) return refreshed;
      }
    }
    if (rejected.length > 0) await rejectIfUseless(rejected);
    return logIn();
  }

  /** The API refuses whatever tokens there are: another login may help, and may be tried now, or it rejects. */
  async function rejectIfUseless(rejected: readonly string[]): Promise<void> {
    const refused = accessTokenRejected();
    await login.useless(refused);
    const mayLogIn =
      rejected.length <= 2 &&
      !(login.needsPerson && kept.now) &&
      (await login.suspendedBy())?.about !== 'tokens';
    if (mayLogIn) return;
    enter('backoff', null);
    throw refused;
  }

  async function renew(): Promise<string | null> {
    if (await takeStored()) return kept.now?.set.accessToken ?? null;
    const current = kept.now;
    if (!current || !token.refreshIsWorthTrying(current, clock)) return null;
    const wasRefreshed = since.refreshes > 0;
    // Does not enter 'refreshing': no poll waits, and it would be the most frequent message of all.
    const refreshed = await refresh(current);
    if (refreshed !== null) return refreshed;
    // If the realm ends each session at its first refresh, the next login waits for the next poll.
    const mayLogIn = login.needsPerson || wasRefreshed;
    return mayLogIn && loginsForEndedSession.tryStart() ? logIn() : null;
  }

  /** `null` when the issuer has ended the session. */
  async function refresh(current: token.CurrentTokens): Promise<string | null> {
    const { set } = current;
    try {
      const grant = await issuer.refresh(set.refreshToken ?? '');
      since = { ...since, refreshes: since.refreshes + 1 };
      deps.onRefresh?.();
      return await store(grant, set);
    } catch (err) {
      if (err instanceof GrantUnusable) await storeRotated(err.grant, current);
      if (!(err instanceof SessionEnded)) {
        if (!(err instanceof RefusedForNow)) since = { ...since, isUnanswered: true };
        fail(err);
        throw err;
      }
      // A lost answer means that the token was used; without one, using it twice is our own bug.
      const isOurs = err.reused && !since.isUnanswered;
      log[isOurs ? 'error' : 'info']({ reused: err.reused }, 'session ended by the issuer');
      await kept.remove();
      enter('ok');
      return null;
    }
  }

  async function logIn(typed: TypedCredentials | null = null): Promise<string> {
    try {
      const grant = await login.attempt(typed, () => enter('refreshing', fault));
      log.info('logged in');
      since = AFTER_LOGIN;
      deps.onLogin?.();
      return await store(grant, null);
    } catch (err) {
      if (err instanceof GrantUnusable) deps.onLogin?.();
      const next = login.needsPerson ? null : await login.suspendedBy();
      fail(err, next?.nextAttemptAt);
      throw err;
    }
  }

  async function store(grant: token.Grant, previous: TokenSet | null): Promise<string> {
    const set = token.toTokenSet(grant, clock.now(), previous);
    await kept.save(token.grantedNow(set, clock));
    if (lacksRefreshToken()) log.warn(NO_REFRESH_TOKEN, 'the session cannot be refreshed');
    since = { ...since, isUnanswered: false };
    enter('ok');
    return set.accessToken;
  }

  /** The refresh token that an unusable answer has brought: the one before it is used up. */
  async function storeRotated(grant: token.Grant, current: token.CurrentTokens): Promise<void> {
    const { set } = current;
    const session = sessionIdIn(set.refreshToken) ?? sessionIdIn(set.accessToken);
    if (session === null || sessionIdIn(grant.refreshToken) !== session) return;
    const { refreshToken, refreshExpiresAt } = token.toTokenSet(grant, clock.now(), set);
    await kept.save({ ...current, set: { ...set, refreshToken, refreshExpiresAt } });
  }

  async function takeStored(): Promise<boolean> {
    if (!(await kept.takeStored())) return false;
    since = AFTER_LOGIN;
    enter('ok');
    return true;
  }

  /** After whatever is under way. */
  async function alone(step: () => Promise<string>): Promise<void> {
    while (flight.current !== null) await flight.current.catch(() => undefined);
    await flight.run(() => withLock(step));
  }

  return {
    /**
     * An access token that is valid now. `rejected` lists the tokens that the API refused within one exchange: after the
     * first the session is refreshed, after the second it logs in, after the third it rejects with `key_rejected`.
     */
    accessToken,

    /** To be called when the API has answered: it accepts the access tokens, and no login is needed. */
    async accepted(): Promise<void> {
      const isInDoubt = state === 'backoff' || wasRefused();
      if (isInDoubt && kept.now && isUsable(kept.now)) enter('ok');
      if (since.areUseful) return;
      since = { ...since, areUseful: true };
      if (await budget.isUnproven()) await withLock(() => budget.useful());
    },

    /** To be called when the tokens turn out to be of no use. */
    useless: (why: Failure): Promise<void> => withLock(() => login.useless(why)),

    /**
     * Refreshes ahead of expiry. A session that the issuer has ended is replaced by a login, at a limited rate.
     * Resolves to whether there are new tokens.
     */
    renew: async (): Promise<boolean> => (await flight.run(() => withLock(renew))) !== null,

    /** Logs in, whatever tokens there are. */
    logIn: (typed: TypedCredentials | null = null): Promise<void> => alone(() => logIn(typed)),

    /** Stores what a person has brought, by a sign-in of another kind: no refusal counts any more. */
    storeGrant: (grant: token.Grant): Promise<void> =>
      alone(async () => {
        const stored = await store(grant, null);
        await budget.forget();
        return stored;
      }),

    /** Takes the tokens that another process has stored meanwhile. Resolves to whether there were any. */
    reload: async (): Promise<boolean> => flight.current === null && takeStored(),

    /** Ends the session at the issuer and forgets the tokens. Resolves to false when there was none. */
    end: (): Promise<boolean> =>
      withLock(async () => {
        const stored = await deps.tokens.read();
        if (stored?.refreshToken) await issuer.endSession(stored.refreshToken);
        await kept.remove();
        enter('ok');
        return stored !== null;
      }),

    /** The tokens in use; read from disk at first. */
    current: kept.read,

    status: (): AuthStatus => ({
      state,
      nextAttemptAt,
      accessExpiresAt: kept.now?.set.accessExpiresAt ?? null,
      refreshExpiresAt: kept.now?.set.refreshExpiresAt ?? null,
    }),

    /** A refresh may bring the next access token. */
    get isRenewable(): boolean {
      return kept.now !== null && token.refreshIsWorthTrying(kept.now, clock);
    },

    /** The issuer has given none, although the configuration asks for more than it usually gives. */
    get lacksRefreshToken(): boolean {
      return lacksRefreshToken();
    },

    /** What went wrong last; `null` when nothing did. */
    get fault(): Failure | null {
      return fault;
    },

    /** The last login was refused, and the next one waits. */
    get isSuspended(): boolean {
      return wasRefused() && !login.needsPerson;
    },
  };
}

/** The tokens in use, and what is known of those on the disk. */
function keepTokens({ tokens, clock, scrub }: Pick<SessionDeps, 'tokens' | 'clock' | 'scrub'>) {
  let now: token.CurrentTokens | null | undefined;
  /** When they were last read or written: others are news. */
  let onDisk: TokenSet | null = null;

  function take(stored: TokenSet | null): void {
    onDisk = stored;
    if (stored !== null) register(stored);
    now = stored && token.readFromDisk(stored, clock);
  }

  function register({ accessToken, refreshToken }: TokenSet): void {
    scrub(accessToken);
    if (refreshToken !== null) scrub(refreshToken);
  }

  async function read(): Promise<token.CurrentTokens | null> {
    if (now !== undefined) return now;
    const stored = await tokens.read();
    if (now === undefined) take(stored);
    return now ?? null;
  }

  return {
    get now(): token.CurrentTokens | null {
      return now ?? null;
    },

    read,

    /** Takes those that another process has stored since. Resolves to whether there were any. */
    async takeStored(): Promise<boolean> {
      const before = await read();
      const stored = await tokens.read();
      // Not by their times: a clock may have stepped back. Those known already are older than ours, or have ended.
      if (stored === null || now !== before || areSame(stored, onDisk)) return false;
      onDisk = stored;
      if (before && areSame(stored, before.set)) return false;
      take(stored);
      return true;
    },

    /** On disk before its first use: a crash in between must not lose the only valid pair. */
    async save(next: token.CurrentTokens): Promise<void> {
      register(next.set);
      if (await tokens.write(next.set)) onDisk = next.set;
      now = next;
    },

    remove(): Promise<boolean> {
      now = null;
      return tokens.remove();
    },
  };
}

const areSame = (one: TokenSet, other: TokenSet | null): boolean =>
  one.accessToken === other?.accessToken && one.refreshToken === other.refreshToken;

function stateAfter(err: unknown): AuthState {
  if (err instanceof LoginSuspended) return err.suspension.state;
  if (err instanceof LoginRefused || err instanceof RefusedForNow) return err.state;
  // The secret cannot be read: the issuer was not asked.
  return err instanceof Failure && err.exitCode === EXIT.config ? 'needs_user_action' : 'provider_down';
}
