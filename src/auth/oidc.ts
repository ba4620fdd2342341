// The issuer over OpenID Connect: discovery, the grants, the end of a session, and what it means when no answer comes. The only door
// to openid-client.
import type * as OpenIdClient from 'openid-client';
import type { Config } from '../config/schema.ts';
import { type Clock, deadline } from '../foundation/clock.ts';
import { EXIT, Failure, type FailureOptions, failure, faultOf, type Retry } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import { type TlsPlace, type TlsTrouble, tlsTrouble } from '../foundation/tlsTrouble.ts';
import { ReplyTooLarge } from '../http/client.ts';
import { mediaTypeIn } from '../http/mediaType.ts';
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
import { soundRetryAfter, withSoundSeconds } from './seconds.ts';
import type { Grant } from './tokens.ts';

/** The section `provider`. `offline_access` asks for the scope besides, and goes on without where the issuer refuses it. */
type Section = Pick<
  NonNullable<Config['provider']>,
  'issuer' | 'client_id' | 'scopes' | 'offline_access' | 'timeout_seconds' | 'ca_file'
>;

export interface IssuerDeps extends Section {
  /** How long a one-time code of the account is computed to last; `null`: none is. */
  readonly codeSeconds: number | null;
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

// An issuer that refuses everything must not be asked for its metadata at each attempt.
const DISCOVER_AGAIN_AFTER_MS = 3 * 60_000;
// Only JSON tells what is refused; these say that the address is another one by now.
const ADDRESS_IS_GONE: readonly number[] = [404, 405, 410];
// The times in the id_token do not matter here, and a Pi without a clock battery may start in 1970.
const ANY_CLOCK_SECONDS = 100 * 366 * 86_400;
const S256 = { code_challenge_method: 'S256' };

export type Issuer = ReturnType<typeof openIssuer>;
/** A sign-in with a browser, or in place of one (RFC 6749 4.1, PKCE). */
export type CodeFlow = Awaited<ReturnType<Issuer['beginCodeFlow']>>;
/** A sign-in on another device (RFC 8628). */
export type DeviceFlow = Awaited<ReturnType<Issuer['beginDevice']>>;
type Library = typeof OpenIdClient;
type Step<T> = (library: Library, configuration: OpenIdClient.Configuration) => Promise<T>;
type Reply = Awaited<ReturnType<Library['refreshTokenGrant']>>;

export function openIssuer(deps: IssuerDeps) {
  const { issuer, client_id, scopes, offline_access, timeout_seconds: timeout, clock, log, memory } = deps;
  // The configuration refuses plain http where it is not allowed.
  const allowInsecure = new URL(issuer).protocol === 'http:';
  /** Those that a sign-in asks for at first. */
  const wanted = offline_access ? [...scopes, 'offline_access'] : scopes;
  let refusesOffline = false;

  async function grant(step: Step<Reply>, classify: Classify): Promise<Grant> {
    let reply: unknown;
    const seen = (json: unknown) => {
      reply = json;
    };
    try {
      return toGrant(await ask(step, classify, seen));
    } catch (err) {
      // The library refuses what it cannot validate, though the issuer has granted it.
      if (err instanceof IssuerUnreachable && isGranted(reply)) throw new GrantUnusable(err, toGrant(reply));
      throw err;
    }
  }

  /** `onReply` gets the JSON of each answer. */
  async function ask<T>(
    step: Step<T>,
    classify: Classify,
    onReply: (json: unknown) => void = () => undefined,
  ): Promise<T> {
    const library = await import('openid-client');
    let metadata: OpenIdClient.ServerMetadata | null = null;
    const attempt = async () => {
      metadata = await discover(library);
      return step(library, configure(library, metadata, onReply));
    };
    try {
      return await attempt().catch(async (err) => {
        if (metadata === null || !mayHaveMoved(library, err) || !(await hasMoved(library, metadata)))
          throw err;
        return attempt();
      });
    } catch (err) {
      const isAnswer =
        err instanceof library.AuthorizationResponseError ||
        (isRefusal(library, err) && !ADDRESS_IS_GONE.includes(err.status));
      const refusal = isAnswer ? classify(err.error, err.error_description ?? '') : null;
      if (refusal) throw refusal;
      // What was found may be out of date: discover again at the next attempt, unless that was just done.
      if (metadata === null || !mayHaveMoved(library, err)) memory.metadata = null;
      throw err instanceof Failure ? err : unreachable(err, clock.now(), deps.ca_file);
    }
  }

  /** Discovers again, at most every few minutes. Whether an address is another one than in `before`. */
  async function hasMoved(library: Library, before: OpenIdClient.ServerMetadata): Promise<boolean> {
    const now = clock.monotonic();
    if (now - (memory.discoveredAgainAt ?? Number.NEGATIVE_INFINITY) < DISCOVER_AGAIN_AFTER_MS) return false;
    memory.discoveredAgainAt = now;
    memory.metadata = null;
    const after = await discover(library).catch(() => null);
    if (after === null) memory.metadata = null;
    return after !== null && ENDPOINTS.some((name) => after[name] !== before[name]);
  }

  async function discover(library: Library): Promise<OpenIdClient.ServerMetadata> {
    memory.metadata ??= library
      .discovery(new URL(issuer), client_id, undefined, library.None(), {
        execute: allowInsecure ? [library.allowInsecureRequests] : [],
        timeout,
        [library.customFetch]: (url: string, init: unknown) => deps.fetch(url, init as RequestInit),
      })
      .then((found) => found.serverMetadata());
    return memory.metadata;
  }

  function configure(
    library: Library,
    metadata: OpenIdClient.ServerMetadata,
    onReply: (json: unknown) => void,
  ): OpenIdClient.Configuration {
    const tolerance = { [library.clockTolerance]: ANY_CLOCK_SECONDS };
    const configuration = new library.Configuration(metadata, client_id, tolerance, library.None());
    configuration.timeout = timeout;
    configuration[library.customFetch] = (url: string, init: unknown) =>
      sound(deps.fetch(url, init as RequestInit), onReply, clock.now());
    if (allowInsecure) library.allowInsecureRequests(configuration);
    return configuration;
  }

  /** Calls the step with the scopes to ask for, and again without offline_access where that is refused. */
  async function withScope<T>(step: (scope: string) => Promise<T>): Promise<T> {
    if (offline_access && !refusesOffline) {
      try {
        return await step(wanted.join(' '));
      } catch (err) {
        if (!(err instanceof LoginRefused) || err.code !== REFUSALS.wrongScope.code) throw err;
        refusesOffline = true;
        log.warn('the issuer refuses offline_access: signing in for an ordinary session');
        // The code of this moment may be used up: it works once.
        if (deps.codeSeconds !== null) await clock.sleep(deps.codeSeconds * 1000);
      }
    }
    return step(scopes.join(' '));
  }

  /** The issuer says when a code is too old; one that goes on without a word is not asked for ever. */
  async function whileValid(
    seconds: number,
    signal: AbortSignal,
    step: (signal: AbortSignal) => Promise<Grant>,
  ): Promise<Grant> {
    const limit = deadline(clock, seconds * 1000, signal);
    const isOver = new Promise<never>((_, reject) => {
      const end = () => {
        if (!signal.aborted) reject(classifyCodeError('expired_token', ''));
      };
      limit.signal.addEventListener('abort', end, { once: true });
    });
    return Promise.race([step(limit.signal), isOver]).finally(limit.clear);
  }

  return {
    scopes: wanted,

    withScope,

    /** Resource Owner Password Credentials grant. Rejects with LoginRefused, RefusedForNow or IssuerUnreachable. */
    login: (
      username: string,
      password: string,
      oneTimeCode: (() => Promise<string | null>) | null = null,
    ): Promise<Grant> =>
      withScope(async (scope) => {
        const totp = await oneTimeCode?.();
        const form = { username, password, scope, ...(totp == null ? {} : { totp }) };
        return grant(
          (library, client) => library.genericGrantRequest(client, 'password', form),
          classifyLoginError,
        );
      }),

    /** Refresh grant. Rejects with SessionEnded, RefusedForNow or IssuerUnreachable. */
    refresh: (refreshToken: string): Promise<Grant> =>
      grant((library, client) => library.refreshTokenGrant(client, refreshToken), classifyRefreshError),

    /** Authorization code with PKCE: a person signs in at `url`. `finish` rejects like `login`. */
    beginCodeFlow: (redirectUri: string, scope: string) =>
      ask(async (library, configuration) => {
        const pkceCodeVerifier = library.randomPKCECodeVerifier();
        const state = library.randomState();
        // Only an id_token brings it back.
        const nonce = scope.split(' ').includes('openid') ? library.randomNonce() : null;
        const url = library.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope,
          state,
          code_challenge: await library.calculatePKCECodeChallenge(pkceCodeVerifier),
          ...S256,
          ...(nonce === null ? {} : { nonce }),
          // OpenID Connect Core 11: without it the scope is ignored.
          ...(asksForOffline(scope) ? { prompt: 'consent' } : {}),
        });
        const own = nonce === null ? {} : { expectedNonce: nonce };
        const checks = { pkceCodeVerifier, expectedState: state, ...own };
        return {
          url,
          state,
          /** `callback`: the address that the issuer sends the browser back to. */
          finish: (callback: URL): Promise<Grant> =>
            grant(
              (_, client) => library.authorizationCodeGrant(client, withQuery(callback), checks),
              classifyCodeError,
            ),
          /** What is wrong with an address that was pasted; it is not repeated, for it may hold a code. */
          mistakeIn: (pasted: string): string | null => mistakeIn(pasted, state),
        };
      }, classifyLoginError),

