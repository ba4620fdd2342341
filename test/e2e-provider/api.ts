// The provider's API as thin as can be: checks the token, tells whose home it is, and passes usage questions to the engine.

import { createPublicKey, createVerify, type JsonWebKey } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { inject } from 'vitest';
import { listening } from '../support/listening.ts';
import { INDEX } from './engine.ts';
import type { Home } from './readings.ts';
import { MY_CODE, SCOPE } from './realm.ts';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const CUSTOMER = 7_001;
const GROUP = 7_002;

export async function startApi(issuer: string, home: Home, index = INDEX) {
  const engine = inject('engine');
  /** Method, path and status of each exchange. */
  const seen: string[] = [];
  let keys: Promise<Record<string, unknown>[]> | null = null;

  async function answer(request: IncomingMessage): Promise<Reply> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const claims = await verified(request.headers.authorization?.replace(/^Bearer /, '') ?? '');
    if (claims === null) return { status: 401, body: { code: 401 } };
    const isAllowed = String(claims.scope).split(' ').includes(SCOPE) && claims.customer_code === MY_CODE;
    if (!isAllowed) return { status: 403, body: { code: 403 } };
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api.invalid');
    switch (`${request.method} ${pathname}`) {
      case `GET /api/customers/${MY_CODE}`:
        return { status: 200, body: { id: CUSTOMER, code: MY_CODE } };
      case `GET /api/customers/${CUSTOMER}/groups`:
        return listed(searchParams, { id: GROUP, type: 'payment' });
      case 'GET /api/customers':
        return listed(searchParams, propertyCustomer(home));
      case 'POST /api/reports/usage':
        return search(Buffer.concat(chunks));
      default:
        return { status: 404, body: { code: 404 } };
    }
  }

  /** The claims of an access token that the realm has signed and that is still good. */
  async function verified(token: string): Promise<Record<string, unknown> | null> {
    const [header = '', payload = '', signature = ''] = token.split('.');
    if (signature === '') return null;
    const { kid } = decoded(header);
    let jwk = (await realmKeys()).find((one) => one.kid === kid);
    if (jwk === undefined) {
      // The realm may have other keys by now.
      keys = null;
      jwk = (await realmKeys()).find((one) => one.kid === kid);
    }
    if (jwk === undefined) return null;
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    const check = createVerify('RSA-SHA256').update(`${header}.${payload}`);
    if (!check.verify(key, signature, 'base64url')) return null;
    const claims = decoded(payload);
    return claims.iss === issuer && Number(claims.exp) > Date.now() / 1000 ? claims : null;
  }

  function realmKeys(): Promise<Record<string, unknown>[]> {
    keys ??= fetch(`${issuer}/protocol/openid-connect/certs`)
      .then((reply) => reply.json())
      .then((json) => Object(json).keys ?? []);
    return keys;
  }

  async function search(body: Buffer): Promise<Reply> {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${engine}/${index}/_search`, { method: 'POST', headers, body });
    return { status: reply.status, body: await reply.json() };
  }

  const server = createServer((request, response) => {
    void answer(request)
      .catch((err: unknown) => ({ status: 500, body: { message: String(err) } }))
      .then(({ status, body }) => {
        seen.push(`${request.method} ${request.url} ${status}`);
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
  });
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}/api`,
    seen: seen as readonly string[],
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function listed(query: URLSearchParams, row: object): Reply {
  const objects = Number(query.get('page') ?? 1) > 1 ? [] : [row];
  return { status: 200, body: { objects, total_num: 1 } };
}

function propertyCustomer({ property, meter }: Home) {
  const subscription = { id: 7_003, status: 'active', balance_group: { id: 7_004 } };
  const service_type = { code: 'HEAT_METER_READ_SERVICE' };
  const services = [{ id: 7_005, identifier: meter, service_type, subscription: { id: 7_003 } }];
  return { id: property, subscriptions: [subscription], services };
}

const decoded = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
