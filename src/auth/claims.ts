// The customer code and site codes that an access token speaks for, read from its claims.
import { EXIT, failure } from '../foundation/failure.ts';
import { parseJson } from '../foundation/json.ts';

/** Throws claim_missing. The token comes straight from the issuer over TLS and is only read, so its signature is the API's business. */
export function readIdentity(
  accessToken: string,
  {
    claims,
    scopes,
  }: {
    readonly claims: { readonly customer_code: string; readonly site_code: string };
    readonly scopes: readonly string[];
  },
) {
  const payload = claimsIn(accessToken);
  if (payload === null)
    throw claimMissing(
      'The access token is not a JWT, so it does not tell whose it is.',
      'Check provider.issuer and provider.client_id: this issuer gives out another kind of token.',
    );
  const customerCode = payload[claims.customer_code];
  if (!isCode(customerCode))
    throw claimMissing(
      `The access token has no claim "${claims.customer_code}" with text; its claims are: ${namesOf(payload)}. It was asked for with the scopes: ${scopes.join(', ')}.`,
      'Name the claim that holds the customer code in provider.claims.customer_code, or add the scope that brings it to provider.scopes.',
    );
  const siteCodes = [payload[claims.site_code]].flat().filter(isCode);
  return { customerCode: String(customerCode), siteCodes: siteCodes.map(String) };
}

const isCode = (claim: unknown): boolean =>
  typeof claim === 'number' || (typeof claim === 'string' && claim !== '');

/** A claim's name usually has this shape: any other may be a text about a person. */
const CLAIM_NAME = /^[A-Za-z](?!.*\d{3})[\w.:/-]{0,80}$/;
const MOST_NAMES = 40;

function namesOf(payload: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(payload);
  const shown = names.filter((name) => CLAIM_NAME.test(name)).slice(0, MOST_NAMES);
  const left = names.length - shown.length;
  return [...shown, ...(left > 0 ? [`${left} more`] : [])].join(', ') || 'none';
}

const claimMissing = (message: string, hint: string) =>
  failure('claim_missing', message, {
    exit: EXIT.provider,
    retry: 'later',
    hint: `${hint} The sign-in itself is fine.`,
  });

/** The session at the issuer that a token belongs to; `null`: it does not tell. */
export function sessionIdIn(token: string | null): string | null {
  const { sid, session_state } = claimsIn(token ?? '') ?? {};
  const id = sid ?? session_state;
  return typeof id === 'string' ? id : null;
}

/** `null`: not a JWT. */
function claimsIn(token: string): Record<string, unknown> | null {
  try {
    const payload = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url'));
    return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