    /**
     * A person signs in on another device. `completeUri` has the code in it, where the issuer gives one. Rejects with
     * method_unusable, and like `login`.
     */
    beginDevice: () =>
      withScope((scope) =>
        ask(async (library, configuration) => {
          if (!hasDeviceEndpoint(configuration))
            throw methodUnusable(
              EXIT.credentials,
              'The issuer does not offer to sign in on another device.',
              'Configure provider.redirect_uri, and sign in by a link (--method link).',
            );
          const code_verifier = library.randomPKCECodeVerifier();
          const code_challenge = await library.calculatePKCECodeChallenge(code_verifier);
          const begun = await library.initiateDeviceAuthorization(configuration, {
            scope,
            code_challenge,
            ...S256,
          });
          return {
            userCode: begun.user_code,
            verificationUri: begun.verification_uri,
            completeUri: begun.verification_uri_complete ?? null,
            /** The longest address of the two that a phone can read from a screen; `null`: there is none. */
            qrUri: [begun.verification_uri_complete, begun.verification_uri].find(fitsQrCode) ?? null,
            expiresInSeconds: begun.expires_in,
            /** Resolves once the person has agreed. Rejects like `login`, also once the code is too old. */
            wait: (signal: AbortSignal): Promise<Grant> =>
              whileValid(begun.expires_in, signal, (signal) =>
                grant(
                  (_, client) =>
                    library.pollDeviceAuthorizationGrant(client, begun, { code_verifier }, { signal }),
                  classifyCodeError,
                ),
              ),
          };
        }, classifyCodeError),
      ),

