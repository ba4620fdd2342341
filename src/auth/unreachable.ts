// No answer of the issuer, or one that is not OpenID Connect: what happened, and what to look at.
import { EXIT, Failure } from '../foundation/failure.ts';
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

const OTHER_ISSUER = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
const NO_ADDRESS: ReadonlySet<unknown> = new Set([
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
]);
/** An answer came that OpenID Connect does not allow here, such as a token for another client. */
const MISFITS: ReadonlySet<unknown> = new Set([
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_RESPONSE',
]);

/** From whatever a request ended with; tells what came, never its text. */
export function unreachable(err: unknown, now: number): IssuerUnreachable {
  const { root, response } = causesOf(err);
  const { name = 'unknown error', code, cause } = (root ?? {}) as Partial<Error> & { code?: string };
  const { claim, attribute } = Object(cause) as { claim?: unknown; attribute?: unknown };
  const retryAfter = retryAfterMs(response?.headers.get('retry-after'), now);
  return new IssuerUnreachable(`The issuer ${whatHappened({ name, code, claim, attribute, response })}.`, {
    retry: response === null && !MISFITS.has(code) && !NO_ADDRESS.has(code) ? 'soon' : 'later',
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

function whatHappened({
  name,
  code,
  claim,
  attribute,
  response,
}: {
  name: string;
  code: string | undefined;
  claim: unknown;
  attribute: unknown;
  response: Response | null;
}): string {
  if (response?.status === 404) return 'does not know this address (HTTP 404): the realm may be mistyped';
  if (response !== null) {
    const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
    return `answered with HTTP ${response.status} (${type}) where OpenID Connect JSON was expected`;
  }
  if (name === 'TimeoutError' || name === 'AbortError') return 'did not answer in time';
  if (code === OTHER_ISSUER) return 'calls itself by another address than provider.issuer';
  if (NO_ADDRESS.has(code)) return `names no usable ${attribute ?? 'address'} in its metadata`;
  if (name === 'SyntaxError') return 'answered with something else than JSON';
  if (MISFITS.has(code))
    return `answered, but its token does not fit (${claim === undefined ? code : `the claim "${claim}" is another one`})`;
  return `could not be reached (${code ?? name})`;
}

function hintFor(code: string | undefined, response: Response | null): string {
  if (code === OTHER_ISSUER)
    return 'Write provider.issuer exactly as the issuer does: look for a slash at the end, http or https, capitals';
  if (MISFITS.has(code) && response === null)
    return 'Check provider.issuer and provider.client_id; if they are right, report it to the provider';
  if (NO_ADDRESS.has(code))
    return 'Check provider.issuer: what answers there is no issuer that gives out tokens';
  if (response?.status === 404)
    return 'Compare the end of provider.issuer with the provider (…/realms/<realm>, capitals count)';
  if (response !== null && (response.status === 429 || response.status >= 500))
    return 'It mostly passes by itself. If it lasts, check provider.issuer';
  return 'If this lasts, check provider.issuer and the network';
}
