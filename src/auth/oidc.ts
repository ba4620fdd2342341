// The issuer over OpenID Connect: discovery, the grants, the end of a session. The only door to openid-client.
import type * as OpenIdClient from 'openid-client';
import type { Clock } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import {
  type Classify,
  classifyCodeError,
  classifyLoginError,
  classifyRefreshError,
  LoginRefused,
  NO_REVOCATION,
  REFUSALS,
  RefusedForNow,
} from './refusals.ts';
import type { Grant } from './tokens.ts';
import { GrantUnusable, IssuerUnreachable, unreachable } from './unreachable.ts';

export interface IssuerOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Asks for the scope offline_access besides, and goes on without where the issuer refuses it. */
  readonly offlineAccess: boolean;
  /** How long a one-time code of the account is computed to last; `null`: none is. */
  readonly codeSeconds: number | null;
  readonly timeoutSeconds: number;
  /** Allows plain http. */
  readonly allowInsecure: boolean;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly log: Log;
  /** Accounts that share it discover the issuer once for all of them. */
  readonly memory: IssuerMemory;
}

/** What discovery found; `null` before. */
export interface IssuerMemory {
  metadata: Promise<OpenIdClient.ServerMetadata> | null;
  /** When an answer made us discover again, on the monotonic clock. */
  discoveredAgainAt?: number;
}

// Assumed for a reply without expires_in. Keycloak's access tokens usually live longer.
const UNSTATED_LIFE_SECONDS = 60;
// An issuer that refuses everything must not be asked for its metadata at each attempt.
const DISCOVER_AGAIN_AFTER_MS = 3 * 60_000;
// Only JSON tells what is refused; these say that the address is another one by now.
const ADDRESS_IS_GONE: ReadonlySet<number> = new Set([404, 405, 410]);
// The times in the id_token do not matter here, and a Pi without a clock battery may start in 1970.
const ANY_CLOCK_SECONDS = 100 * 366 * 86_400;

/** A sign-in with a browser, or in place of one (RFC 6749 4.1, PKCE). */
export interface CodeFlow {
  /** Where the person signs in. */
  readonly url: URL;
  readonly state: string;
  /** `callback`: the address that the issuer sends the browser back to. */
  finish(callback: URL): Promise<Grant>;
}

/** A sign-in on another device (RFC 8628). */
export interface DeviceFlow {
  readonly userCode: string;
  readonly verificationUri: string;
  /** With the code in it, where the issuer gives one. */
  readonly completeUri: string | null;
  readonly expiresInSeconds: number;
  /** Resolves once the person has agreed. */
  wait(signal: AbortSignal): Promise<Grant>;
}

export class Issuer {
  readonly #options: IssuerOptions;
  #refusesOffline = false;

  /** The scopes that a sign-in asks for at first. */
  readonly scopes: readonly string[];

  constructor(options: IssuerOptions) {
    const { scopes, offlineAccess } = options;
    this.#options = options;
    this.scopes = offlineAccess ? [...scopes, 'offline_access'] : scopes;
  }