    /** Whether a person could sign in on another device. */
    offersDevice: (): Promise<boolean> =>
      ask(async (_, configuration) => hasDeviceEndpoint(configuration), classifyLoginError),

    /** Ends the session that the refresh token belongs to (RFC 7009). Rejects with RefusedForNow or IssuerUnreachable. */
    endSession: (refreshToken: string): Promise<void> =>
      ask(async (library, configuration) => {
        if (configuration.serverMetadata().revocation_endpoint === undefined)
          throw new RefusedForNow(NO_REVOCATION);
        await library.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
      }, classifyRefreshError),
  };
}

const ENDPOINTS = ['token_endpoint', 'authorization_endpoint', 'device_authorization_endpoint'] as const;

/** Of version 20 with the lowest correction: 97 squares on each side. */
const MOST_QR_BYTES = 858;
const fitsQrCode = (uri: string | undefined): boolean =>
  uri !== undefined && Buffer.byteLength(uri) <= MOST_QR_BYTES;

const hasDeviceEndpoint = (configuration: OpenIdClient.Configuration): boolean =>
  configuration.serverMetadata().device_authorization_endpoint !== undefined;

const isRefusal = (library: Library, err: unknown): err is OpenIdClient.ResponseBodyError =>
  err instanceof library.ResponseBodyError && err.status < 500 && err.status !== 429;

