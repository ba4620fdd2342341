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
  /** Accounts that share it discover the issuer once for all of them. */
  readonly memory: IssuerMemory;
}

/** What discovery found; `null` before. */
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

  constructor(options: IssuerOptions) {
    this.#options = options;
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
      this.#options.memory.metadata = null;
      throw err instanceof Failure ? err : unreachable(err, this.#options.clock.now());
    }
  }

  async #discover(client: typeof OpenIdClient): Promise<OpenIdClient.Configuration> {
    const { issuer, clientId, timeoutSeconds, allowInsecure, memory } = this.#options;
    const tolerance = { [client.clockTolerance]: ANY_CLOCK_SECONDS };
    const settings = {
      timeout: timeoutSeconds,
      [client.customFetch]: (url: string, init: unknown) =>
        plainErrors(this.#options.fetch(url, init as RequestInit)),
    };
    const execute = allowInsecure ? [client.allowInsecureRequests] : [];
    memory.metadata ??= client
      .discovery(new URL(issuer), clientId, tolerance, client.None(), { execute, ...settings })
      .then((found) => found.serverMetadata());
    const metadata = await memory.metadata;
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

const OTHER_ISSUER = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';

/** What a request that brought no answer of OpenID Connect says about the issuer. */
export function unreachable(err: unknown, now: number): IssuerUnreachable {
  const { root, response } = causesOf(err);
  const { name = 'unknown error', code } = (root ?? {}) as { name?: string; code?: string };
  const retryAfter = retryAfterMs(response?.headers.get('retry-after'), now);
  return new IssuerUnreachable(`The issuer ${whatHappened(name, code, response)}.`, {
    retry: response === null ? 'soon' : 'later',
    hint: `${hintFor(code, response)}; the password is not in doubt.`,
    cause: err,
    ...(retryAfter === null ? {} : { retryAfterMs: retryAfter }),
  });
}

/** The innermost error, and the response that one of them carries. */
function causesOf(err: unknown): { root: unknown; response: Response | null } {
  let root = err;
  let response: Response | undefined;
  for (let at = err; at instanceof Error; at = at.cause) {
    root = at;
    response ??= ['response' in at && at.response, at.cause].find((one) => one instanceof Response);
  }
  return { root, response: response ?? null };
}

function whatHappened(name: string, code: string | undefined, response: Response | null): string {
  if (response !== null) {
    const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
    return `answered with HTTP ${response.status} (${type}) where OpenID Connect JSON was expected`;
  }
  if (name === 'TimeoutError' || name === 'AbortError') return 'did not answer in time';
  if (code === OTHER_ISSUER) return 'calls itself by another address than provider.issuer';
  if (name === 'SyntaxError') return 'answered with something else than JSON';
  return `could not be reached (${code ?? name})`;
}

function hintFor(code: string | undefined, response: Response | null): string {
  if (code === OTHER_ISSUER)
    return 'Write provider.issuer exactly as the issuer does: look for a slash at the end, http or https, capitals';
  if (response !== null && (response.status === 429 || response.status >= 500))
    return 'It mostly passes by itself. If it lasts, check provider.issuer';
  return 'If this lasts, check provider.issuer and the network';
}
