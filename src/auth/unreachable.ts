// No answer of the issuer, or one that is not OpenID Connect: what happened, and what to look at.
import { EXIT, Failure, type Retry } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { Grant } from './tokens.ts';

/** The issuer could not be reached, or its answer was not OpenID Connect: nothing is known about the credentials. */
export class IssuerUnreachable extends Failure {
  readonly code: string = 'issuer_unreachable';
  readonly exitCode = EXIT.provider;
}

/** The issuer has granted something, and the tokens cannot be used: they are those of another issuer or client. */
export class GrantUnusable extends IssuerUnreachable {
  override readonly code = 'tokens_unusable';
  // Private, so that no log writes it.
  readonly #grant: Grant;

  constructor({ message, hint = '', cause }: IssuerUnreachable, grant: Grant) {
    super(message, { retry: 'later', hint, cause });
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
const IF_IT_LASTS = 'If this lasts, check provider.issuer and the network';

/** From whatever a request ended with; tells what came, never its text. */
export function unreachable(err: unknown, now: number): IssuerUnreachable {
  const { root, response } = causesOf(err);
  const { what, hint = IF_IT_LASTS, retry } = response ? answeredBy(response) : failedBy(root);
  const retryAfter = retryAfterMs(response?.headers.get('retry-after'), now);
  return new IssuerUnreachable(`The issuer ${what}.`, {
    retry,
    hint: `${hint}; the password is not in doubt.`,
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

interface Told {
  readonly what: string;
  readonly hint?: string;
  readonly retry: Retry;
}

function answeredBy({ status, headers }: Response): Told {
  const retry = 'later';
  if (status === 404)
    return {
      what: 'does not know this address (HTTP 404): the realm may be mistyped',
      hint: 'Compare the end of provider.issuer with the provider (…/realms/<realm>, capitals count)',
      retry,
    };
  const type = headers.get('content-type')?.split(';')[0] ?? 'no content type';
  const what = `answered with HTTP ${status} (${type}) where OpenID Connect JSON was expected`;
  if (status !== 429 && status < 500) return { what, retry };
  return { what, hint: 'It mostly passes by itself. If it lasts, check provider.issuer', retry };
}

function failedBy(root: unknown): Told {
  const { name = 'unknown error', code, cause } = (root ?? {}) as Partial<Error> & { code?: string };
  const { claim, attribute } = Object(cause) as { claim?: unknown; attribute?: unknown };
  if (name === 'TimeoutError' || name === 'AbortError')
    return { what: 'did not answer in time', retry: 'soon' };
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    return {
      what: 'calls itself by another address than provider.issuer',
      hint: 'Write provider.issuer exactly as the issuer does: look for a slash at the end, http or https, capitals',
      retry: 'soon',
    };
  if (NO_ADDRESS.includes(code))
    return {
      what: `names no usable ${attribute ?? 'address'} in its metadata`,
      hint: 'Check provider.issuer: what answers there is no issuer that gives out tokens',
      retry: 'later',
    };
  if (name === 'SyntaxError') return { what: 'answered with something else than JSON', retry: 'soon' };
  if (MISFITS.includes(code))
    return {
      what: `answered, but its token does not fit (${claim === undefined ? code : `the claim "${claim}" is another one`})`,
      hint: 'Check provider.issuer and provider.client_id; if they are right, report it to the provider',
      retry: 'later',
    };
  return { what: `could not be reached (${code ?? name})`, retry: 'soon' };
}