/** An answer that is not about what was sent. */
const mayHaveMoved = (library: Library, err: unknown): boolean =>
  isRefusal(library, err) && err.error !== 'invalid_grant';

/** Whether these scopes ask for a session without an end. */
export const asksForOffline = (scope: string): boolean => scope.split(' ').includes('offline_access');

/** Tokens came, whatever else is wrong with them. */
const isGranted = (json: unknown): json is Reply =>
  typeof Object(json).access_token === 'string' && Object(json).error === undefined;

/** Of a reply with sound numbers of seconds. */
const toGrant = (reply: Reply): Grant => ({
  accessToken: reply.access_token,
  refreshToken: reply.refresh_token ?? null,
  expiresInSeconds: Number(reply.expires_in),
  refreshExpiresInSeconds: Number(reply.refresh_expires_in) || null,
});

/** The method cannot be used with this configuration, or at this provider. */
export const methodUnusable = (exit: number, message: string, hint: string) =>
  failure('method_unusable', message, { exit, retry: 'never', hint });

export const noRedirectUri = (what: string) =>
  methodUnusable(
    EXIT.config,
    `${what} needs provider.redirect_uri: an address that the provider has registered for provider.client_id.`,
    "The address bar of the provider's own login page shows it after redirect_uri=.",
  );

function mistakeIn(pasted: string, state: string): string | null {
  if (!URL.canParse(pasted)) return 'This is no address. Copy the whole of it, from https:// to its end.';
  const given = withQuery(new URL(pasted)).searchParams;
  if (!given.has('code') && !given.has('error'))
    return 'This address has no code: it is not the one after signing in, or the page has cleaned it. The network view of the browser still has it.';
  if (given.get('state') !== state)
    return 'This address belongs to another attempt. Use the one shown above.';
  return null;
}

/** Some clients get their answer behind a #: here it is in the query. */
export function withQuery(callback: URL): URL {
  const url = new URL(callback);
  for (const [name, value] of new URLSearchParams(url.hash.slice(1))) url.searchParams.set(name, value);
  url.hash = '';
  return url;
}

/**
 * The answer as openid-client is to see it: it prefers a WWW-Authenticate header to the body, but only the body says what was refused;
 * and it takes every number of seconds for meant. `onReply` gets the JSON.
 */
