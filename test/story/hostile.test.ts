// Whoever may publish: floods, forgeries and oversized requests move neither the provider nor the memory.
import { expect, test } from 'vitest';
import { STATE, USAGE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { untilAtRest, untilTrue } from '../support/rest.ts';
import { openStory } from '../support/story.ts';

const REQUEST = 'heat2mqtt/bridge/request';
const RESPONSE = 'heat2mqtt/bridge/response';

async function quietStory() {
  const story = await openStory();
  const probe = await story.listen();
  const daemon = await story.start({ constituencies: { base_url: story.simulator.urls.constituencies } });
  await story.polled(1);
  const state = probe.json(STATE);
  const asked = () => story.simulator.requests.length;
  const answers = (what: string) => probe.on(`${RESPONSE}/${what}`).map(({ payload }) => JSON.parse(payload));
  const intruder = story.stack.use(await startProbe(daemon.brokerUrl, {}, untilAtRest));
  probe.forget();
  return { story, probe, intruder, daemon, state, asked, answers, before: asked() };
}

const FLOOD = 3_000;
const many = (times: number) => Array.from({ length: times }, (_, at) => at);

test('thousands of requests for a refresh are one poll, and hold up nobody', async () => {
  const { story, intruder, asked, answers, before } = await quietStory();
  await Promise.all(many(FLOOD).map((at) => intruder.publish(`${REQUEST}/refresh`, `{"transaction":${at}}`)));
  await story.polled(2);
  await untilTrue('the flood to drain', () =>
    answers('refresh').some(({ transaction }) => transaction === FLOOD - 1),
  );
  expect(asked() - before).toBe(1);
  const others = answers('refresh').filter(({ status }) => status !== 'ok');
  expect(answers('refresh').length - others.length).toBeLessThanOrEqual(1);
  expect(new Set(others.map(({ status, data }) => `${status} ${data.reason}`))).toEqual(
    new Set(['skipped cool_down']),
  );
  // In one burst the newest answers are kept.
  expect(others.length).toBeGreaterThanOrEqual(400);
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  await intruder.publish(`${REQUEST}/health`, '');
  await untilTrue('an honest answer', () => answers('health').length === 1);
});

test('an hour of requests of every kind stays within the cool-downs', async () => {
  const { story, intruder, asked, before } = await quietStory();
  for (const _ of many(60)) {
    for (const what of ['refresh', 'backfill', 'health', 'refresh']) {
      await intruder.publish(`${REQUEST}/${what}`, what === 'backfill' ? '{"from":"2025-01-01"}' : '');
    }
    await story.pass(60_000, 30_000);
  }
  const usage = story.simulator.requests.slice(before).filter(({ route }) => route === USAGE);
  // One for each cool-down of five minutes; sessions are kept alive besides.
  expect(usage.length).toBeLessThanOrEqual(13);
  expect(usage.length).toBeGreaterThanOrEqual(10);
  expect(asked() - before - usage.length).toBeLessThanOrEqual(6);
});

test.each([
  ['oversized by a byte', JSON.stringify({ transaction: 1, x: 'x'.repeat(8_192) })],
  ['a megabyte', 'x'.repeat(1_000_000)],
  ['larger than any packet we take in', 'x'.repeat(20_000_000)],
  ['deeper than any parser likes', '['.repeat(8_000)],
  ['half an object', '{"chamber":'],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0xc3])],
  ['no UTF-8 within JSON', Buffer.concat([Buffer.from('{"chamber":"'), Buffer.of(0xff), Buffer.from('"}')])],
  ['a list', '[]'],
  ['a prototype', '{"__proto__":{"status":"ok"},"constructor":1}'],
  ['another command', '{"cmd":"rm -rf /","from":"2025-01-01"}'],
])('%s is refused in words, and reaches nobody', async (_, payload) => {
  const { intruder, asked, answers, before } = await quietStory();
  for (const what of ['refresh', 'backfill', 'constituencies', 'health']) {
    await intruder.publish(`${REQUEST}/${what}`, payload);
    await untilTrue(`an answer to ${what}`, () => answers(what).length === 1, { timeoutMs: 2_000 });
  }
  const heard = ['refresh', 'backfill', 'constituencies', 'health'].flatMap(answers);
  for (const answer of heard) {
    expect(answer).toMatchObject({ status: 'error', error: { code: 'request_malformed' } });
    expect(JSON.stringify(answer).length).toBeLessThan(400);
  }
  expect(asked()).toBe(before);
  await intruder.publish(`${REQUEST}/health`, '');
  await untilTrue('an answer to an honest request', () =>
    answers('health').some(({ status }) => status === 'ok'),
  );
});

test('a forged state is said anew when Home Assistant comes back', async () => {
  const { story, probe, intruder, state } = await quietStory();
  await intruder.publish(STATE, '{"schema":1,"energy_total":0}', { retain: true });
  await story.rest();
  probe.forget();
  await intruder.publish('homeassistant/status', 'online');
  await story.pass(60_000);
  expect(await probe.until(STATE, () => true)).toEqual(state);
});

test('answers wait in a bounded queue', async () => {
  const { story, intruder, daemon, asked, before } = await quietStory();
  const waiting = async () => {
    const text = await (await fetch(`http://127.0.0.1:${daemon.httpPort}/metrics`)).text();
    return Number(/^heat2mqtt_mqtt_outbox (\d+)$/m.exec(text)?.[1]);
  };
  const all = many(FLOOD).map(() => intruder.publish(`${REQUEST}/refresh`, ''));
  let most = 0;
  for (let left = 20; left > 0; left -= 1) most = Math.max(most, await waiting());
  await Promise.all(all);
  expect(most).toBeLessThanOrEqual(600);
  await untilTrue('the queue to empty', async () => (await waiting()) === 0);
  await story.rest();
  expect(asked() - before).toBe(1);
});
