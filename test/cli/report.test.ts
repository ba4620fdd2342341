// heat2mqtt report for users that have a home directory, and for those of containers, who have none.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { openStack } from '../support/stack.ts';

const ISSUER = 'https://id.example.org/auth/realms/energy';

async function reportOf(home: string | undefined): Promise<string> {
  const stack = openStack();
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-report-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const said: string[] = [];
  await runCommandLine(['report'], {
    out: (text) => void said.push(text),
    err: (text) => void said.push(text),
    env: {
      HOME: home,
      HEAT2MQTT_PROVIDER_ISSUER: ISSUER,
      HEAT2MQTT_PROVIDER_API_URL: 'https://api.example.org/api/v1',
      HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
      HEAT2MQTT_USERNAME: 'me@example.org',
      HEAT2MQTT_PASSWORD: 'secret words',
      HEAT2MQTT_HTTP: 'false',
      HEAT2MQTT_STATE_DIR: home?.startsWith('/srv') ? join(home, 'state') : join(folder, 'state'),
    },
    isTerminal: false,
    columns: 100,
    interrupted: new AbortController().signal,
  });
  return said.join('');
}

test.each([['the root directory'], [undefined]])(
  'a home that is %s leaves every address as it is',
  async (home) => {
    expect(await reportOf(home && '/')).toContain(ISSUER);
  },
);

test('a home directory is not named', async () => {
  const report = await reportOf('/srv/people/aoife');
  expect(report).toContain('state_dir: ~/state');
  expect(report).not.toContain('aoife');
});
