// The built program while one visitor asks thousands of times and reads nothing: others are answered, and memory stays.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker } from './program.ts';

test.each(['/page.js', '/events'])('%s, asked for 20,000 times on one connection', async (path) => {
  const { configure, start, httpPort, stack } = await openHomeWithBroker();
  const program = start(await configure());
  const address = `http://127.0.0.1:${httpPort}`;
  const statusOf = (of: string) =>
    fetch(address + of).then(
      ({ status }) => status,
      () => null,
    );
  await waitFor('the page', async () => (await statusOf('/page.js')) === 200, {
    diagnose: () => program.errors,
  });
  const megabytes = async () =>
    Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${program.pid}/status`, 'utf8'))?.[1]) / 1_000;
  const before = await megabytes();
  const greedy = connect(httpPort, '127.0.0.1').on('error', () => undefined);
  stack.defer(() => void greedy.destroy());
  await once(greedy, 'connect');
  greedy.pause();
  greedy.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20_000));
  for (let n = 0; n < 20; n += 1)
    expect([await statusOf('/healthz'), await statusOf('/page.js')]).toEqual([200, 200]);
  expect((await megabytes()) - before).toBeLessThan(100);
});
