// The session with the issuer: a valid access token, else a refresh, else one login; one request in flight.
import type { AuthState, AuthStatus } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { type Login, LoginHeld } from './login.ts';
import type { Vault } from './loginBudget.ts';
import { openLoginPace } from './loginPace.ts';
import type { Issuer } from './oidc.ts';
import { LoginRefused, SessionEnded } from './refusals.ts';
import * as token from './tokens.ts';

export interface SessionParts {
  readonly issuer: Issuer;
  readonly login: Login;
  readonly tokens: Vault<token.TokenSet>;
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
  held(): Promise<token.HeldTokens | null>;
  status(): AuthStatus;
}

/** The API refuses tokens that the issuer has only just granted. */
export class KeyRejected extends Failure {
  readonly code = 'key_rejected';
  readonly exitCode = EXIT.provider;
}

export function openSession({ issuer, login, tokens, clock, log, ...parts }: SessionParts): Session {
  let held: token.HeldTokens | null | undefined;
  let flight: Promise<string> | null = null;
  let state: AuthState = 'ok';
  let nextAttemptAt: number | null = null;
  let renewals = 0;
  let isUnanswered = false;
  const pace = openLoginPace(clock);

  function enter(next: AuthState, attemptAt: number | null = null): void {
    state = next;
    nextAttemptAt = attemptAt;
    parts.onChange();
  }

  function scrub({ accessToken, refreshToken }: token.TokenSet): void {
    parts.scrub(accessToken);
    if (refreshToken !== null) parts.scrub(refreshToken);
  }

  async function load(): Promise<token.HeldTokens | null> {
    if (held !== undefined) return held;
    const stored = await tokens.read();
    if (held === undefined) {
      if (stored !== null) scrub(stored);
      held = stored && token.holdStored(stored, clock);
    }
    return held;
  }

  async function keep(grant: token.Grant, previous: token.TokenSet | null): Promise<string> {
    const set = token.toTokenSet(grant, clock.now(), previous);
    const next = token.holdNew(set, clock);
    scrub(set);
    // On disk before its first use: a crash in between must not lose the only good pair.
    await tokens.write(set).catch((err) => log.error({ err }, 'tokens could not be saved'));
    held = next;
    isUnanswered = false;
    enter('ok');
    return set.accessToken;
  }

  /** `null` when the issuer has ended the session. */
  async function refresh({ set }: token.HeldTokens): Promise<string | null> {
    try {
      const grant = await issuer.refresh(set.refreshToken ?? '');
      renewals += 1;
      parts.onRefresh();
      return await keep(grant, set);
    } catch (err) {
      if (!(err instanceof SessionEnded)) {
        isUnanswered = true;
        enter('provider_down');
        throw err;
      }
      // An answer that got lost on its way has used the token up; otherwise using it twice is our mistake.
      const isOurs = err.reused && !isUnanswered;
      log[isOurs ? 'error' : 'info']({ reused: err.reused }, 'session ended by the issuer');
      held = null;
      await tokens.remove().catch((fault) => log.error({ err: fault }, 'ended session could not be removed'));
      enter('ok');
      return null;
    }
  }

  async function logIn(): Promise<string> {
    enter('refreshing');
    try {
      const grant = await login.attempt();
      renewals = 0;
      log.info('logged in');
      parts.onLogin();
      return await keep(grant, null);
    } catch (err) {
      if (err instanceof LoginHeld)
        enter(err.budget.state ?? 'bad_credentials_or_locked', err.budget.nextAttemptAt);
      else if (err instanceof LoginRefused)
        enter(err.state, (await login.heldBy().catch(() => null))?.nextAttemptAt ?? null);
      else enter('provider_down');
      throw err;
    }
  }

  const isGood = (current: token.HeldTokens, rejected: readonly string[]): boolean =>
    !rejected.includes(current.set.accessToken) && token.accessIsUsable(current, clock);

  async function obtain(rejected: readonly string[]): Promise<string> {
    const current = await load();
    if (current) {
      if (isGood(current, rejected)) return current.set.accessToken;
      if (rejected.length < 2 && token.refreshIsWorthTrying(current, clock)) {
        enter('refreshing');
        const refreshed = await refresh(current);
        if (refreshed !== null) return refreshed;
      }
    }
    if (rejected.length > 2 || (rejected.length > 0 && !pace.forRejectedKey())) {
      enter('backoff');
      throw new KeyRejected('The API refuses access tokens that the issuer has just granted.', {
        retry: 'later',
        hint: 'Check that provider.api_url, provider.client_id and provider.scopes belong together.',
      });
    }
    return logIn();
  }

  async function renewNow(): Promise<string> {
    const current = await load();
    if (!current || !token.refreshIsWorthTrying(current, clock)) return '';
    const lasted = renewals > 0;
    // Ahead of expiry nobody waits for it: told each time, it would be the most frequent news of all.
    const refreshed = await refresh(current);
    if (refreshed !== null) return refreshed;
    // A realm that ends each session at its first refresh is left alone until the next poll.
    return lasted && pace.forEndedSession() ? logIn() : '';
  }

  // Rotation kills a session whose refresh token is used twice: whoever comes meanwhile waits for the same answer.
  function alone(step: () => Promise<string>): Promise<string> {
    flight ??= step().finally(() => {
      flight = null;
    });
    return flight;
  }

  return {
    async accessToken(rejected = []) {
      const current = await load();
      if (current && isGood(current, rejected)) return current.set.accessToken;
      while (flight !== null) {
        const granted = await flight;
        if (granted !== '' && !rejected.includes(granted)) return granted;
      }
      return alone(() => obtain(rejected));
    },
    async renew() {
      await (flight ?? alone(renewNow));
    },
    held: load,
    status: () => ({
      state,
      nextAttemptAt,
      accessExpiresAt: held?.set.accessExpiresAt ?? null,
      refreshExpiresAt: held?.set.refreshExpiresAt ?? null,
    }),
  };
}
