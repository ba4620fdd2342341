// Authorities of a file, on the wire: read again for each request, and told when they are none by now.
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { trustIn } from '../../src/http/trust.ts';
import { openAuthority } from '../support/authority.ts';
import { listening } from '../support/listening.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';

const GET = { method: 'GET', headers: {}, body: null } as const;
const [old, renewed] = [openAuthority({ name: 'Ours' }), openAuthority({ name: 'Ours' })];

let stack: Stack;
let plain: number;
let file: string;
beforeEach(async () => {
  stack = openStack();
  file = join(await stack.folder(), 'ca.pem');
  const server = createServer(({ url }, response) => {
    if (url === '/moved') response.writeHead(302, { location: '/here' }).end();
    else response.end('here');
  });
  plain = await listening(server);
  stack.defer(() => void server.close().closeAllConnections());
});

const client = () => createHttpClient(systemClock, undefined, undefined, trustIn('provider.ca_file', file));
const told = (asking: Promise<unknown>) =>
  asking.then(
    () => 'answered',
    ({ code }) => code,
  );

test('trusts what the file holds by now when an authority was made anew', async () => {
  const { send } = client();
  const [before, after] = await Promise.all(
    [old, renewed].map(
      async (one) => `https://localhost:${await startTlsEnd(stack, one.server(), plain)}/moved`,
    ),
  );
  const ask = (url = '') => told(send(new URL(url), GET));
  await writeFile(file, old.cert);
  expect([await ask(before), await ask(after)]).toEqual(['answered', 'CERT_SIGNATURE_FAILURE']);
  await writeFile(file, renewed.cert);
  // Another connection: what is open is not looked at again.
  expect([await ask(after), await ask(before)]).toEqual(['answered', 'CERT_SIGNATURE_FAILURE']);
});

test('asks nothing when the file holds no authority by now, but at a plain address', async () => {
  const { send } = client();
  const secure = new URL(`https://localhost:${await startTlsEnd(stack, old.server(), plain)}/`);
  await expect(send(secure, GET)).rejects.toMatchObject({
    code: 'ca_file_unusable',
    message: 'The certificates in provider.ca_file cannot be used: the file cannot be read (ENOENT).',
  });
  await writeFile(file, '');
  await expect(send(secure, GET)).rejects.toMatchObject({
    code: 'ca_file_unusable',
    exitCode: 3,
    message: 'The certificates in provider.ca_file cannot be used: found an empty file.',
    hint: expect.stringContaining('in PEM form'),
  });
  expect(await told(send(new URL(`http://127.0.0.1:${plain}/`), GET))).toBe('answered');
});
