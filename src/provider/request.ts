// One HTTP exchange with the provider: access token, deadline, what a refusal means, JSON or a clear complaint.
import { type Clock, withDeadline } from '../foundation/clock.ts';
import {
  EXIT,
  Failure,
  type FailureOptions,
  failure,
  faultOf,
  LAST_VALUES_STAY,
} from '../foundation/failure.ts';
import { parseJson } from '../foundation/json.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import { tlsTrouble } from '../foundation/tlsTrouble.ts';
import { type HttpResponse, ReplyTooLarge, type Send } from '../http/client.ts';
import { mediaTypeIn } from '../http/mediaType.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST';
  /** It is below the base address, and begins with a slash. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  /** The thing asked for, in words for messages: 'usage report'. */
  readonly what: string;
  /** The meaning of a 404, where the account cannot cure it. */
  readonly notFound?: { readonly message: string; readonly hint: string };
  readonly signal?: AbortSignal | undefined;
}

export interface AskOptions {
  readonly baseUrl: string;
  readonly timeoutSeconds: number;
  readonly send: Send;
  readonly clock: Clock;
  /** Gives the token for the next request; `rejected`: those refused in this exchange. Absent where none is wanted. */
  readonly accessToken?: (rejected: readonly string[]) => Promise<string>;
  /** A 401 is a refusal like any other: no new access token is asked for. */
  readonly acceptsErrors?: boolean;
  /** The configuration key of `baseUrl`, for advice. Default: the provider's. */
  readonly setting?: string;
  /** `provider.ca_file`. */
  readonly caFile?: string | undefined;
  readonly onReply?: ((reply: Reply) => void) | undefined;
}

/** The answer, whatever its status. */
export interface Reply {
  readonly what: string;
  readonly status: number;
  readonly json?: unknown;
  /** Set when the body is not JSON. */
  readonly foreign?: { readonly type: string; readonly characters: number };
}

/** Resolves to the parsed JSON of a 2xx answer. */
export type Ask = (exchange: Exchange) => Promise<unknown>;

/** No answer, or one that says "not now". */
const unreachable = (message: string, options: Omit<FailureOptions, 'exit'>): Failure =>
  failure('provider_unreachable', message, { exit: EXIT.provider, ...options });

/** A search engine's complaint about a query: text of the other side, which is never told, and empty where it gave none. */
export interface Complaint {
  readonly type: string;
  readonly reason: string;
}

/** The provider answered with a status that says no. */
export class ProviderRefused extends Failure {
  readonly status: number;
  // Private, so that no log writes it.
  readonly #complaint: Complaint;

  constructor(status: number, words: { message: string; hint: string }, complaint = complaintIn(null)) {
    super('provider_refused', words.message, { exit: EXIT.provider, retry: 'later', hint: words.hint });
    this.status = status;
    this.#complaint = complaint;
  }

  get complaint(): Complaint {
    return this.#complaint;
  }
}

/** The provider answered, but not with what was expected; the message says where. */
export class UnexpectedReply extends Failure {
  constructor(
    what: string,
    expected: string,
    found: string,
    hint = `${LAST_VALUES_STAY} If this lasts, the provider has changed its interface: please report it.`,
  ) {
    const message = `The reply to the ${what} was not understood: expected ${expected}, found ${found}.`;
    super('unexpected_reply', message, { exit: EXIT.provider, retry: 'later', hint });
  }
}

const PROVIDER_SETTING = 'provider.api_url';
const UTF8 = new TextDecoder();

export function createAsk(options: AskOptions): Ask {
  const { timeoutSeconds, clock, accessToken, acceptsErrors = false, setting = PROVIDER_SETTING } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, '');

  async function send(exchange: Exchange, token: string | null): Promise<HttpResponse> {
    const { method, path, query, body, what } = exchange;
    const url = new URL(baseUrl + path);
    if (query) url.search = query.toString();
    const headers = {
      accept: 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
    };
    try {
      const text = body === undefined ? null : JSON.stringify(body);
      const request = { method, headers, body: text, onlyReads: true };
      return await withDeadline(clock, timeoutSeconds * 1000, exchange.signal, (signal) =>
        options.send(url, { ...request, signal }),
      );
    } catch (err) {
      if (err instanceof ReplyTooLarge) throw new ReplyTooLarge(err.excess, `reply to the ${what}`);
      throw noAnswer(what, err, options);
    }
  }

  return async (exchange) => {
    const rejected: string[] = [];
    for (;;) {
      const token = accessToken ? await accessToken(rejected) : null;
      const { status, headers, body } = await send(exchange, token);
      const reply = { what: exchange.what, status, ...read(headers, body) };
      options.onReply?.(reply);
      if (status >= 200 && status < 300) return jsonOf(reply, setting);
      // The session behind `accessToken` ends this loop: it refreshes, logs in once, and then gives up.
      if (status === 401 && token !== null && !acceptsErrors) rejected.push(token);
      else if (isTrouble(status))
        throw notNow(reply, retryAfterMs(headers['retry-after'], clock.now()), setting);
      else throw new ProviderRefused(status, refusalWords(reply, setting, exchange), complaintIn(reply.json));
    }
  };
}

