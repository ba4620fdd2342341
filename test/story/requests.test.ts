// Requests by whoever may publish: floods move neither the provider nor the memory. What is malformed is in test/mqtt/requests.test.ts.

import { expect, test } from 'vitest';
import { startProbe } from '../support/probe.ts';
import { untilAtRest, untilTrue } from '../support/rest.ts';
import { firstPoll, outboxOf } from '../support/story.ts';

const REQUEST = 'heat2mqtt/bridge/request';
const RESPONSE = 'heat2mqtt/bridge/response';

async function quietStory() {
  const { story, probe, daemon } = await firstPoll({ config: { constituencies: {} } });
  const asked = () => story.simulator.requests.length;
  const answers = (what: string) => probe.all(`${RESPONSE}/${what}`);
  const intruder = story.stack.use(await startProbe(daemon.brokerUrl, {}, untilAtRest));
  probe.forget();
  return { story, probe, intruder, daemon, asked, answers, before: asked() };
}

// More than the queue of answers holds.
const FLOOD = 1_000;
const many = (times: number) => Array.from({ length: times }, (_, at) => at);

test('a thousand requests for a refresh are one poll, and hold up nobody; answers wait in a bounded queue', async () => {
  const { story, probe, intruder, daemon, asked, answers, before } = await quietStory();
  const events = () => probe.on('heat2mqtt/bridge/event');
  const all = many(FLOOD).map((at) => intruder.publish(`${REQUEST}/refresh`, `{"transaction":${at}}`));
  let most = 0;
  for (const _ of many(20)) most = Math.max(most, await outboxOf(daemon));
  await Promise.all(all);
  expect(most).toBeLessThanOrEqual(600);
  await untilTrue('the queue to empty', async () => (await outboxOf(daemon)) === 0);
  await story.polled(2);
  // Another kind of request has a queue of its own.
  await intruder.publish(`${REQUEST}/health`, '');
  await untilTrue('an honest answer', () => answers('health').length === 1);
  await story.pass(30_000);
  expect(asked() - before).toBe(1);
  const others = answers('refresh').filter(({ status }) => status !== 'ok');
  expect(answers('refresh').length - others.length).toBeLessThanOrEqual(1);
  expect(new Set(others.map(({ status, data }) => `${status} ${data.reason}`))).toEqual(
    new Set(['skipped cool_down']),
  );
  // Those that came first.
  expect(others.length).toBeGreaterThanOrEqual(200);
  expect(events()).toHaveLength(10);
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  await intruder.publish(`${REQUEST}/refresh`, '');
  await untilTrue('an answer once more', () => answers('refresh').length === others.length + 2);
});
