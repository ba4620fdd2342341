// heat2mqtt report for users that have a home directory, and for those of containers, who have none.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStack } from '../support/stack.ts';
import { environmentOf, typed } from '../support/typed.ts';

const ISSUER = 'https://id.example.org/auth/realms/energy';

async function reportOf(home: string | undefined): Promise<string> {
  const folder = await openStack().folder();
  const urls = { issuer: ISSUER, api: 'https://api.example.org/api/v1' };
  const me = { username: 'me@example.org', password: 'secret words' };
  const stateDir = home?.startsWith('/srv') ? join(home, 'state') : join(folder, 'state');
  const env = { ...environmentOf(urls, me, stateDir), HOME: home };
  const { out, err } = await typed(['report'], { env });
  return out + err;
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
