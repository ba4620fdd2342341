// The section fleet: its two secrets, what it does not go with, and what it changes elsewhere.
import { expect, test } from 'vitest';
import { keysIn } from '../../src/config/secretForms.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { faultPaths, load, PROVIDER, refusal } from './loading.ts';

const KEY = 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=';
const FLEET = `${PROVIDER}fleet:
  database_url: postgresql://worker:pass%20word-of-db@localhost/heat
  key: ${KEY}
`;

test('a fleet needs no accounts in the file, and logs in for each poll', async () => {
  const { config } = await load(FLEET);
  expect(config.fleet).toMatchObject({ claim_seconds: 60, requests_per_second: 20 });
  expect(config.provider?.keep_alive).toBe(false);
  const kept = await load(FLEET.replace('provider:', 'provider:\n  keep_alive: true'));
  expect(kept.config.provider?.keep_alive).toBe(true);
});

test('the scrubber knows the key, the address and the password in it', async () => {
  const scrubber = createScrubber();
  await load(FLEET, {}, { scrubber });
  const told = scrubber.scrub(`${KEY} pass word-of-db postgresql://worker:pass%20word-of-db@localhost/heat`);
  expect(told).not.toMatch(/aW52|word-of-db/);
});

test('a key of another length is refused, and so is another database', async () => {
  expect(await faultPaths(FLEET.replace(KEY, 'dG9vIHNob3J0'))).toEqual(['fleet.key']);
  expect(await faultPaths(FLEET.replace('postgresql', 'mysql'))).toEqual(['fleet.database_url']);
  expect(await faultPaths(FLEET.replace('pass%20word', 'pass%word'))).toEqual(['fleet.database_url']);
  const { faults } = await refusal(`${PROVIDER}fleet: { claim_seconds: 5 }`);
  expect(faults.map(({ path }) => path).sort()).toEqual([
    'fleet.claim_seconds',
    'fleet.database_url',
    'fleet.key',
  ]);
});

test.each(['device', 'link'])('%s is a way to sign in that needs a person', async (way) => {
  const file = FLEET.replace('provider:', `provider:\n  sign_in: ${way}`);
  expect(await faultPaths(file)).toContain('provider.sign_in');
});

test('the key file may have two keys: a line each', async () => {
  const other = Buffer.alloc(32, 9).toString('base64');
  const { config } = await load(FLEET.replace(`key: ${KEY}`, `key: "${KEY}\\n${other}\\n"`));
  expect(keysIn((await config.fleet?.key.read()) ?? '')).toEqual([
    Buffer.from(KEY, 'base64'),
    Buffer.alloc(32, 9),
  ]);
});

test('home_assistant and an embedded broker belong to one household', async () => {
  const more = 'home_assistant: { url: http://ha:8123, token: abcdefgh }\nmqtt: { embedded: true }\n';
  expect((await faultPaths(`${FLEET}${more}`)).sort()).toEqual(['home_assistant', 'mqtt.embedded']);
});
