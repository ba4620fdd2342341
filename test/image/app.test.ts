// The Home Assistant app as a Supervisor starts it: root's /data with options, a token, and a broker to be asked for.

import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ME, openHomeWithBroker } from '../e2e/program.ts';
import { STATE } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { imageConfig, startContainer } from './container.ts';

const TOKEN = 'token-of-the-stub-supervisor';
// As Docker gives them to a container that asks for nothing.
const USUAL = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID', 'KILL', 'NET_BIND_SERVICE'].map(
  (name) => `CAP_${name}`,
);

/** On port 80 of a loopback address that nobody else has; gives the address. */
async function startSupervisor(stack: Stack, status: number, answer: object): Promise<string> {
  const address = `127.${[0, 0, 0].map(() => 2 + Math.floor(Math.random() * 250)).join('.')}`;
  const server = createServer((request, response) => {
    const knows = request.url === '/services/mqtt' && request.headers.authorization === `Bearer ${TOKEN}`;
    response.writeHead(knows ? status : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(80, address, resolve));
  stack.defer(async () => {
    server.close();
    server.closeAllConnections();
  });
  return address;
}

async function startApp(status: number, serviceOf: (brokerPort: number) => object) {
  const home = await openHomeWithBroker();
  const probe = await home.listen();
  const address = await startSupervisor(home.stack, status, serviceOf(home.broker.port));
  const { issuer, api } = home.simulator.urls;
  const options = {
    provider_issuer: issuer,
    provider_api_url: api,
    provider_client_id: 'self-care',
    username: ME.username,
    password: ME.password,
    more_accounts: [],
    statistics: false,
  };
  const container = await startContainer(home.stack, {
    kind: 'app',
    env: {
      SUPERVISOR_TOKEN: TOKEN,
      TZ: 'Europe/Dublin',
      HEAT2MQTT_HTTP_LISTEN: `127.0.0.1:${home.httpPort}`,
    },
    files: { '/data/options.json': JSON.stringify(options), '/etc/hosts': `${address} supervisor\n` },
    capabilities: USUAL,
  });
  return { container, probe, httpPort: home.httpPort };
}

test('publishes on the broker of the Supervisor, and goes on as the user of the image without any right', async () => {
  const { container, probe } = await startApp(200, (port) => ({
    result: 'ok',
    data: { addon: 'core_mosquitto', host: '127.0.0.1', port, ssl: false, protocol: '3.1.1' },
  }));
  await probe.until(STATE, () => true);
  const status = await container.status();
  expect(status).toMatch(/^Uid:(\s+10001){4}$/m);
  expect(status).toMatch(/^Gid:(\s+10001){4}$/m);
  expect(status).toMatch(/^Groups:\s+10001\s*$/m);
  for (const set of ['Prm', 'Eff']) expect(status).toMatch(new RegExp(`^Cap${set}:\\s+0+$`, 'm'));
  expect((await stat(join(container.data, 'options.json'))).uid).toBe(0);
  const files = await readdir(join(container.data, 'state'));
  expect(files).toContain('journal.json');
  for (const name of files) {
    expect([name, (await stat(join(container.data, 'state', name))).uid]).toEqual([name, 10_001]);
  }
  expect(container.output).not.toContain(ME.password);
  await container.kill('TERM');
  expect(await container.exited).toBe(0);
});

test('without a broker it says what to do, and waits in good health for a restart', async () => {
  const { container, httpPort } = await startApp(400, () => ({
    result: 'error',
    message: 'Service not enabled',
  }));
  await waitFor('the words', () => container.output.includes('press Restart'));
  expect(container.output).toMatch(
    /^mqtt\.url: found no broker .* allowed: the app "Mosquitto broker" installed/m,
  );
  expect((await fetch(`http://127.0.0.1:${httpPort}/healthz`)).status).toBe(200);
  expect(await container.status()).toMatch(/^Uid:(\s+10001){4}$/m);
  await container.kill('TERM');
  expect(await container.exited).toBe(0);
});

test('is the image of the Docker users, with the labels of an app and no health check of its own', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const [image, app] = [await imageConfig(), await imageConfig('app')];
  expect(app).toMatchObject({ User: '0:0', Entrypoint: image.Entrypoint, Healthcheck: { Test: ['NONE'] } });
  expect(app.Labels).toMatchObject({
    ...image.Labels,
    'io.hass.type': 'app',
    'io.hass.arch': process.arch === 'x64' ? 'amd64' : 'aarch64',
    'io.hass.version': version,
  });
});