  /** Resource Owner Password Credentials grant. Rejects with LoginRefused, RefusedForNow or IssuerUnreachable. */
  login(
    username: string,
    password: string,
    oneTimeCode: (() => Promise<string | null>) | null = null,
  ): Promise<Grant> {
    return this.withScope(async (scope) => {
      const totp = await oneTimeCode?.();
      const form = { username, password, scope, ...(totp == null ? {} : { totp }) };
      return this.#grant(
        (client, configuration) => client.genericGrantRequest(configuration, 'password', form),
        classifyLoginError,
      );
    });
  }

  /** Refresh grant. Rejects with SessionEnded, RefusedForNow or IssuerUnreachable. */
  refresh(refreshToken: string): Promise<Grant> {
    return this.#grant(
      (client, configuration) => client.refreshTokenGrant(configuration, refreshToken),
      classifyRefreshError,
    );
  }

  /** Authorization code with PKCE. `finish` rejects like `login`. */
  beginCodeFlow(redirectUri: string, scope: string): Promise<CodeFlow> {
    return this.#ask(async (client, configuration) => {
      const pkceCodeVerifier = client.randomPKCECodeVerifier();
      const expectedState = client.randomState();
      // Only an id_token brings it back.
      const nonce = scope.split(' ').includes('openid') ? client.randomNonce() : null;
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        state: expectedState,
        code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
        ...(nonce === null ? {} : { nonce }),
        // OpenID Connect Core 11: without it the scope is ignored.
        ...(asksForOffline(scope) ? { prompt: 'consent' } : {}),
      });
      const own = nonce === null ? {} : { expectedNonce: nonce };
      const checks = { pkceCodeVerifier, expectedState, ...own };
      return {
        url,
        state: expectedState,
        finish: (callback) =>
          this.#grant(
            (_, same) => client.authorizationCodeGrant(same, withQuery(callback), checks),
            classifyCodeError,
          ),
      };
    }, classifyLoginError);
  }

  /** `null`: the issuer has no such thing. `wait` rejects like `login`. */
  beginDeviceFlow(scope: string): Promise<DeviceFlow | null> {
    return this.#ask(async (client, configuration) => {
      if (configuration.serverMetadata().device_authorization_endpoint === undefined) return null;
      const code_verifier = client.randomPKCECodeVerifier();
      const begun = await client.initiateDeviceAuthorization(configuration, {
        scope,
        code_challenge: await client.calculatePKCECodeChallenge(code_verifier),
        code_challenge_method: 'S256',
      });
      return {
        userCode: begun.user_code,
        verificationUri: begun.verification_uri,
        completeUri: begun.verification_uri_complete ?? null,
        expiresInSeconds: begun.expires_in,
        wait: (signal) =>
          this.#grant(
            (_, same) => client.pollDeviceAuthorizationGrant(same, begun, { code_verifier }, { signal }),
            classifyCodeError,
          ),
      };
    }, classifyCodeError);
  }

  /** Whether a person could sign in on another device. */
  offersDevice(): Promise<boolean> {
    const known = (configuration: OpenIdClient.Configuration) =>
      configuration.serverMetadata().device_authorization_endpoint !== undefined;
    return this.#ask(async (_, configuration) => known(configuration), classifyLoginError);
  }

  /** Ends the session that the refresh token belongs to (RFC 7009). Rejects with RefusedForNow or IssuerUnreachable. */
  endSession(refreshToken: string): Promise<void> {
    return this.#ask(async (client, configuration) => {
      if (configuration.serverMetadata().revocation_endpoint === undefined)
        throw new RefusedForNow(NO_REVOCATION);
      await client.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
    }, classifyRefreshError);
  }

  /** Calls the step with the scopes to ask for, and again without offline_access where that is refused. */
  async withScope<T>(step: (scope: string) => Promise<T>): Promise<T> {
    const { scopes, offlineAccess, codeSeconds, clock, log } = this.#options;
    if (offlineAccess && !this.#refusesOffline) {
      try {
        return await step(this.scopes.join(' '));
      } catch (err) {
        if (!(err instanceof LoginRefused) || err.code !== REFUSALS.wrongScope.code) throw err;
        this.#refusesOffline = true;
        log.warn('the issuer refuses offline_access: signing in for an ordinary session');
        // The code of this moment may be used up: it works once.
        if (codeSeconds !== null) await clock.sleep(codeSeconds * 1000);
      }
    }
    return step(scopes.join(' '));
  }

  async #grant(
    step: (client: typeof OpenIdClient, configuration: OpenIdClient.Configuration) => Promise<Reply>,
    classify: Classify,
  ): Promise<Grant> {
    let reply: unknown;
    const seen = (json: unknown) => {
      reply = json;
    };
    try {
      return toGrant(await this.#ask(step, classify, seen));
    } catch (err) {
      // The library refuses what it cannot validate, though the issuer has granted it.
      if (err instanceof IssuerUnreachable && isGranted(reply)) throw new GrantUnusable(err, toGrant(reply));
      throw err;
    }
  }

  /** `onReply` gets the JSON of each answer. */
  async #ask<T>(
    step: (client: typeof OpenIdClient, configuration: OpenIdClient.Configuration) => Promise<T>,
    classify: Classify,
    onReply: (json: unknown) => void = () => undefined,
  ): Promise<T> {
    const client = await import('openid-client');
    const { memory, clock } = this.#options;
    let metadata: OpenIdClient.ServerMetadata | null = null;
    const attempt = async () => {
      metadata = await this.#discover(client);
      return step(client, this.#configure(client, metadata, onReply));
    };
    try {
      return await attempt().catch(async (err) => {
        if (metadata === null || !mayHaveMoved(client, err) || !(await this.#hasMoved(client, metadata)))
          throw err;
        return attempt();
      });
    } catch (err) {
      const isAnswer =
        err instanceof client.AuthorizationResponseError ||
        (err instanceof client.ResponseBodyError &&
          err.status < 500 &&
          err.status !== 429 &&
          !ADDRESS_IS_GONE.has(err.status));
      if (isAnswer) {
        const refusal = classify(err.error, err.error_description ?? '');
        if (refusal) throw refusal;
      }
      // What was found may be out of date: discover again at the next attempt, unless that was just done.
      if (metadata === null || !mayHaveMoved(client, err)) memory.metadata = null;
      throw err instanceof Failure ? err : unreachable(err, clock.now());
    }
  }

  /** Discovers again, at most every few minutes. Whether an address is another one than in `before`. */
  async #hasMoved(client: typeof OpenIdClient, before: OpenIdClient.ServerMetadata): Promise<boolean> {
    const { memory, clock } = this.#options;
    const now = clock.monotonic();
    if (now - (memory.discoveredAgainAt ?? Number.NEGATIVE_INFINITY) < DISCOVER_AGAIN_AFTER_MS) return false;
    memory.discoveredAgainAt = now;
    memory.metadata = null;
    const after = await this.#discover(client).catch(() => null);
    if (after === null) memory.metadata = null;
    return after !== null && ENDPOINTS.some((name) => after[name] !== before[name]);
  }

  async #discover(client: typeof OpenIdClient): Promise<OpenIdClient.ServerMetadata> {
    const { issuer, clientId, timeoutSeconds, allowInsecure, memory } = this.#options;
    memory.metadata ??= client
      .discovery(new URL(issuer), clientId, undefined, client.None(), {
        execute: allowInsecure ? [client.allowInsecureRequests] : [],
        timeout: timeoutSeconds,
        [client.customFetch]: (url: string, init: unknown) => this.#options.fetch(url, init as RequestInit),
      })
      .then((found) => found.serverMetadata());
    return memory.metadata;
  }

  #configure(
    client: typeof OpenIdClient,
    metadata: OpenIdClient.ServerMetadata,
    onReply: (json: unknown) => void,
  ): OpenIdClient.Configuration {
    const { clientId, timeoutSeconds, allowInsecure } = this.#options;
    const tolerance = { [client.clockTolerance]: ANY_CLOCK_SECONDS };
    const configuration = new client.Configuration(metadata, clientId, tolerance, client.None());
    configuration.timeout = timeoutSeconds;
    configuration[client.customFetch] = (url: string, init: unknown) =>
      plainErrors(this.#options.fetch(url, init as RequestInit), onReply);
    if (allowInsecure) client.allowInsecureRequests(configuration);
    return configuration;
  }
}

