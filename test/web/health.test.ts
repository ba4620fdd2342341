// HTTP for machines that watch: three paths, honest statuses, nothing cached, and a port that may be taken.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { type HealthAnswers, serveHealth } from '../../src/web/health.ts';
import { openStack } from '../support/stack.ts';

async function open(answers: Partial<HealthAnswers> = {}, listen = '127.0.0.1:0') {
  const monitor = await serveHealth(
    listen,
    {
      healthy: () => true,
      ready: () => true,
      metrics: () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }),
      page: null,
      metricsFor: 'everyone',
      metricsRefused: () => undefined,
      ...answers,
    },
    { clock: systemClock },
  );
  openStack().use(monitor);
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${monitor.port}${path}`, init);
  return { monitor, ask };
}

test('healthy and ready say so, and say when they are not', async () => {
  let good = true;
  const { ask } = await open({ healthy: () => good, ready: () => good });
  for (const [path, word] of [
    ['/healthz', 'healthy'],
    ['/readyz', 'ready'],
  ] as const) {
    good = true;
    const yes = await ask(path);
    expect([yes.status, await yes.text(), yes.headers.get('cache-control')]).toEqual([
      200,
      `${word}\n`,
      'no-store',
    ]);
    good = false;
    const no = await ask(path);
    expect([no.status, await no.text()]).toEqual([503, `not ${word}\n`]);
  }
});

test('a query does not matter, another path does', async () => {
  const { ask } = await open();
  expect((await ask('/healthz?verbose=1')).status).toBe(200);
  for (const path of ['/', '/healthz/', '/config', '/..%2fconfig.yaml'])
    expect((await ask(path)).status).toBe(404);
});

test('HEAD has no body, and nothing can be posted', async () => {
  const { ask } = await open();
  const head = await ask('/healthz', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  for (const method of ['POST', 'PUT', 'DELETE'])
    expect((await ask('/healthz', { method })).status).toBe(405);
});

test('metrics come with their own content type; if they fail, nothing leaks', async () => {
  const { ask } = await open();
  const good = await ask('/metrics');
  expect([good.headers.get('content-type'), await good.text()]).toEqual([
    'text/plain; version=0.0.4',
    'up 1\n',
  ]);
  const failing = await open({
    metrics: () => {
      throw new Error('row 7');
    },
  });
  const bad = await failing.ask('/metrics');
  expect([bad.status, await bad.text()]).toEqual([500, 'metrics failed\n']);
});

test('a taken port is told as such', async () => {
  const { monitor } = await open();
  const err = await open({}, `127.0.0.1:${monitor.port}`).catch((thrown: unknown) => thrown);
  expect(err).toMatchObject({ code: 'listen_failed' });
  expect(err).toMatchObject({ code: 'listen_failed', message: expect.stringContaining('EADDRINUSE') });
});

test('IPv6 in brackets', async () => {
  const { monitor } = await open({}, '[::1]:0');
  expect((await fetch(`http://[::1]:${monitor.port}/healthz`)).status).toBe(200);
});

test('stop does not wait for a visitor who stays', async () => {
  const { monitor } = await open();
  const visitor = connect(monitor.port ?? 0, '127.0.0.1').on('error', () => undefined);
  await once(visitor, 'connect');
  visitor.write('GET /healthz HTTP/1.1\r\n');
  await fetch(`http://127.0.0.1:${monitor.port}/healthz`);
  const began = performance.now();
  await monitor.stop();
  expect(performance.now() - began).toBeLessThan(4_000);
  await expect(fetch(`http://127.0.0.1:${monitor.port}/healthz`)).rejects.toThrow();
});