/** Throws UnexpectedReply where the body is not JSON. */
function jsonOf({ what, json, foreign }: Reply, setting: string): unknown {
  if (foreign === undefined) return json;
  throw new UnexpectedReply(
    what,
    'JSON',
    `${foreign.characters} characters of ${foreign.type} that are not`,
    `${LAST_VALUES_STAY} Something else answers there, such as a page about maintenance or the login of a network. If this lasts, check ${setting}.`,
  );
}

/** Whom the address of a setting belongs to: the public list of constituencies is no provider's. */
const ownerOf = (setting: string) => (setting === PROVIDER_SETTING ? 'provider' : 'service');

const isTrouble = (status: number): boolean => status === 408 || status === 429 || status >= 500;

const notNow = ({ what, status }: Reply, waitMs: number | null, setting: string): Failure =>
  unreachable(`The ${ownerOf(setting)} answered the ${what} with HTTP ${status}.`, {
    retry: status === 429 ? 'later' : 'soon',
    hint:
      setting === PROVIDER_SETTING
        ? 'The provider has trouble; the bridge tries again by itself.'
        : 'The service has trouble: ask again later.',
    retryAfterMs: waitMs,
  });

function refusalWords({ what, status }: Reply, setting: string, { notFound }: Exchange) {
  if (status === 404 && notFound) return notFound;
  if (status < 400)
    return {
      message: `The ${ownerOf(setting)} redirected the ${what} to another address (HTTP ${status}), where it was not sent.`,
      hint: `Check ${setting}: write the address there that answers by itself.`,
    };
  const access = setting === PROVIDER_SETTING ? ' and whether the account may still see its property' : '';
  return {
    message: `The ${ownerOf(setting)} refused the ${what} with HTTP ${status}.`,
    hint: `If this lasts, check ${setting}${access}.`,
  };
}

/** The failure of a request to which no answer came. */
function noAnswer(
  what: string,
  err: unknown,
  { clock, caFile, setting = PROVIDER_SETTING }: Pick<AskOptions, 'clock' | 'caFile' | 'setting'>,
): Failure {
  if (err instanceof Failure) return err;
  const isProvider = setting === PROVIDER_SETTING;
  const place = {
    who: isProvider ? 'the API' : 'the service',
    code: 'provider',
    exit: EXIT.provider,
    retry: 'later',
    address: setting,
    authorities: isProvider ? { key: 'provider.ca_file', isGiven: caFile !== undefined, alone: false } : null,
    ownCertificate: null,
  } as const;
  const trouble = tlsTrouble(err, place, clock.now());
  if (trouble !== null) return trouble;
  return unreachable(`No answer to the ${what}: ${networkFault(err)}.`, {
    retry: 'soon',
    hint: `If this lasts, check the network and ${setting}.`,
    cause: err,
  });
}

function read(headers: HttpResponse['headers'], body: Uint8Array): Pick<Reply, 'json' | 'foreign'> {
  try {
    return { json: parseJson(body) };
  } catch {
    const type = mediaTypeIn(headers['content-type']?.toString());
    return { foreign: { type, characters: UTF8.decode(body).length } };
  }
}

/** Elasticsearch and OpenSearch put it at `error.root_cause[0]`. */
function complaintIn(json: unknown): Complaint {
  const { type, reason } = Object(Object(json).error?.root_cause?.[0]);
  return { type: typeof type === 'string' ? type : '', reason: typeof reason === 'string' ? reason : '' };
}

function networkFault(err: unknown): string {
  const { name } = Object(err) as { name?: string };
  if (name === 'TimeoutError') return 'time ran out';
  if (name === 'AbortError') return 'interrupted';
  return faultOf(err);
}
