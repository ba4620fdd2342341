// heat2mqtt simulate: what it prints is a configuration, and it works.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { openStack, type Stack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';
import { waitFor } from '../support/waitFor.ts';

let stack: Stack;
beforeEach(() => {
  stack = openStack();
});

/** Runs it until the end of the test. */
async function simulated(...words: string[]) {
  const stopping = new AbortController();
  let out = '';
  const note = (text: string) => {
    out += text;
  };
  const running = typed(['simulate', ...words], { out: note, interrupted: stopping.signal });
  const stop = () => {
    stopping.abort();
    return running;
  };
  stack.defer(stop);
  await Promise.race([running, waitFor('the configuration', () => out.includes('state_dir'))]);
  return { out, stop, port: Number(new URL(parse(out).provider.issuer).port) };
}

test('what it prints is a file that `check --live` is content with, until it ends', async () => {
  const { out, stop } = await simulated('--port', '0');
  const folder = await stack.folder();
  const config = join(folder, 'simulated.yaml');
  await writeFile(config, out);
  const env = { HEAT2MQTT_STATE_DIR: folder };
  const check = () => typed(['check', '--live', '--config', config], { env });
  const { out: told, exitCode } = await check();
  expect(told).not.toContain('FAILED');
  expect(told).toMatch(/provider for home: signed in, 1 heat meter/);
  expect(exitCode).toBe(0);
  // The login page, for this program and for clients that send no PKCE challenge.
  const byForm = { ...env, HEAT2MQTT_PROVIDER_SIGN_IN: 'form', HEAT2MQTT_STATE_DIR: await stack.folder() };
  expect(await typed(['check', '--live', '--config', config], { env: byForm })).toMatchObject({
    exitCode: 0,
  });
  const { issuer, client_id, redirect_uri } = parse(out).provider;
  const query = { client_id, redirect_uri, response_type: 'code', scope: 'openid service-energy' };
  const page = await fetch(`${issuer}/protocol/openid-connect/auth?${new URLSearchParams(query)}`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('name="password"')]);
  expect(await stop()).toMatchObject({ exitCode: 0 });
  expect(await check()).toMatchObject({ exitCode: 5 });
});

test('a port that was asked for must be free', async () => {
  const { port } = await simulated('--port', '0');
  const again = typed(['simulate', '--port', String(port)]);
  await expect(again).rejects.toMatchObject({
    exitCode: 2,
    message: `--port: ${port} is taken; allowed: a free port.`,
  });
  await expect(typed(['simulate', '--port', '70000'])).rejects.toMatchObject({ exitCode: 2 });
});
