// The session with the issuer: a valid access token, else a refresh, else one login; one request in flight.
import type { AuthState, AuthStatus } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import { type Login, LoginSuspended } from './login.ts';
import type { TokenStore } from './loginBudget.ts';
import { type LoginPace, openLoginPace } from './loginPace.ts';
import type { Issuer } from './oidc.ts';
import { KeyRejected, LoginRefused, SessionEnded } from './refusals.ts';
import * as token from './tokens.ts';

export interface SessionParts {
  readonly issuer: Issuer;
  readonly login: Login;
  readonly tokens: TokenStore<token.TokenSet>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a login, or a refresh, was granted. */
  readonly onLogin: () => void;
  readonly onRefresh: () => void;
  /** Called whenever `status()` or the tokens may have changed. */
  readonly onChange: () => void;
  /** Gets each token before anything else may see it. */
  readonly scrub: (secret: string) => void;
}

export interface Session {
  /**
   * An access token good for a request now. `rejected` lists the tokens that the API refused within one exchange:
   * after the first the session is refreshed, after the second it logs in, after the third it gives up.
   */
  accessToken(rejected?: readonly string[]): Promise<string>;
  /** Refreshes ahead of expiry. A session that the issuer has ended is replaced by a login, within reason. */
  renew(): Promise<void>;
  /** What is held now, read from disk at first. */
  held(): Promise<token.CurrentTokens | null>;
  status(): AuthStatus;
}

export function openSession(parts: SessionParts): Session {
  return new OpenSession(parts);
}

class OpenSession implements Session {
  readonly #parts: SessionParts;
  readonly #pace: LoginPace;
  #held: token.CurrentTokens | null | undefined;
  #flight: Promise<string> | null = null;
  #state: AuthState = 'ok';
  #nextAttemptAt: number | null = null;
  #renewals = 0;
  #isUnanswered = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#pace = openLoginPace(parts.clock);
  }

  async accessToken(rejected: readonly string[] = []): Promise<string> {
    const current = await this.held();
    if (current && this.#isGood(current, rejected)) return current.set.accessToken;
    while (this.#flight !== null) {
      const granted = await this.#flight;
      if (granted !== '' && !rejected.includes(granted)) return granted;
    }
    return this.#alone(() => this.#obtain(rejected));
  }

  async renew(): Promise<void> {
    await (this.#flight ?? this.#alone(() => this.#renewNow()));
  }

  async held(): Promise<token.CurrentTokens | null> {
    if (this.#held !== undefined) return this.#held;
    const stored = await this.#parts.tokens.read();
    if (this.#held === undefined) {
      if (stored !== null) this.#scrub(stored);
      this.#held = stored && token.holdStored(stored, this.#parts.clock);
    }
    return this.#held;
  }

  status(): AuthStatus {
    return {
      state: this.#state,
      nextAttemptAt: this.#nextAttemptAt,
      accessExpiresAt: this.#held?.set.accessExpiresAt ?? null,
      refreshExpiresAt: this.#held?.set.refreshExpiresAt ?? null,
    };
  }

  #enter(next: AuthState, attemptAt: number | null = null): void {
    this.#state = next;
    this.#nextAttemptAt = attemptAt;
    this.#parts.onChange();
  }

  #scrub({ accessToken, refreshToken }: token.TokenSet): void {
    this.#parts.scrub(accessToken);
    if (refreshToken !== null) this.#parts.scrub(refreshToken);
  }

  async #keep(grant: token.Grant, previous: token.TokenSet | null): Promise<string> {
    const { clock, tokens, log } = this.#parts;
    const set = token.toTokenSet(grant, clock.now(), previous);
    const next = token.holdNew(set, clock);
    this.#scrub(set);
    // On disk before its first use: a crash in between must not lose the only good pair.
    await tokens.write(set).catch((err) => log.error({ err }, 'tokens could not be saved'));
    this.#held = next;
    this.#isUnanswered = false;
    this.#enter('ok');
    return set.accessToken;
  }

  /** `null` when the issuer has ended the session. */
  async #refresh({ set }: token.CurrentTokens): Promise<string | null> {
    const { issuer, tokens, log, onRefresh } = this.#parts;
    try {
      const grant = await issuer.refresh(set.refreshToken ?? '');
      this.#renewals += 1;
      onRefresh();
      return await this.#keep(grant, set);
    } catch (err) {
      if (!(err instanceof SessionEnded)) {
        this.#isUnanswered = true;
        this.#enter('provider_down');
        throw err;
      }
      // An answer that got lost on its way has used the token up; otherwise using it twice is our mistake.
      const isOurs = err.reused && !this.#isUnanswered;
      log[isOurs ? 'error' : 'info']({ reused: err.reused }, 'session ended by the issuer');
      this.#held = null;
      await tokens.remove().catch((fault) => log.error({ err: fault }, 'ended session could not be removed'));
      this.#enter('ok');
      return null;
    }
  }

  async #logIn(): Promise<string> {
    const { login, log, onLogin } = this.#parts;
    this.#enter('refreshing');
    try {
      const grant = await login.attempt();
      this.#renewals = 0;
      log.info('logged in');
      onLogin();
      return await this.#keep(grant, null);
    } catch (err) {
      if (err instanceof LoginSuspended)
        this.#enter(err.budget.state ?? 'bad_credentials_or_locked', err.budget.nextAttemptAt);
      else if (err instanceof LoginRefused)
        this.#enter(err.state, (await login.suspendedBy().catch(() => null))?.nextAttemptAt ?? null);
      else this.#enter('provider_down');
      throw err;
    }
  }

  #isGood(current: token.CurrentTokens, rejected: readonly string[]): boolean {
    return !rejected.includes(current.set.accessToken) && token.accessIsUsable(current, this.#parts.clock);
  }

  async #obtain(rejected: readonly string[]): Promise<string> {
    const current = await this.held();
    if (current) {
      if (this.#isGood(current, rejected)) return current.set.accessToken;
      if (rejected.length < 2 && token.refreshIsWorthTrying(current, this.#parts.clock)) {
        this.#enter('refreshing');
        const refreshed = await this.#refresh(current);
        if (refreshed !== null) return refreshed;
      }
    }
    if (rejected.length > 2 || (rejected.length > 0 && !this.#pace.forRejectedKey())) {
      this.#enter('backoff');
      throw new KeyRejected();
    }
    return this.#logIn();
  }

  async #renewNow(): Promise<string> {
    const current = await this.held();
    if (!current || !token.refreshIsWorthTrying(current, this.#parts.clock)) return '';
    const lasted = this.#renewals > 0;
    // Ahead of expiry nobody waits for it: told each time, it would be the most frequent news of all.
    const refreshed = await this.#refresh(current);
    if (refreshed !== null) return refreshed;
    // A realm that ends each session at its first refresh is left alone until the next poll.
    return lasted && this.#pace.forEndedSession() ? this.#logIn() : '';
  }

  // Rotation kills a session whose refresh token is used twice: whoever comes meanwhile waits for the same answer.
  #alone(step: () => Promise<string>): Promise<string> {
    this.#flight ??= step().finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }
}
