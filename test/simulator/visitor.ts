// A plain HTTP visitor of the simulated provider: logs in, refreshes, asks, and looks at JSON by path.
import type { Simulator } from '../../src/simulator/provider.ts';

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

export async function visit(url: string, init?: RequestInit): Promise<Seen> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: jsonOf(text) };
}

export function login(provider: Simulator, changes: Record<string, string> = {}): Promise<Seen> {
  const usual = {
    client_id: 'self-care',
    username: 'me@example.org',
    password: 'demo',
    scope: 'openid service-energy',
  };
  return tokenRequest(provider, { grant_type: 'password', ...usual, ...changes });
}

export function refresh(provider: Simulator, from: Seen): Promise<Seen> {
  const refresh_token = String(look(from.body, 'refresh_token'));
  return tokenRequest(provider, { grant_type: 'refresh_token', client_id: 'self-care', refresh_token });
}

export function ask({ urls }: Simulator, from: Seen, path: string, body?: unknown): Promise<Seen> {
  const headers = { authorization: `Bearer ${look(from.body, 'access_token')}` };
  if (body === undefined) return visit(`${urls.api}${path}`, { headers });
  return visit(`${urls.api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

export function claimsOf(from: Seen, token = 'access_token'): Record<string, unknown> {
  const [, payload = ''] = String(look(from.body, token)).split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
}

/** `look(body, 'objects.0.id')` */
export function look(body: unknown, path: string): unknown {
  let value = body;
  for (const step of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[step];
  return value;
}

export function tokenRequest(provider: Simulator, form: Record<string, string>): Promise<Seen> {
  return postForm(provider, '/token', form);
}

/** To an endpoint below `protocol/openid-connect`. */
export function postForm({ urls }: Simulator, path: string, form: Record<string, string>): Promise<Seen> {
  const body = new URLSearchParams(form);
  return visit(`${urls.issuer}/protocol/openid-connect${path}`, { method: 'POST', body });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a refusal says: status, error and description. */
export const said = ({ status, body }: Seen) => [
  status,
  look(body, 'error'),
  look(body, 'error_description'),
];
