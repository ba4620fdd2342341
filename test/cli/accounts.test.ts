// heat2mqtt accounts without its database: what is refused before anybody asks for one, and what a fleet has no use for.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStack } from '../support/stack.ts';
import { environmentAt, typed } from '../support/typed.ts';

const environment = async () => environmentAt(await openStack().folder());

const FLEET = {
  HEAT2MQTT_FLEET_DATABASE_URL: 'postgresql://heat2mqtt@127.0.0.1:9/nowhere',
  HEAT2MQTT_FLEET_KEY: Buffer.alloc(32).toString('base64'),
};

test.each([
  [[], 'accounts takes import, list, pause, resume, remove, reseal; found: nothing.'],
  [['sweep'], 'accounts takes import, list, pause, resume, remove, reseal; found: sweep.'],
  [['import'], 'accounts import takes one word, the FILE.csv; or --from-state DIR and none.'],
  [
    ['import', 'a.csv', '--from-state', './state'],
    'accounts import takes one word, the FILE.csv; or --from-state DIR and none.',
  ],
  [['list', 'home'], 'accounts list takes no further words.'],
  [['pause'], 'accounts pause takes the ID of an account, or several.'],
  [['pause', 'home', '--yes'], 'accounts pause takes no --yes.'],
])('accounts %j is wrong usage', async (words, message) => {
  await expect(typed(['accounts', ...words], { env: await environment() })).rejects.toMatchObject({
    message,
    exitCode: 2,
  });
});

test('asks before it removes, and refuses when nobody could answer', async () => {
  const env = { ...(await environment()), ...FLEET };
  await expect(typed(['accounts', 'remove', 'home'], { env, isInteractive: false })).rejects.toMatchObject({
    exitCode: 2,
  });
});

test('refuses to list when the configuration has no fleet', async () => {
  await expect(typed(['accounts', 'list'], { env: await environment() })).rejects.toMatchObject({
    code: 'no_fleet',
    exitCode: 3,
  });
});

test.each(
  [
    ['backup', 'x.backup'],
    ['energy-dashboard'],
    ['usage'],
    ['invoices'],
    ['export'],
    ['login'],
    ['logout'],
  ].map((words) => [words]),
)('%j is for a household', async (words) => {
  const env = { ...(await environment()), ...FLEET };
  await expect(typed(words, { env })).rejects.toMatchObject({
    code: 'not_in_fleet',
    exitCode: 2,
    message: expect.stringContaining('is for a household, and the configuration has a fleet'),
  });
});

test('restores no backup when the configuration has a fleet', async () => {
  const env = await environment();
  const folder = await openStack().folder();
  const config = join(folder, 'config.yaml');
  await writeFile(
    config,
    JSON.stringify({
      version: 1,
      accounts: [{ id: 'home', username: 'me@example.org', password: 'secret words' }],
    }),
  );
  const file = join(folder, 'x.backup');
  await typed(['backup', file, '--config', config], { env });
  await expect(
    typed(['restore', file, '--config', config, '--yes'], { env: { ...env, ...FLEET } }),
  ).rejects.toMatchObject({
    code: 'not_in_fleet',
  });
});