const ENDPOINTS = ['token_endpoint', 'authorization_endpoint', 'device_authorization_endpoint'] as const;

/** An answer that is not about what was sent. */
const mayHaveMoved = (client: typeof OpenIdClient, err: unknown): boolean =>
  err instanceof client.ResponseBodyError &&
  err.status < 500 &&
  err.status !== 429 &&
  err.error !== 'invalid_grant';

/** Whether these scopes ask for a session without an end. */
export const asksForOffline = (scope: string): boolean => scope.split(' ').includes('offline_access');

type Reply = Awaited<ReturnType<typeof OpenIdClient.refreshTokenGrant>>;

/** Tokens came, whatever else is wrong with them. */
const isGranted = (json: unknown): json is Reply =>
  typeof Object(json).access_token === 'string' && Object(json).error === undefined;

function toGrant(reply: Reply): Grant {
  const refreshLife = Number(reply.refresh_expires_in);
  return {
    accessToken: reply.access_token,
    refreshToken: reply.refresh_token ?? null,
    // Also for 0: a token that is always due would be refreshed without a pause.
    expiresInSeconds: reply.expires_in || UNSTATED_LIFE_SECONDS,
    // Keycloak writes 0 for a refresh token without an end of its own.
    refreshExpiresInSeconds: refreshLife > 0 ? refreshLife : null,
  };
}

/** Some clients get their answer behind a #: here it is in the query. */
export function withQuery(callback: URL): URL {
  const url = new URL(callback);
  for (const [name, value] of new URLSearchParams(url.hash.slice(1))) url.searchParams.set(name, value);
  url.hash = '';
  return url;
}

// openid-client prefers a WWW-Authenticate header to the body, but only the body says what was refused.
async function plainErrors(pending: Promise<Response>, onReply: (json: unknown) => void): Promise<Response> {
  const response = await pending;
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete('www-authenticate');
  onReply(
    await response
      .clone()
      .json()
      .catch(() => null),
  );
  return new Response(response.body, { status, statusText, headers });
}
