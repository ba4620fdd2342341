// One request to the issuer by openid-client, which discovers it first, and again where an address may have moved. The only door to
// openid-client.
import type * as OpenIdClient from 'openid-client';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { GrantUnusable, unreachable } from './issuerTrouble.ts';
import type { Classify } from './refusals.ts';
import { soundReply } from './soundReply.ts';
import type { Grant } from './tokens.ts';

/** The metadata of the issuer; `null` before it is discovered. */
export interface IssuerMemory {
  metadata: Promise<OpenIdClient.ServerMetadata> | null;
  /** The last time that an answer made us discover again, on the monotonic clock. */
  discoveredAgainAt?: number;
}

export interface ClientDeps
  extends Pick<NonNullable<Config['provider']>, 'issuer' | 'client_id' | 'timeout_seconds' | 'ca_file'> {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** Accounts that share it discover the issuer once for all of them. */
  readonly memory: IssuerMemory;
}

// An issuer that refuses everything must not be asked for its metadata at each attempt.
const DISCOVER_AGAIN_AFTER_MS = 3 * 60_000;
// Only JSON tells what is refused; these say that the address is another one by now.
const ADDRESS_IS_GONE: readonly number[] = [404, 405, 410];
// The times in the id_token do not matter here, and a Pi without a clock battery may start in 1970.
const ANY_CLOCK_SECONDS = 100 * 366 * 86_400;
const ENDPOINTS = ['token_endpoint', 'authorization_endpoint', 'device_authorization_endpoint'] as const;

type Library = typeof OpenIdClient;
export type Configuration = OpenIdClient.Configuration;
type Step<T> = (library: Library, configuration: Configuration) => Promise<T>;
type Reply = OpenIdClient.TokenEndpointResponse;

export class IssuerClient {
  readonly #deps: ClientDeps;
  // The configuration refuses plain http where it is not allowed.
  readonly #mayBeInsecure: boolean;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
    this.#mayBeInsecure = new URL(deps.issuer).protocol === 'http:';
  }

  /** Rejects with what `classify` makes of a refusal, with GrantUnusable, or with issuer_unreachable. */
  async grant(step: Step<Reply>, classify: Classify): Promise<Grant> {
    return toGrant(await this.ask(step, classify));
  }

  /** Rejects like `grant`. */
  async ask<T>(step: Step<T>, classify: Classify): Promise<T> {
    const library = await import('openid-client');
    let reply: unknown;
    const note = (json: unknown) => {
      reply = json;
    };
    const attempt = async (metadata: Promise<OpenIdClient.ServerMetadata>) =>
      step(library, this.#configure(library, await metadata, note));
    try {
      const metadata = this.#discover(library);
      return await attempt(metadata).catch(async (err) => {
        const isToRepeat = mayHaveMoved(library, err) && (await this.#hasMoved(library, await metadata));
        if (!isToRepeat) throw err;
        return attempt(this.#discover(library));
      });
    } catch (err) {
      const refusal = refusalIn(library, err, classify);
      if (refusal !== null) throw refusal;
      // The metadata may be out of date: it is asked for again at the next attempt, unless that was just done.
      if (!mayHaveMoved(library, err)) this.#deps.memory.metadata = null;
      if (err instanceof Failure) throw err;
      // The library refuses what it cannot validate, though the issuer has granted it.
      const grant = isGranted(reply) ? toGrant(reply) : null;
      const trouble = unreachable(err, this.#deps.clock.now(), this.#deps.ca_file, grant !== null);
      throw grant === null ? trouble : new GrantUnusable(trouble, grant);
    }
  }

  /** Discovers again, at most every few minutes. Whether an address is another one than in `before`. */
  async #hasMoved(library: Library, before: OpenIdClient.ServerMetadata): Promise<boolean> {
    const { memory, clock } = this.#deps;
    const now = clock.monotonic();
    if (now - (memory.discoveredAgainAt ?? Number.NEGATIVE_INFINITY) < DISCOVER_AGAIN_AFTER_MS) return false;
    memory.discoveredAgainAt = now;
    memory.metadata = null;
    const after = await this.#discover(library).catch(() => before);
    return ENDPOINTS.some((name) => after[name] !== before[name]);
  }

  async #discover(library: Library): Promise<OpenIdClient.ServerMetadata> {
    const { memory, issuer, client_id, timeout_seconds } = this.#deps;
    memory.metadata ??= library
      .discovery(new URL(issuer), client_id, undefined, library.None(), {
        execute: this.#mayBeInsecure ? [library.allowInsecureRequests] : [],
        timeout: timeout_seconds,
        [library.customFetch]: this.#fetchTelling(),
      })
      .then((discovered) => discovered.serverMetadata())
      .catch((err: unknown) => {
        memory.metadata = null;
        throw err;
      });
    return memory.metadata;
  }

  #configure(
    library: Library,
    metadata: OpenIdClient.ServerMetadata,
    onReply: (json: unknown) => void,
  ): Configuration {
    const { client_id, timeout_seconds } = this.#deps;
    const tolerance = { [library.clockTolerance]: ANY_CLOCK_SECONDS };
    const configuration = new library.Configuration(metadata, client_id, tolerance, library.None());
    configuration.timeout = timeout_seconds;
    configuration[library.customFetch] = this.#fetchTelling(onReply);
    if (this.#mayBeInsecure) library.allowInsecureRequests(configuration);
    return configuration;
  }

  /** `onReply` gets the JSON of each answer. */
  #fetchTelling(onReply: (json: unknown) => void = () => undefined) {
    return (url: string, init: unknown) =>
      soundReply(this.#deps.fetch(url, init as RequestInit), onReply, this.#deps.clock.now());
  }
}

function refusalIn(library: Library, err: unknown, classify: Classify): Failure | null {
  const isAnswer =
    err instanceof library.AuthorizationResponseError ||
    (isRefusal(library, err) && !ADDRESS_IS_GONE.includes(err.status));
  if (!isAnswer) return null;
  const { error, error_description: words } = err;
  return classify(error, typeof words === 'string' ? words : '');
}

const isRefusal = (library: Library, err: unknown): err is OpenIdClient.ResponseBodyError =>
  err instanceof library.ResponseBodyError && err.status < 500 && err.status !== 429;

/** An answer that is not about what was sent. */
const mayHaveMoved = (library: Library, err: unknown): boolean =>
  isRefusal(library, err) && err.error !== 'invalid_grant';

/** Tokens came, whatever else is wrong with them. */
const isGranted = (json: unknown): json is Reply =>
  typeof Object(json).access_token === 'string' && Object(json).error === undefined;

/** The reply has sound numbers of seconds. */
const toGrant = (reply: Reply): Grant => ({
  accessToken: reply.access_token,
  refreshToken: reply.refresh_token ?? null,
  expiresInSeconds: Number(reply.expires_in),
  refreshExpiresInSeconds: Number(reply.refresh_expires_in) || null,
});
