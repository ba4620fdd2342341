// heat2mqtt report for users that have a home directory, and for those of containers, who have none.
import { expect, test } from 'vitest';
import { openStack } from '../support/stack.ts';
import { environmentOf, typed } from '../support/typed.ts';

const ISSUER = 'https://id.example.org/auth/realms/energy';
const ME = { username: 'me@example.org', password: 'secret words' };

test.each([
  ['/', ISSUER],
  [undefined, ISSUER],
  ['/srv/people/aoife', 'state_dir: ~/state'],
])('a home directory is not named, and the root directory is none: %s', async (home, words) => {
  const stateDir = home === '/srv/people/aoife' ? `${home}/state` : await openStack().folder();
  const env = environmentOf({ issuer: ISSUER, api: 'https://api.example.org/api/v1' }, ME, stateDir);
  const { out, err } = await typed(['report'], { env: { ...env, HOME: home } });
  expect(out + err).toContain(words);
  expect(out + err).not.toContain('aoife');
});
