// Requests over MQTT to the whole daemon: polls that never overlap, cool-down, and what is not listened to.
import { expect, test } from 'vitest';
import { HEALTH, USAGE } from '../support/homes.ts';
import { FETCH } from '../support/lists.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, openStory } from '../support/story.ts';

const REFRESH = 'heat2mqtt/bridge/request/refresh';
const ANSWER = 'heat2mqtt/bridge/response/refresh';

test('refresh polls, and answers with what came of it; a second one within five minutes is skipped', async () => {
  const { story, probe, counters } = await firstPoll();
  await probe.publish(REFRESH, JSON.stringify({ transaction: 'tx-7' }));
  expect(await probe.until(ANSWER)).toEqual({
    schema: 1,
    status: 'ok',
    data: { accounts: [{ account: 'home', changes: 0 }] },
    transaction: 'tx-7',
  });
  const nextAt = `${new Date(story.clock.now() + 300_000).toISOString().slice(0, 19)}+00:00`;
  await probe.publish(REFRESH, '');
  expect(await probe.until(ANSWER, ({ status }) => status === 'skipped')).toMatchObject({
    data: { reason: 'cool_down', next_at: nextAt },
  });
  expect(counters.requests[USAGE]).toBe(2);
  const { next_at, ...told } = await probe.until('heat2mqtt/bridge/event');
  expect([next_at, told]).toEqual([
    nextAt,
    {
      schema: 1,
      event_type: 'request_skipped',
      at: expect.any(String),
      code: 'cool_down',
      message: expect.stringMatching(
        /^Not done now, because .* five minutes ago\. It is possible again at 12:0\d\.$/,
      ),
      request: 'refresh',
    },
  ]);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', poll_now_at: nextAt });
  await story.pass(301_000, 30_000);
  await probe.until(HEALTH, ({ poll_now_at }) => poll_now_at === null);
  probe.forget();
  await probe.publish(REFRESH, '');
  await probe.until(ANSWER, ({ status }) => status === 'ok');
});

test('a tick, a request and a retry that meet are one poll', async () => {
  const { story, probe, switches, counters } = await firstPoll();
  switches.fault('/api/v1/reports', { kind: 'slow', ms: 10_000 }, { times: 1 });
  story.tick();
  await untilTrue('the question', () => counters.requests[USAGE] === 2);
  story.tick();
  await probe.publish(REFRESH, '');
  await story.pass(12_000);
  await probe.until(ANSWER, ({ status }) => status === 'ok');
  expect(counters.requests[USAGE]).toBe(2);
  expect(counters.maxInFlight[USAGE]).toBe(1);
  await story.nextPoll();
  expect(counters.requests[USAGE]).toBe(3);
});

test('a request of unknown name is answered with those there are, and a refresh that fails with the reason', async () => {
  const { probe, counters, switches } = await firstPoll();
  await probe.publish('heat2mqtt/bridge/request/refrehs', JSON.stringify({ transaction: 'tx-8' }));
  expect(await probe.until('heat2mqtt/bridge/response/refrehs')).toEqual({
    schema: 1,
    status: 'error',
    error: {
      code: 'unknown_request',
      message: 'Unknown request "refrehs"; there are: backfill, constituencies, health, refresh.',
    },
    transaction: 'tx-8',
  });
  expect(counters.requests[USAGE]).toBe(1);

  switches.fault('/api/', { kind: 'reset' });
  await probe.publish(REFRESH, '');
  expect(await probe.until(ANSWER)).toMatchObject({
    status: 'error',
    error: { code: 'provider_unreachable', message: expect.stringContaining('usage report') },
  });
});

test('retained requests from before the start are ignored, and the log says so', async () => {
  const story = await openStory();
  const probe = await story.listen();
  for (const what of ['refresh', 'constituencies', 'backfill', 'health']) {
    await probe.publish(`heat2mqtt/bridge/request/${what}`, '{}', { retain: true });
  }
  await probe.publish(REFRESH, '', { retain: true });
  await probe.publish(REFRESH, '{}', { retain: true });
  await story.start({ constituencies: {} });
  await story.polled(1);
  await untilTrue('a word in the log', () =>
    story.log.some(({ msg }) => String(msg).startsWith('retained request ignored')),
  );
  await probe.until(HEALTH, ({ last_success_at }) => last_success_at !== null);
  expect(probe.heard.filter(({ topic }) => topic.includes('/response/'))).toEqual([]);
  const { requests } = story.simulator.counters;
  expect([requests[USAGE], requests[FETCH]]).toEqual([1, undefined]);
});
