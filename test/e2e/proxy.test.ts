// The built program in a network whose only way out is a proxy: Node's own support, where this Node has it, and a sentence where not.
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { globalAgent } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAuthority } from '../support/authority.ts';
import { listening } from '../support/listening.ts';
import type { Stack } from '../support/stack.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { openHome, outcome } from './program.ts';

const CAN_PROXY = 'proxyEnv' in globalAgent.options;
// A name that only the proxy knows.
const HOST = 'api.provider.invalid';

/** Tunnels whatever is asked for to one port; `status`: refuses instead, with words. */
async function startProxy(stack: Stack, toPort: number, status: string | null = null) {
  const asked: string[] = [];
  const server = createServer();
  server.on('connect', (request, near: Socket) => {
    asked.push(String(request.url));
    if (status !== null) return void near.end(`HTTP/1.1 ${status}\r\n\r\n`);
    const far = connect(toPort, '127.0.0.1', () => near.write('HTTP/1.1 200 OK\r\n\r\n'));
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  const port = await listening(server);
  stack.defer(() => void server.close().closeAllConnections());
  return { asked, url: `http://me:secret-word@127.0.0.1:${port}` };
}

async function livingBehind(status: string | null = null) {
  const home = await openHome();
  const authority = openAuthority();
  const ca_file = join(home.folder, 'authority.pem');
  await writeFile(ca_file, authority.cert);
  const { issuer, api } = home.simulator.urls;
  const end = await startTlsEnd(home.stack, authority.server({ hosts: [HOST] }), Number(new URL(api).port));
  const proxy = await startProxy(home.stack, end, status);
  const config = await home.configure({
    provider: { issuer, api_url: `https://${HOST}${new URL(api).pathname}`, client_id: 'self-care', ca_file },
    mqtt: { embedded: true },
  });
  const checked = (env: Record<string, string>) =>
    outcome(['check', '--live', '--config', config], { env: { HTTPS_PROXY: proxy.url, ...env } });
  return { proxy, checked };
}

test('without NODE_USE_ENV_PROXY the proxy is not asked, and check says what to do', async () => {
  const { proxy, checked } = await livingBehind();
  const { output } = await checked({});
  expect(output).toContain('proxy: HTTPS_PROXY: set and not used');
  expect(output).toContain('NODE_USE_ENV_PROXY=1');
  expect(output).toContain('ENOTFOUND');
  expect(proxy.asked).toEqual([]);
  expect(output).not.toContain('secret-word');
});

test.runIf(CAN_PROXY)(
  'with it the API is reached through the proxy, with an authority of its own',
  async () => {
    const { proxy, checked } = await livingBehind();
    const { output, code } = await checked({ NODE_USE_ENV_PROXY: '1' });
    expect(output).toContain('proxy: HTTPS_PROXY: used by Node');
    expect(output).toContain('heat meter(s)');
    expect(code).toBe(0);
    expect(new Set(proxy.asked)).toEqual(new Set([`${HOST}:443`]));
  },
);

test.runIf(CAN_PROXY)('a proxy that refuses is told by a code, without its words', async () => {
  const { checked } = await livingBehind('407 Orla Canarywood');
  const { output, errors } = await checked({ NODE_USE_ENV_PROXY: '1' });
  expect(output).toContain('ERR_PROXY_TUNNEL');
  expect(output + errors).not.toMatch(/canary|secret-word/i);
});
