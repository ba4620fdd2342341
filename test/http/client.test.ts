// How requests leave the house for packages that want `fetch`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { openOutbound } from '../../src/http/client.ts';

test('a password is not sent on to where a redirect points', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const outbound = openOutbound(systemClock, { onRequest: () => undefined });
  const { status } = await outbound.fetch(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    {
      method: 'POST',
      body: new URLSearchParams({ password: 'not-for-others' }),
      redirect: 'manual',
    },
  );
  expect([status, asked]).toEqual([307, ['/token']]);
});
