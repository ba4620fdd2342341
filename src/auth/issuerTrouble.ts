// The meaning of no answer from the issuer, or of one that is not OpenID Connect.
import { EXIT, Failure, type FailureOptions, failure, faultOf, type Retry } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import { type TlsPlace, tlsTrouble } from '../foundation/tlsTrouble.ts';
import { ReplyTooLarge } from '../http/client.ts';
import { mediaTypeIn } from '../http/mediaType.ts';
import type { Grant } from './tokens.ts';

/** The issuer could not be reached, or its answer was not OpenID Connect: nothing is known about the credentials. */
export const issuerUnreachable = (message: string, options: Omit<FailureOptions, 'exit'>): Failure =>
  failure('issuer_unreachable', message, { exit: EXIT.provider, ...options });

/** The issuer has granted something, and the tokens cannot be used: they are those of another issuer or client. */
export class GrantUnusable extends Failure {
  // Private, so that no log writes it.
  readonly #grant: Grant;

  constructor({ message, hint, cause }: Failure, grant: Grant) {
    super('tokens_unusable', message, { exit: EXIT.provider, retry: 'later', hint, cause });
    this.#grant = grant;
  }

  /** It is of use only for what it tells of the session. */
  get grant(): Grant {
    return this.#grant;
  }
}

/** An answer came that OpenID Connect does not allow here, such as a token for another client. */
const MISFITS: readonly unknown[] = [
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_UNSUPPORTED_OPERATION',
];
const NO_ADDRESS: readonly unknown[] = [
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
  // An issuer behind a proxy may name http: where it is reached by https:.
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
  'OAUTH_REQUEST_PROTOCOL_FORBIDDEN',
  'ERR_INVALID_URL',
];

/** The failure tells what the request ended with, never its text. `caFile`: `provider.ca_file`. `hasGranted`: tokens had come. */
export function unreachable(
  err: unknown,
  now: number,
  caFile: string | undefined,
  hasGranted = false,
): Failure {
  // The innermost error, and the response that one of them carries.
  let root = err;
  let response: Response | undefined;
  for (let at = err; at instanceof Error; at = at.cause) {
    root = at;
    response ??= ['response' in at && at.response, at.cause].find((value) => value instanceof Response);
  }
  // Nothing was asked: a file of the configuration is at fault.
  if (root instanceof Failure && root.exitCode === EXIT.config) return root;
  const trouble = tlsTrouble(root, placeOfIssuer(caFile), now);
  if (trouble !== null) return trouble;
  const [retry, words, hint = 'If this lasts, check provider.issuer and the network'] = response
    ? answeredBy(response)
    : failedBy(root, hasGranted);
  return issuerUnreachable(`The issuer ${words}.`, {
    retry,
    hint: `${hint}; the password is not in doubt.`,
    cause: err,
    retryAfterMs: retryAfterMs(response?.headers.get('retry-after'), now),
  });
}

const placeOfIssuer = (caFile: string | undefined): TlsPlace => ({
  who: 'the issuer',
  code: 'issuer',
  exit: EXIT.provider,
  retry: 'later',
  address: 'provider.issuer',
  authorities: { key: 'provider.ca_file', isGiven: caFile !== undefined, alone: false },
  ownCertificate: null,
  assurance: ' Nothing was sent, and the password is not in doubt.',
});

/** The words say what the issuer did; the hint, what to do about it where that is anything special. */
type Fault = readonly [retry: Retry, words: string, hint?: string];

function answeredBy({ status, headers }: Response): Fault {
  const type = mediaTypeIn(headers.get('content-type'));
  const words = `answered with HTTP ${status} (${type}) where OpenID Connect JSON was expected`;
  if (status === 404)
    return [
      'later',
      'does not know this address (HTTP 404): the realm may be mistyped',
      'Compare the end of provider.issuer with the provider (…/realms/<realm>, capitals count)',
    ];
  if (status >= 300 && status < 400)
    return [
      'later',
      `redirects to another address (HTTP ${status}), where nothing was sent`,
      'Write the address of today into provider.issuer: a browser that opens the one of now shows it',
    ];
  if (status !== 429 && status < 500) return ['later', words];
  return ['later', words, 'It mostly passes by itself. If it lasts, check provider.issuer'];
}

const misfit = (what: unknown): Fault => [
  'later',
  `answered, but its token does not fit (${what})`,
  'Check provider.issuer and provider.client_id; if they are right, report it to the provider',
];

function failedBy(root: unknown, hasGranted: boolean): Fault {
  if (root instanceof ReplyTooLarge)
    return ['later', `gave a reply with ${root.excess}, which was refused`, 'Check provider.issuer'];
  const { name = 'unknown error', code, cause } = (root ?? {}) as Partial<Error> & { code?: string };
  const { claim, attribute } = Object(cause) as { claim?: unknown; attribute?: unknown };
  if (MISFITS.includes(code))
    return misfit(claim === undefined ? code : `the claim "${claim}" is another one`);
  // The error of the decoder is another one in each version of Node.
  if (hasGranted) return misfit('the id_token cannot be read');
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
  return ['soon', `could not be reached (${faultOf(root)})`];
}
