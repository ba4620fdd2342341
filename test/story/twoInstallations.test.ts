// Two daemons on one base topic of one broker: both say so, neither echoes, and what the one leaves behind is put right by the other.
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, MINUTE_MS, type Story, served } from '../support/story.ts';

const BRIDGE = 'heat2mqtt/bridge/state';
const INFO = 'heat2mqtt/bridge/info';

interface Answer {
  readonly data: { readonly reasons: readonly { readonly code: string }[] };
}

/** Whether each daemon that runs has `two_installations` among its reasons. */
async function codesFrom(story: Story, probe: Probe): Promise<readonly boolean[]> {
  const before = probe.on('heat2mqtt/bridge/response/health').length;
  await probe.publish('heat2mqtt/bridge/request/health', '');
  await story.rest();
  const answers: readonly Answer[] = probe.all('heat2mqtt/bridge/response/health').slice(before);
  return answers.map(({ data }) => data.reasons.some(({ code }) => code === 'two_installations'));
}

async function besideOneAnother() {
  const { story, probe, daemon } = await firstPoll();
  const other = await story.start({ state_dir: await story.stack.folder() });
  await story.polled(2);
  await story.pass(MINUTE_MS);
  const codes = () => codesFrom(story, probe);
  const instances = () => new Set(probe.all(INFO).map(({ instance }) => instance));
  return { story, probe, daemon, other, codes, instances };
}

test('both know, and once each has been heard they are silent; the reason stays while both run, and goes an hour after', async () => {
  const { story, probe, other, codes, instances } = await besideOneAnother();
  expect(instances().size).toBe(2);
  expect(await codes()).toEqual([true, true]);
  probe.forget();
  await story.pass(13 * MINUTE_MS, 5_000);
  expect([...probe.on(INFO), ...probe.on(BRIDGE)]).toEqual([]);
  await story.pass(75 * MINUTE_MS, MINUTE_MS);
  expect(await codes()).toEqual([true, true]);
  // Each four times an hour.
  expect(probe.on(INFO).length).toBeLessThanOrEqual(12);
  expect(story.logged('bridge/state was not online on the broker any more, and is put right')).toEqual([]);

  await story.stop(other);
  await story.pass(HOUR_MS + MINUTE_MS, MINUTE_MS);
  expect(await codes()).toEqual([false]);
});

test('one that goes leaves nothing behind: online within two seconds, and everything as it was', async () => {
  const { story, probe, daemon, other, codes } = await besideOneAnother();
  const state = probe.json(STATE);
  await probe.publish(STATE, '{"schema":1,"energy_total":0}', { retain: true });
  await story.stop(other);
  expect(probe.last(BRIDGE)?.payload).toBe('offline');
  await story.pass(2_000, 100);
  expect(probe.last(BRIDGE)?.payload).toBe('online');
  await story.pass(MINUTE_MS);
  expect(probe.json(STATE)).toEqual(state);
  expect(await codes()).toEqual([true]);
  const late = await story.listen();
  const retained = await untilTrue('what the broker keeps', () => late.last(BRIDGE));
  expect(retained).toMatchObject({ payload: 'online', retained: true });
  expect((await served(daemon, 'healthz')).status).toBe(200);
});

test('a live offline is answered within two seconds, at most once in ten; our own last word never', async () => {
  const { story, probe, daemon } = await firstPoll();
  await story.pass(MINUTE_MS);
  probe.forget();
  const online = () => probe.on(BRIDGE).filter(({ payload }) => payload === 'online').length;
  await probe.publish(BRIDGE, 'offline', { retain: true });
  await story.pass(2_000, 100);
  expect(online()).toBe(1);
  for (let count = 0; count < 8; count += 1) {
    await probe.publish(BRIDGE, 'offline', { retain: true });
    await story.pass(800, 100);
  }
  expect(online()).toBe(1);
  await story.pass(4_000, 100);
  expect(online()).toBe(2);
  // It says nothing of who it was.
  expect(await codesFrom(story, probe)).toEqual([false]);
  await story.stop(daemon);
  await story.pass(MINUTE_MS);
  expect(probe.last(BRIDGE)?.payload).toBe('offline');
  expect(online()).toBe(2);
});
