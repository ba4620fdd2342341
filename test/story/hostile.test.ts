// Whoever may publish: floods, forgeries and oversized requests move neither the provider nor the memory.
import { expect, onTestFinished, test } from 'vitest';
import { LARGEST_PACKET_BYTES } from '../../src/mqtt/stream.ts';
import { USAGE } from '../support/homes.ts';
import { asking, FETCH } from '../support/lists.ts';
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
  expect(events()).toHaveLength(10);
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  await intruder.publish(`${REQUEST}/health`, '');
  await untilTrue('an honest answer', () => answers('health').length === 1);
});

test('hundreds of different questions for the public list are thirty, beside a poll that goes on', async () => {
  const { story, probe, intruder, answers } = await quietStory();
  const { counters } = story.simulator;
  const warnings: string[] = [];
  const note = ({ name }: Error) => warnings.push(name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const flood = many(700).map((at) =>
    intruder.publish(`${REQUEST}/constituencies`, `{"house_no":${at + 1}}`),
  );
  story.tick();
  await Promise.all(flood);
  await story.polled(2);
  const lists = () => probe.heard.filter(({ topic }) => topic.startsWith('heat2mqtt/constituencies/'));
  await untilTrue('thirty lists', () => new Set(lists().map(({ topic }) => topic)).size === 30);
  await story.rest();
  expect([counters.requests[FETCH], counters.requests[USAGE], lists().length]).toEqual([30, 2, 30]);
  expect(warnings).toEqual([]);
  // In one burst the newest answers are kept.
  const skipped = answers('constituencies').filter(({ status }) => status !== 'ok');
  expect(skipped.length).toBeGreaterThanOrEqual(400);
  for (const answer of skipped) {
    expect(answer).toMatchObject({
      status: 'skipped',
      data: {
        reason: 'rate_limit',
        next_at: '2025-03-10T12:05:00+00:00',
        topic: expect.any(String),
        count: null,
      },
    });
  }
  await story.pass(300_000, 60_000);
  expect(await asking(probe)).toMatchObject({ status: 'ok', data: { fetched: true } });
});

test('half an hour of requests of every kind stays within the cool-downs', async () => {
  const { story, intruder, asked, before } = await quietStory();
  for (const _ of many(30)) {
    for (const what of ['refresh', 'backfill', 'health', 'refresh']) {
      await intruder.publish(`${REQUEST}/${what}`, what === 'backfill' ? '{"from":"2025-01-01"}' : '');
    }
    await story.pass(60_000, 30_000);
  }
  const usage = story.simulator.requests.slice(before).filter(({ route }) => route === USAGE);
  // One for each cool-down of five minutes; sessions are kept alive besides.
  expect(usage.length).toBeLessThanOrEqual(7);
  expect(usage.length).toBeGreaterThanOrEqual(5);
  expect(asked() - before - usage.length).toBeLessThanOrEqual(6);
});

test('oversized, broken and foreign payloads are refused in words, and nothing is asked of the provider', async () => {
  const { probe, intruder, asked, answers, before } = await quietStory();
  const payloads: Record<string, string | Buffer> = {
    'oversized by a byte': JSON.stringify({ transaction: 1, x: 'x'.repeat(8_192) }),
    'a megabyte': 'x'.repeat(1_000_000),
    'larger than any packet that is taken in': 'x'.repeat(2 * LARGEST_PACKET_BYTES),
    'deeper than any parser likes': '['.repeat(8_000),
    'half an object': '{"chamber":',
    'no UTF-8': Buffer.from([0xff, 0xfe, 0xc3]),
    'no UTF-8 within JSON': Buffer.concat([Buffer.from('{"chamber":"'), Buffer.of(0xff), Buffer.from('"}')]),
    'a list': '[]',
    'a prototype': '{"__proto__":{"chamber":"seanad","status":"ok"},"constructor":1}',
    'another command': '{"cmd":"rm -rf /","from":"2025-01-01"}',
  };
  for (const [name, payload] of Object.entries(payloads)) {
    for (const what of ['refresh', 'backfill', 'constituencies', 'health']) {
      probe.forget();
      await intruder.publish(`${REQUEST}/${what}`, payload);
      await untilTrue(`an answer to ${name} at ${what}`, () => answers(what).length === 1);
      const [answer] = answers(what);
      expect([name, answer]).toMatchObject([name, { status: 'error', error: { code: 'request_malformed' } }]);
      expect(JSON.stringify(answer).length).toBeLessThan(400);
    }
  }
  expect(asked()).toBe(before);
  await intruder.publish(`${REQUEST}/health`, '');
  await untilTrue('an answer to an honest request', () =>
    answers('health').some(({ status }) => status === 'ok'),
  );
});
