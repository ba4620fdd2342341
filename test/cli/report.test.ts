// heat2mqtt report for users that have a home directory, and for those of containers, who have none.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { healthLines } from '../../src/cli/report.ts';
import { openStack } from '../support/stack.ts';
import { environmentAt, ISSUER, typed } from '../support/typed.ts';

test.each([
  ['/', null, ISSUER],
  [undefined, null, ISSUER],
  ['/srv/people/aoife', '/srv/people/aoife/state', 'state_dir: ~/state'],
  // The home of somebody else.
  [undefined, '/home/aoife/state', 'state_dir: /home/…/state'],
  ['/root', '/Users/aoife/state', 'state_dir: /Users/…/state'],
])('names no home directory, which the root directory is not: %s', async (home, given, words) => {
  const env = environmentAt(given ?? (await openStack().folder()));
  const { out, err, exitCode } = await typed(['report'], { env: { ...env, HOME: home } });
  expect([out + err, exitCode]).toEqual([expect.stringContaining(words), 0]);
  expect(out + err).not.toContain('aoife');
});

test('does not say that nothing is known when it cannot look into the state directory', async () => {
  const file = join(await openStack().folder(), 'file');
  await writeFile(file, 'no directory');
  const { out, exitCode } = await typed(['report'], { env: environmentAt(file) });
  expect([out, exitCode]).toEqual([expect.stringContaining('## State directory\n\n    The state'), 0]);
  expect(out).not.toContain('never polled');
});

test('prints the mistakes and ends with 3 when the configuration is invalid', async () => {
  const { out, exitCode } = await typed(['report'], { env: { HEAT2MQTT_MQTT_URL: 'x' } });
  expect([out, exitCode]).toEqual([expect.stringContaining('mqtt.url: found "x"'), 3]);
});

test('prints no number of a meter when the configuration is invalid', async () => {
  const env = { HEAT2MQTT_METERS_70418235_NAME: ' ' };
  const { out } = await typed(['report'], { env });
  expect(out).toContain('meters.….name: found a text (not shown) (environment HEAT2MQTT_METERS_…_NAME)');
  expect(out).not.toContain('70418235');
  const mistyped = await typed(['report'], { env: { HEAT2MQTT_METERS_70418235_NMAE: 'x' } });
  expect(mistyped.out).toContain('HEAT2MQTT_METERS_…');
  expect(mistyped.out).not.toContain('70418235');
});

test('says what a healthy daemon is when it asks one, and what is wrong besides when it comes from the daemon', async () => {
  const { out } = await typed(['report'], { env: environmentAt(await openStack().folder()) });
  expect(out).toMatch(/## Daemon\n\n {4}No daemon [^\n]*\n {4}This is about its event loop and its broker\./);
  const reasons = [{ code: 'witness_refused', message: 'Nothing of 70418235 can be used.' }];
  expect(healthLines({ state: 'degraded', reasons })).toEqual([
    'This report comes from the running daemon, whose health is degraded.',
    '  witness_refused',
  ]);
});
