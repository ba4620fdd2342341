// One HTTP exchange with the provider: bearer key, deadline, what a refusal means, JSON or a clear complaint.
import { type Clock, deadline } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { HttpRequest, HttpResponse } from '../http/client.ts';

/** Gives the key for the next request; `rejected` lists the keys that this exchange has had refused. */
export type AccessKey = (rejected: readonly string[]) => Promise<string>;

export interface Exchange {
  readonly method: 'GET' | 'POST';
  /** Below the base address, with a leading slash. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  /** What is asked for, in words for messages: 'usage report'. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
}

export interface RequestParts {
  readonly baseUrl: string;
  readonly timeoutSeconds: number;
  readonly send: (url: URL, request: HttpRequest) => Promise<HttpResponse>;
  readonly clock: Clock;
  /** Absent where no credentials are wanted. */
  readonly key?: AccessKey;
  /** A refused key (401) is a refusal like any other: no new key is asked for. */
  readonly acceptsErrors?: boolean;
  /** The configuration key of `baseUrl`, for advice. Default: the provider's. */
  readonly setting?: string;
  readonly onReply?: ((reply: Reply) => void) | undefined;
}

/** What came back, whatever its status. */
export interface Reply {
  readonly what: string;
  readonly status: number;
  readonly json?: unknown;
  /** Set when the body is not JSON. */
  readonly foreign?: { readonly type: string; readonly characters: number };
}

const PROVIDER_SETTING = 'provider.api_url';

/** Resolves to the parsed JSON of a 2xx answer. */
export type Ask = (exchange: Exchange) => Promise<unknown>;

/** No answer, or one that says "not now". */
export class ProviderUnreachable extends Failure {
  readonly code = 'provider_unreachable';
  readonly exitCode = EXIT.provider;
}

/** The provider answered with a status that says no. */
export class ProviderRefused extends Failure {
  readonly code = 'provider_refused';
  readonly exitCode = EXIT.provider;
  readonly status: number;

  constructor(what: string, status: number, setting = PROVIDER_SETTING) {
    const access = setting === PROVIDER_SETTING ? ' and whether the account may still see its property' : '';
    super(`The provider refused the ${what} with HTTP ${status}.`, {
      retry: 'later',
      hint: `If this lasts, check ${setting}${access}.`,
    });
    this.status = status;
  }
}

/** The provider answered, but not with what was expected; the message says where. */
export class UnexpectedReply extends Failure {
  readonly code = 'unexpected_reply';
  readonly exitCode = EXIT.provider;

  constructor(
    what: string,
    expected: string,
    found: string,
    hint = 'The last good values stay. If this lasts, the provider has changed its interface: please report it.',
  ) {
    super(`The reply to the ${what} was not understood: expected ${expected}, found ${found}.`, {
      retry: 'later',
      hint,
    });
  }
}

export function openRequest(parts: RequestParts): Ask {
  return async (exchange) => {
    const { key, acceptsErrors = false } = parts;
    const rejected: string[] = [];
    for (;;) {
      const token = key ? await key(rejected) : null;
      const response = await send(parts, exchange, token);
      const reply = read(exchange.what, response);
      parts.onReply?.(reply);
      if (reply.status >= 200 && reply.status < 300) return trusted(reply);
      // The session behind `key` ends this loop: it refreshes, logs in once, and then gives up.
      if (response.status === 401 && token !== null && !acceptsErrors) rejected.push(token);
      else throw refusal(exchange.what, response, parts);
    }
  };
}

async function send(parts: RequestParts, exchange: Exchange, key: string | null): Promise<HttpResponse> {
  const url = new URL(parts.baseUrl.replace(/\/+$/, '') + exchange.path);
  if (exchange.query) url.search = exchange.query.toString();
  const limit = deadline(parts.clock, parts.timeoutSeconds * 1000, exchange.signal);
  try {
    return await parts.send(url, {
      method: exchange.method,
      headers: {
        accept: 'application/json',
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        'content-type': 'application/json',
      },
      body: exchange.body === undefined ? null : JSON.stringify(exchange.body),
      signal: limit.signal,
    });
  } catch (err) {
    if (err instanceof Failure) throw err;
    throw new ProviderUnreachable(`No answer to the ${exchange.what}: ${networkFault(err)}.`, {
      retry: 'soon',
      hint: `If this lasts, check the network and ${parts.setting ?? PROVIDER_SETTING}.`,
      cause: err,
    });
  } finally {
    limit.clear();
  }
}

function refusal(what: string, response: HttpResponse, { clock, setting }: RequestParts): Failure {
  const { status } = response;
  if (status !== 408 && status !== 429 && status < 500) return new ProviderRefused(what, status, setting);
  const askedFor = retryAfterMs(response.headers['retry-after'], clock.now());
  return new ProviderUnreachable(`The provider answered the ${what} with HTTP ${status}.`, {
    retry: status === 429 ? 'later' : 'soon',
    hint: setting
      ? 'The service has trouble: ask again later.'
      : 'The provider has trouble; the bridge tries again by itself.',
    ...(askedFor === null ? {} : { retryAfterMs: askedFor }),
  });
}

// Leaves out a byte order mark, before which JSON would not be understood.
const UTF8 = new TextDecoder();

function read(what: string, { status, headers, body }: HttpResponse): Reply {
  const text = UTF8.decode(body);
  try {
    return { what, status, json: JSON.parse(text) };
  } catch {
    const type = String(headers['content-type'] ?? 'no content type').split(';')[0] ?? '';
    return { what, status, foreign: { type, characters: text.length } };
  }
}

function trusted({ what, json, foreign }: Reply): unknown {
  if (foreign === undefined) return json;
  throw new UnexpectedReply(what, 'JSON', `${foreign.characters} characters of ${foreign.type} that are not`);
}

function networkFault(err: unknown): string {
  let root = err;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const { name, code } = (root ?? {}) as { name?: string; code?: string };
  if (name === 'TimeoutError') return 'time ran out';
  if (name === 'AbortError') return 'interrupted';
  return String(code ?? name ?? 'unknown fault');
}
