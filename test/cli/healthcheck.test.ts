// heat2mqtt healthcheck where HTTP is off: asked on a socket in the state directory. Over HTTP: test/web/health.test.ts.
import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { ClaimedDirectory } from '../../src/store/locks.ts';
import { healthWords, listenIn, processSocket } from '../../src/store/socket.ts';
import { openServer } from '../../src/web/server.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { ISSUER, typed } from '../support/typed.ts';

const PROVIDER = { issuer: ISSUER, api_url: 'https://api.example.org/api/v1', client_id: 'self-care' };
const FLEET = {
  database_url: 'postgres://nobody@127.0.0.1:9/heat',
  key: Buffer.alloc(32).toString('base64'),
};

async function place(more: object = {}) {
  const folder = await openStack().folder();
  const stateDir = join(folder, 'state');
  const config = join(folder, 'config.yaml');
  const constituencies = { chamber: 'dail' };
  await writeFile(config, JSON.stringify({ constituencies, http: false, state_dir: stateDir, ...more }));
  return { stateDir, healthcheck: () => typed(['healthcheck', '--config', config]) };
}

test('asks a daemon on its socket when it has no HTTP', async () => {
  const { stateDir, healthcheck } = await place();
  const none = { exitCode: 1, out: '', err: `No daemon runs with ${stateDir}.\n` };
  expect(await healthcheck()).toEqual(none);
  const claimed = await ClaimedDirectory.claim(stateDir, systemClock, logLines().log);
  // It starts, or a command works there.
  expect(await healthcheck()).toMatchObject({ exitCode: 1, err: expect.stringContaining('does not say') });
  let isHealthy = true;
  claimed.answer(() => healthWords(isHealthy));
  expect(await healthcheck()).toEqual({ exitCode: 0, out: 'healthy\n', err: '' });
  isHealthy = false;
  expect(await healthcheck()).toEqual({ exitCode: 1, out: '', err: 'not healthy\n' });
  await claimed.giveUp();
  expect(await healthcheck()).toEqual(none);
});

test.each([200, 404])(
  'asks a daemon on its socket when another program has its port and answers %i',
  async (status) => {
    const answer: RequestListener = (_, response) => response.writeHead(status).end('welcome');
    const squatter = openStack().use(await openServer('127.0.0.1:0', answer, { clock: systemClock }));
    const listen = `127.0.0.1:${squatter.port}`;
    const { stateDir, healthcheck } = await place({ http: { listen } });
    expect(await healthcheck()).toEqual({ exitCode: 1, out: '', err: `No daemon answers at ${listen}.\n` });
    const claimed = await ClaimedDirectory.claim(stateDir, systemClock, logLines().log);
    claimed.answer(() => healthWords(true));
    expect(await healthcheck()).toEqual({ exitCode: 0, out: 'healthy\n', err: '' });
    await claimed.giveUp();
  },
);

test('asks all living processes of a fleet on one directory', async () => {
  const { stateDir, healthcheck } = await place({ fleet: FLEET, provider: PROVIDER });
  expect(await healthcheck()).toMatchObject({ exitCode: 1, err: `No daemon runs with ${stateDir}.\n` });
  const listen = (number: number, isHealthy: boolean) =>
    listenIn(stateDir, processSocket(number), () => healthWords(isHealthy));
  const end = await listen(1, true);
  expect(await healthcheck()).toEqual({ exitCode: 0, out: 'healthy\n', err: '' });
  const endSecond = await listen(2, false);
  expect(await healthcheck()).toMatchObject({ exitCode: 1, err: 'not healthy\n' });
  await endSecond();
  expect(await healthcheck()).toMatchObject({ exitCode: 0 });
  await end();
});

test('says so when there can be no socket, and calls nobody unhealthy for ever', async () => {
  const { healthcheck } = await place({ state_dir: '/proc/heat' });
  expect(await healthcheck()).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(
      /^The daemon cannot be asked: .* no socket in \/proc\/heat\. Set http\.listen\.\n$/,
    ),
  });
});
