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

test('several accounts are one configuration, each with a meter of its own', async () => {
  const { out } = await simulated('--port', '0', '--accounts', '3');
  expect(parse(out).accounts).toEqual(
    [1, 2, 3].map((n) => ({ id: `flat-${n}`, username: `flat-${n}@example.org`, password: `demo-${n}` })),
  );
  const folder = await stack.folder();
  const config = join(folder, 'simulated.yaml');
  await writeFile(config, out);
  const { out: told } = await typed(['check', '--live', '--config', config], {
    env: { HEAT2MQTT_STATE_DIR: folder },
  });
  expect(told.match(/provider for flat-\d: signed in, 1 heat meter/g)).toHaveLength(3);
});

test.each([
  ['wrong-password', 4, /FAILED provider for home: .*refused/],
  ['down', 5, /FAILED provider for home: .*could not be reached/],
  ['html', 5, /FAILED provider for home: .*text\/html/],
  ['late', 0, /provider for home: signed in/],
  ['correction', 0, /provider for home: signed in/],
])('a bad day: %s', async (fault, exitCode, words) => {
  const { out } = await simulated('--port', '0', '--fault', fault);
  expect(out).toContain('# It has a bad day. ');
  const folder = await stack.folder();
  const config = join(folder, 'simulated.yaml');
  await writeFile(config, out);
  const ended = await typed(['check', '--live', '--config', config], {
    env: { HEAT2MQTT_STATE_DIR: folder },
  });
  expect(ended.out).toMatch(words);
  expect(ended.exitCode).toBe(exitCode);
});

test.each([
  [['--accounts', '0'], '--accounts: found 0; allowed: a number from 1 to 1000.'],
  [['--fault', 'rain'], '--fault: found rain; allowed: wrong-password, down, slow, late, correction, html.'],
])('refused: %s', async (words, message) => {
  await expect(typed(['simulate', '--port', '0', ...words])).rejects.toMatchObject({ exitCode: 2, message });
});
