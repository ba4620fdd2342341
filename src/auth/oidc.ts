// The issuer over OpenID Connect: discovery, password grant, refresh grant. The only door to openid-client.
import type * as OpenIdClient from 'openid-client';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import { classifyLoginError, classifyRefreshError } from './refusals.ts';
import type { Grant } from './tokens.ts';

export interface IssuerOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly timeoutSeconds: number;
  /** Allows plain http. */
  readonly allowInsecure: boolean;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** Accounts that have it in common discover the issuer once for all of them. */
  readonly memory?: IssuerMemory;
}

/** The endpoints of an issuer; `null` until they have been asked for. */
export interface IssuerMemory {
  metadata: Promise<OpenIdClient.ServerMetadata> | null;
}

/** The issuer could not be reached, or its answer was not OpenID Connect: nothing is known about the credentials. */
export class IssuerUnreachable extends Failure {
  readonly code = 'issuer_unreachable';
  readonly exitCode = EXIT.provider;
}

// Assumed for a reply without expires_in. Keycloak's access tokens usually live longer.
const UNSTATED_LIFE_SECONDS = 60;
// The times in the id_token do not matter here, and a Pi without a clock battery may start in 1970.
const ANY_CLOCK_SECONDS = 100 * 366 * 86_400;

export class Issuer {
  readonly #options: IssuerOptions;
  readonly #memory: IssuerMemory;

  constructor(options: IssuerOptions) {
    this.#options = options;
    this.#memory = options.memory ?? { metadata: null };
  }

  /** Resource Owner Password Credentials grant. Rejects with LoginRefused or IssuerUnreachable. */
  login(username: string, password: string): Promise<Grant> {
    const scope = this.#options.scopes.join(' ');
    return this.#ask(
      (client, configuration) =>
        client.genericGrantRequest(configuration, 'password', { username, password, scope }),
      classifyLoginError,
    );
  }

  /** Refresh grant. Rejects with SessionEnded or IssuerUnreachable. */
  refresh(refreshToken: string): Promise<Grant> {
    return this.#ask(
      (client, configuration) => client.refreshTokenGrant(configuration, refreshToken),
      classifyRefreshError,
    );
  }

  async #ask(
    grant: (client: typeof OpenIdClient, configuration: OpenIdClient.Configuration) => Promise<Reply>,
    classify: (error: string, description: string) => Failure | null,
  ): Promise<Grant> {
    const client = await import('openid-client');
    try {
      return toGrant(await grant(client, await this.#discover(client)));
    } catch (err) {
      if (err instanceof client.ResponseBodyError && err.status < 500 && err.status !== 429) {
        const refusal = classify(err.error, err.error_description ?? '');
        if (refusal) throw refusal;
      }
      // The token endpoint may have moved: discover it again at the next attempt.
      this.#memory.metadata = null;
      throw err instanceof Failure ? err : unreachable(err, this.#options.clock.now());
    }
  }

  async #discover(client: typeof OpenIdClient): Promise<OpenIdClient.Configuration> {
    const { issuer, clientId, timeoutSeconds, allowInsecure } = this.#options;
    const tolerance = { [client.clockTolerance]: ANY_CLOCK_SECONDS };
    const settings = {
      timeout: timeoutSeconds,
      [client.customFetch]: (url: string, init: unknown) =>
        plainErrors(this.#options.fetch(url, init as RequestInit)),
    };
    const execute = allowInsecure ? [client.allowInsecureRequests] : [];
    this.#memory.metadata ??= client
      .discovery(new URL(issuer), clientId, tolerance, client.None(), { execute, ...settings })
      .then((found) => found.serverMetadata());
    const metadata = await this.#memory.metadata;
    const configuration = new client.Configuration(metadata, clientId, tolerance, client.None());
    Object.assign(configuration, settings);
    for (const prepare of execute) prepare(configuration);
    return configuration;
  }
}

type Reply = Awaited<ReturnType<typeof OpenIdClient.refreshTokenGrant>>;

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

// openid-client prefers a WWW-Authenticate header to the body, but only the body says what was refused.
async function plainErrors(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  if (!response.headers.has('www-authenticate')) return response;
  const headers = new Headers(response.headers);
  headers.delete('www-authenticate');
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

function unreachable(err: unknown, now: number): IssuerUnreachable {
  const response = responseOf(err);
  const askedFor = retryAfterMs(response?.headers.get('retry-after'), now);
  return new IssuerUnreachable(`The issuer ${whatHappened(err, response)}.`, {
    retry: response === null ? 'soon' : 'later',
    hint: hintFor(err, response),
    cause: err,
    ...(askedFor === null ? {} : { retryAfterMs: askedFor }),
  });
}

const OTHER_ISSUER = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';

function hintFor(err: unknown, response: Response | null): string {
  const own = 'the password is not in doubt';
  if (rootOf(err).code === OTHER_ISSUER)
    return `Write provider.issuer exactly as the issuer does: look for a slash at the end, http or https, capitals; ${own}.`;
  if (response !== null && (response.status === 429 || response.status >= 500))
    return `It mostly passes by itself. If it lasts, check provider.issuer; ${own}.`;
  return `If this lasts, check provider.issuer and the network; ${own}.`;
}

function responseOf(err: unknown): Response | null {
  for (let at = err; at instanceof Error; at = at.cause) {
    if ('response' in at && at.response instanceof Response) return at.response;
    if (at.cause instanceof Response) return at.cause;
  }
  return null;
}

function whatHappened(err: unknown, response: Response | null): string {
  if (response !== null) {
    const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
    return `answered with HTTP ${response.status} (${type}) where OpenID Connect JSON was expected`;
  }
  const { name, code } = rootOf(err);
  if (name === 'TimeoutError' || name === 'AbortError') return 'did not answer in time';
  if (code === OTHER_ISSUER) return 'calls itself by another address than provider.issuer';
  if (name === 'SyntaxError') return 'answered with something else than JSON';
  return `could not be reached (${code ?? name})`;
}

function rootOf(err: unknown): { name: string; code: string | undefined } {
  let root = err;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const { name = 'unknown error', code } = (root ?? {}) as { name?: string; code?: string };
  return { name, code };
}