async function sound(
  pending: Promise<Response>,
  onReply: (json: unknown) => void,
  now: number,
): Promise<Response> {
  const response = await pending;
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete('www-authenticate');
  const later = soundRetryAfter(headers.get('retry-after'), now);
  if (later !== null) headers.set('retry-after', later);
  const text = await response.text();
  const json = jsonIn(text);
  const reply = withSoundSeconds(json);
  onReply(reply);
  const body = reply === json ? text || null : JSON.stringify(reply);
  return new Response(body, { status, statusText, headers });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The issuer could not be reached, or its answer was not OpenID Connect: nothing is known about the credentials. */
export class IssuerUnreachable extends Failure {
  constructor(message: string, options: Omit<FailureOptions, 'exit'>, code = 'issuer_unreachable') {
    super(code, message, { exit: EXIT.provider, ...options });
  }
}

/** The issuer has granted something, and the tokens cannot be used: they are those of another issuer or client. */
export class GrantUnusable extends IssuerUnreachable {
  // Private, so that no log writes it.
  readonly #grant: Grant;

  constructor({ message, hint = '', cause }: IssuerUnreachable, grant: Grant) {
    super(message, { retry: 'later', hint, cause }, 'tokens_unusable');
    this.#grant = grant;
  }

  /** What came; not to be used but for what it tells of the session. */
  get grant(): Grant {
    return this.#grant;
  }
}

/** An answer came that OpenID Connect does not allow here, such as a token for another client. */
const MISFITS: readonly unknown[] = [
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_RESPONSE',
];
const NO_ADDRESS: readonly unknown[] = ['OAUTH_MISSING_SERVER_METADATA', 'OAUTH_INVALID_SERVER_METADATA'];

/** From whatever a request ended with; tells what came, never its text. `caFile`: `provider.ca_file`. */
export function unreachable(err: unknown, now: number, caFile: string | undefined): Failure {
  // The innermost error, and the response that one of them carries.
  let root = err;
  let response: Response | undefined;
  for (let at = err; at instanceof Error; at = at.cause) {
    root = at;
    response ??= ['response' in at && at.response, at.cause].find((one) => one instanceof Response);
  }
  // Nothing was asked: a file of the configuration is at fault.
  if (root instanceof Failure && root.exitCode === EXIT.config) return root;
  const trouble = tlsTrouble(root, 'the issuer', placeOfIssuer(caFile), now);
  if (trouble !== null) return notEncrypted(trouble, err);
  const [retry, what, hint = 'If this lasts, check provider.issuer and the network'] = response
    ? answeredBy(response)
    : failedBy(root);
  const retryAfter = retryAfterMs(response?.headers.get('retry-after'), now);
  return new IssuerUnreachable(`The issuer ${what}.`, {
    retry,
    hint: `${hint}; the password is not in doubt.`,
    cause: err,
    ...(retryAfter === null ? {} : { retryAfterMs: retryAfter }),
  });
}

const placeOfIssuer = (caFile: string | undefined): TlsPlace => ({
  address: 'provider.issuer',
  authorities: { key: 'provider.ca_file', isGiven: caFile !== undefined, alone: false },
  ownCertificate: null,
});

function notEncrypted({ isDistrust, message, hint }: TlsTrouble, cause: unknown): IssuerUnreachable {
  const code = isDistrust ? 'issuer_not_trusted' : undefined;
  const more = `${hint} Nothing was sent, and the password is not in doubt.`;
  return new IssuerUnreachable(message, { retry: 'later', hint: more, cause }, code);
}

/** What the issuer did, and what to do about it where that is anything special. */
type Told = readonly [retry: Retry, what: string, hint?: string];

function answeredBy({ status, headers }: Response): Told {
  const type = mediaTypeIn(headers.get('content-type'));
  const what = `answered with HTTP ${status} (${type}) where OpenID Connect JSON was expected`;
  if (status === 404)
    return [
      'later',
      'does not know this address (HTTP 404): the realm may be mistyped',
      'Compare the end of provider.issuer with the provider (…/realms/<realm>, capitals count)',
    ];
  if (status !== 429 && status < 500) return ['later', what];
  return ['later', what, 'It mostly passes by itself. If it lasts, check provider.issuer'];
}

function failedBy(root: unknown): Told {
  if (root instanceof ReplyTooLarge)
    return ['later', `gave a reply with ${root.excess}, which was refused`, 'Check provider.issuer'];
  const { name = 'unknown error', code, cause } = (root ?? {}) as Partial<Error> & { code?: string };
  const { claim, attribute } = Object(cause) as { claim?: unknown; attribute?: unknown };
  if (name === 'TimeoutError' || name === 'AbortError') return ['soon', 'did not answer in time'];
  if (name === 'SyntaxError') return ['soon', 'answered with something else than JSON'];
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    return [
      'soon',
      'calls itself by another address than provider.issuer',
      'Write provider.issuer exactly as the issuer does: look for a slash at the end, http or https, capitals',
    ];
  if (NO_ADDRESS.includes(code))
    return [
      'later',
      `names no usable ${attribute ?? 'address'} in its metadata`,
      'Check provider.issuer: what answers there is no issuer that gives out tokens',
    ];
  if (MISFITS.includes(code))
    return [
      'later',
      `answered, but its token does not fit (${claim === undefined ? code : `the claim "${claim}" is another one`})`,
      'Check provider.issuer and provider.client_id; if they are right, report it to the provider',
    ];
  return ['soon', `could not be reached (${faultOf(root)})`];
}
