// Another installation on the base topic of a fleet: one process answers for all, and no process takes another of the fleet for a stranger.
import { expect, test } from 'vitest';
import { turn, waitFor } from '../support/waitFor.ts';
import { openFlat } from './flat.ts';

const BRIDGE = 'heat2mqtt/bridge/state';
const INFO = 'heat2mqtt/bridge/info';
const HEALTH = 'heat2mqtt/bridge/health';
const RIGHT_WITHIN_MS = 2_500;
const REST_MS = 12_000;
const FOREIGN = JSON.stringify({ schema: 1, version: '1.0.0', base_topic: 'heat2mqtt', instance: 'theirs' });

test('a live offline is answered by the keeper alone, and another installation once; a change of keepers is none', async () => {
  const flat = await openFlat();
  await flat.import('home');
  const probe = await flat.listen();
  const keeper = flat.process();
  const { instance: own } = await probe.until(INFO);
  const next = flat.process();
  await next.says('works for the fleet');
  const health = () => JSON.stringify(probe.last(HEALTH)?.payload);
  const online = () => probe.on(BRIDGE).filter(({ payload }) => payload === 'online').length;

  const before = online();
  for (let count = 0; count < 3; count += 1) {
    await probe.publish(BRIDGE, 'offline', { retain: true });
    await turn(300);
  }
  await waitFor('online', () => online() > before);
  await turn(RIGHT_WITHIN_MS);
  expect(online()).toBe(before + 1);
  expect(health()).not.toContain('two_installations');

  // The next one has the same instance, and takes the session over that the broker has kept.
  probe.forget();
  await keeper.end('SIGKILL');
  const { instance } = await probe.until(INFO);
  expect(instance).toBe(own);
  await turn(REST_MS);
  expect(health()).not.toContain('two_installations');

  const told = probe.on(INFO).length;
  for (let count = 0; count < 3; count += 1) await probe.publish(INFO, FOREIGN, { retain: true });
  await waitFor('the reason', () => health()?.includes('two_installations'));
  await turn(REST_MS);
  const answers = probe
    .all(INFO)
    .slice(told)
    .filter(({ instance }) => instance === own);
  expect(answers).toHaveLength(1);
  expect(probe.json(INFO)?.instance).toBe(own);
});
