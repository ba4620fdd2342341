// What may stand between the program and a Keycloak: an address of its own, which may change Host, or lead elsewhere by now.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const TOKEN = '/protocol/openid-connect/token';
const OLD = '/before';

export type Front = Awaited<ReturnType<typeof startFront>>;

/** Realms are below its own address, as Keycloak itself then says. */
export async function startFront(keycloak: string) {
  const behind = new URL(keycloak);
  const switches = {
    /** What Keycloak takes for its address when a token is asked for; `null`: the right one. */
    tokenHost: null as string | null,
    /** The token endpoint is at an older address, and after the move at the usual one. */
    tokenIsAt: 'usual' as 'usual' | 'old' | 'moved',
  };
  /** Path and status of each request for a token. */
  const seen: string[] = [];

  function forward(incoming: IncomingMessage, response: ServerResponse): void {
    const path = incoming.url ?? '/';
    const isOld = path.startsWith(OLD);
    // Whoever arranges the test asks for tokens of the master realm.
    const isToken = path.endsWith(TOKEN) && !path.startsWith('/realms/master/');
    const hasMoved = isOld && switches.tokenIsAt === 'moved';
    const headers = { ...incoming.headers };
    if (isToken && switches.tokenHost !== null) headers.host = switches.tokenHost;
    const outgoing = request(
      {
        host: behind.hostname,
        port: behind.port,
        method: incoming.method,
        // Of a realm that is not there Keycloak says so in JSON.
        path: hasMoved ? `/realms/no-such-realm${TOKEN}` : isOld ? path.slice(OLD.length) : path,
        headers,
      },
      (reply) => {
        if (isToken) seen.push(`${path} ${reply.statusCode}`);
        if (!path.endsWith('/openid-configuration') || switches.tokenIsAt !== 'old') {
          response.writeHead(reply.statusCode ?? 502, reply.headers);
          reply.pipe(response);
          return;
        }
        let text = '';
        reply.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        reply.on('end', () => {
          const metadata = JSON.parse(text);
          metadata.token_endpoint = metadata.token_endpoint.replace('/realms/', `${OLD}/realms/`);
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
        });
      },
    );
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  }

  const server = createServer(forward);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    switches,
    seen: seen as readonly string[],
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
