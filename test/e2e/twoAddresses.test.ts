// The built program where the first of two addresses is slow to answer, and the second leads nowhere.
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker, run } from './program.ts';

/** Passes everything on to a port, and lets only few connections wait. */
const passage = (port: number) => `
  const { connect, createServer } = require('node:net');
  createServer((near) => {
    const far = connect(${port}, '127.0.0.1');
    near.on('error', () => far.destroy()).pipe(far).on('error', () => near.destroy()).pipe(near);
  }).listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })`;

test('reaches the broker when its first address takes a second, and the other one leads nowhere', async () => {
  const home = await openHomeWithBroker();
  const near = home.stack.use(
    startChild(process.execPath, ['-e', passage(Number(new URL(home.broker.url).port))]),
  );
  const port = Number(await near.says(/^(\d+)\n/));
  // As long as it stands still, the system lets no more than these connections in.
  near.signal('SIGSTOP');
  const waiting = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  home.stack.defer(() => waiting.forEach((socket) => void socket.destroy()));
  await sleep(300);
  const config = await home.configure({ mqtt: { url: `mqtt://two.example:${port}` } });
  const check = home.stack.use(
    run(['check', '--live', '--config', config], {
      env: { NODE_OPTIONS: `--import ${join(ROOT, 'test/e2e/twoAddresses.mjs')}` },
    }),
  );
  await waitFor('the question for its addresses', () => check.errors.includes('two addresses'));
  await sleep(500);
  near.signal('SIGCONT');
  await check.exited;
  expect(check.output).toContain('connected with MQTT 5');
});
