// A plain HTTP visitor of the simulated provider: logs in, and looks at JSON by path.
import type { Simulator } from '../../src/simulator/provider.ts';

/** What the token endpoint grants to a user of the usual client. */
export async function login({ urls }: Simulator, username: string, password: string): Promise<unknown> {
  const client = { grant_type: 'password', client_id: 'self-care', scope: 'openid service-energy' };
  const body = new URLSearchParams({ ...client, username, password });
  const response = await fetch(`${urls.issuer}/protocol/openid-connect/token`, { method: 'POST', body });
  return response.json();
}

/** `look(body, 'objects.0.id')` */
export function look(body: unknown, path: string): unknown {
  let value = body;
  for (const step of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[step];
  return value;
}
