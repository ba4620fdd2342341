// The questions to the issuer over OpenID Connect: the grants, sign-ins of a person, and the end of a session.
import type { Config } from '../config/schema.ts';
import { withDeadline } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { untilAgreed } from './deviceWait.ts';
import { type ClientDeps, type Configuration, IssuerClient } from './issuerClient.ts';
import {
  classifyCodeError,
  classifyLoginError,
  classifyRefreshError,
  LoginRefused,
  NO_REVOCATION,
  REFUSALS,
  RefusedForNow,
} from './refusals.ts';
import type { Grant } from './tokens.ts';

/** `offline_access` asks for the scope besides, and goes on without where the issuer refuses it. */
export interface IssuerDeps
  extends ClientDeps,
    Pick<NonNullable<Config['provider']>, 'scopes' | 'offline_access'> {
  /** The longest life of a one-time code of the account; `null`: it has none. */
  readonly codeSeconds: number | null;
  readonly log: Log;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const S256 = { code_challenge_method: 'S256' };

/** A sign-in with a browser, or in place of one (RFC 6749 4.1, PKCE). */
export type CodeFlow = Awaited<ReturnType<Issuer['beginCodeFlow']>>;
/** A sign-in on another device (RFC 8628). */
export type DeviceFlow = Awaited<ReturnType<Issuer['beginDevice']>>;

export class Issuer {
  readonly #deps: IssuerDeps;
  readonly #client: IssuerClient;
  /** A sign-in asks for these at first. */
  readonly scopes: readonly string[];
  #refusesOffline = false;

  constructor(deps: IssuerDeps) {
    this.#deps = deps;
    this.#client = new IssuerClient(deps);
    this.scopes = deps.offline_access ? [...deps.scopes, 'offline_access'] : deps.scopes;
  }

  /** Calls the step with the scopes to ask for, and again without offline_access where that is refused. */
  async withScope<T>(step: (scope: string) => Promise<T>): Promise<T> {
    const { offline_access, scopes, codeSeconds, clock, log } = this.#deps;
    if (offline_access && !this.#refusesOffline) {
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

  /** Resource Owner Password Credentials grant. Rejects with LoginRefused, RefusedForNow or issuer_unreachable. */
  login(
    username: string,
    password: string,
    oneTimeCode: (() => Promise<string | null>) | null = null,
  ): Promise<Grant> {
    return this.withScope(async (scope) => {
      const totp = await oneTimeCode?.();
      const form = { username, password, scope, ...(totp == null ? {} : { totp }) };
      return this.#client.grant(
        (library, configuration) => library.genericGrantRequest(configuration, 'password', form),
        classifyLoginError,
      );
    });
  }

  /** Refresh grant. Rejects with SessionEnded, RefusedForNow or issuer_unreachable. */
  refresh(refreshToken: string): Promise<Grant> {
    return this.#client.grant(
      (library, configuration) => library.refreshTokenGrant(configuration, refreshToken),
      classifyRefreshError,
    );
  }

  /** Authorization code with PKCE: a person signs in at `url`. `finish` rejects like `login`. */
  beginCodeFlow(redirectUri: string, scope: string) {
    return this.#client.ask(async (library, configuration) => {
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
      const ofNonce = nonce === null ? {} : { expectedNonce: nonce };
      const checks = { pkceCodeVerifier, expectedState: state, ...ofNonce };
      return {
        url,
        /** `callback`: the address that the issuer sends the browser back to. */
        finish: (callback: URL): Promise<Grant> =>
          this.#client.grant(
            (_, client) => library.authorizationCodeGrant(client, withQuery(callback), checks),
            classifyCodeError,
          ),
        /** The mistake in a pasted address; the address is not repeated, for it may hold a code. */
        mistakeIn: (pasted: string): string | null => mistakeIn(pasted, state),
      };
    }, classifyLoginError);
  }

  /**
   * A person signs in on another device. `completeUri` has the code in it, where the issuer gives one. Rejects with
   * method_unusable, and like `login`.
   */
  beginDevice() {
    return this.withScope((scope) => this.#beginDevice(scope));
  }

  #beginDevice(scope: string) {
    return this.#client.ask(async (library, configuration) => {
      if (!hasDeviceEndpoint(configuration)) throw noDeviceEndpoint();
      const code_verifier = library.randomPKCECodeVerifier();
      const code_challenge = await library.calculatePKCECodeChallenge(code_verifier);
      const parameters = { scope, code_challenge, ...S256 };
      const begun = await library.initiateDeviceAuthorization(configuration, parameters);
      const { verification_uri: uri, verification_uri_complete: completeUri } = begun;
      const form = { device_code: begun.device_code, code_verifier };
      const poll = (signal: AbortSignal) =>
        this.#client.grant((_, client) => {
          const ask = () => library.genericGrantRequest(client, DEVICE_GRANT, form);
          return untilAgreed(ask, Number(begun.interval), this.#deps.clock, signal);
        }, classifyCodeError);
      return {
        userCode: begun.user_code,
        verificationUri: uri,
        completeUri: completeUri ?? null,
        /** The longest address of the two that a phone can read from a screen; `null`: there is none. */
        qrUri: [completeUri, uri].find(fitsQrCode) ?? null,
        expiresInSeconds: begun.expires_in,
        /** Resolves once the person has agreed. Rejects like `login`, also once the code is too old. */
        wait: (signal: AbortSignal): Promise<Grant> => this.#whileValid(begun.expires_in, signal, poll),
      };
    }, classifyCodeError);
  }

  /** The issuer says when a code is too old; one that goes on without a word is not asked for ever. */
  #whileValid(
    seconds: number,
    signal: AbortSignal,
    step: (signal: AbortSignal) => Promise<Grant>,
  ): Promise<Grant> {
    return withDeadline(this.#deps.clock, seconds * 1000, signal, (limit) => {
      const isOver = new Promise<never>((_, reject) => {
        const end = () => reject(signal.aborted ? signal.reason : classifyCodeError('expired_token', ''));
        limit.addEventListener('abort', end, { once: true });
      });
      return Promise.race([step(limit), isOver]);
    });
  }

  /** A person could sign in on another device. */
  offersDevice(): Promise<boolean> {
    return this.#client.ask(async (_, configuration) => hasDeviceEndpoint(configuration), classifyLoginError);
  }

  /** Ends the session that the refresh token belongs to (RFC 7009). Rejects with RefusedForNow or issuer_unreachable. */
  endSession(refreshToken: string): Promise<void> {
    return this.#client.ask(async (library, configuration) => {
      if (configuration.serverMetadata().revocation_endpoint === undefined)
        throw new RefusedForNow(NO_REVOCATION);
      await library.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
    }, classifyRefreshError);
  }
}

/** A QR code of version 20 with the lowest correction holds these: it has 97 squares on each side. */
const MOST_QR_BYTES = 858;
const fitsQrCode = (uri: string | undefined): boolean =>
  uri !== undefined && Buffer.byteLength(uri) <= MOST_QR_BYTES;

const hasDeviceEndpoint = (configuration: Configuration): boolean =>
  configuration.serverMetadata().device_authorization_endpoint !== undefined;

/** These scopes ask for a session without an end. */
export const asksForOffline = (scope: string): boolean => scope.split(' ').includes('offline_access');

/** The method cannot be used with this configuration, or at this provider. */
export const methodUnusable = (exit: number, message: string, hint: string) =>
  failure('method_unusable', message, { exit, retry: 'never', hint });

const noDeviceEndpoint = () =>
  methodUnusable(
    EXIT.credentials,
    'The issuer does not offer to sign in on another device.',
    'Configure provider.redirect_uri, and sign in by a link (--method link).',
  );

export const noRedirectUri = (method: string) =>
  methodUnusable(
    EXIT.config,
    `${method} needs provider.redirect_uri: an address that the provider has registered for provider.client_id.`,
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
