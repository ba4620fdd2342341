// A plain HTTP visitor of the simulated provider: logs in, and looks at JSON by path.
import type { Simulator } from '../../src/simulator/provider.ts';

/** What the issuer grants. */
export async function login({ urls }: Simulator, changes: Record<string, string> = {}): Promise<unknown> {
  const usual = {
    grant_type: 'password',
    client_id: 'self-care',
    username: 'me@example.org',
    password: 'demo',
    scope: 'openid service-energy',
  };
  const body = new URLSearchParams({ ...usual, ...changes });
  const response = await fetch(`${urls.issuer}/protocol/openid-connect/token`, { method: 'POST', body });
  return response.json();
}

export function claimsOf(granted: unknown): Record<string, unknown> {
  const [, payload = ''] = String(look(granted, 'access_token')).split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
}

/** `look(body, 'objects.0.id')` */
export function look(body: unknown, path: string): unknown {
  let value = body;
  for (const step of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[step];
  return value;
}
