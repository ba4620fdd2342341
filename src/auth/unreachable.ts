// No answer of the issuer, or one that is not OpenID Connect: what happened, and what to look at.
import { EXIT, Failure } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';

/** The issuer could not be reached, or its answer was not OpenID Connect: nothing is known about the credentials. */
export class IssuerUnreachable extends Failure {
  readonly code = 'issuer_unreachable';
  readonly exitCode = EXIT.provider;
}

const OTHER_ISSUER = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
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
  const claim: unknown = Object(cause).claim;
  const retryAfter = retryAfterMs(response?.headers.get('retry-after'), now);
  return new IssuerUnreachable(`The issuer ${whatHappened(name, code, claim, response)}.`, {
    retry: response === null && !MISFITS.has(code) ? 'soon' : 'later',
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

function whatHappened(
  name: string,
  code: string | undefined,
  claim: unknown,
  response: Response | null,
): string {
  if (response?.status === 404) return 'does not know this address (HTTP 404): the realm may be mistyped';
  if (response !== null) {
    const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
    return `answered with HTTP ${response.status} (${type}) where OpenID Connect JSON was expected`;
  }
  if (name === 'TimeoutError' || name === 'AbortError') return 'did not answer in time';
  if (code === OTHER_ISSUER) return 'calls itself by another address than provider.issuer';
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
  if (response?.status === 404)
    return 'Compare the end of provider.issuer with the provider (…/realms/<realm>, capitals count)';
  if (response !== null && (response.status === 429 || response.status >= 500))
    return 'It mostly passes by itself. If it lasts, check provider.issuer';
  return 'If this lasts, check provider.issuer and the network';
}
