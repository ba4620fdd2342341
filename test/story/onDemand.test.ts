// Requests over MQTT to the whole daemon: polls that never overlap, cool-down, and what is not listened to.
import { expect, test } from 'vitest';
import { HEALTH, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, openStory } from '../support/story.ts';

const REFRESH = 'heat2mqtt/bridge/request/refresh';
const ANSWER = 'heat2mqtt/bridge/response/refresh';

test('refresh polls, and answers with what came of it and the transaction', async () => {
  const { probe, counters } = await firstPoll();
  await probe.publish(REFRESH, JSON.stringify({ transaction: 'tx-7' }));
  expect(await probe.until(ANSWER, () => true)).toEqual({
    schema: 1,
    status: 'ok',
    data: { accounts: [{ account: 'home', changes: 0 }] },
    transaction: 'tx-7',
  });
  expect(counters.requests[USAGE]).toBe(2);
});

test('a second refresh within five minutes is skipped, with the time when it would not be', async () => {
  const { story, probe, counters } = await firstPoll();
  await probe.publish(REFRESH, '');
  await probe.until(ANSWER, ({ status }) => status === 'ok');
  const nextAt = `${new Date(story.clock.now() + 300_000).toISOString().slice(0, 19)}+00:00`;
  await probe.publish(REFRESH, '');
  expect(await probe.until(ANSWER, ({ status }) => status === 'skipped')).toMatchObject({
    data: { reason: 'cool_down', next_at: nextAt },
  });
  expect(counters.requests[USAGE]).toBe(2);
  await story.pass(301_000, 5_000);
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

test('a refresh that fails answers with the reason', async () => {
  const { probe, switches } = await firstPoll();
  switches.fault('/api/', { kind: 'reset' });
  await probe.publish(REFRESH, '');
  expect(await probe.until(ANSWER, () => true)).toMatchObject({
    status: 'error',
    error: { code: 'provider_unreachable', message: expect.stringContaining('usage report') },
  });
});

test('health is published and answered', async () => {
  const { probe } = await firstPoll();
  await probe.publish('heat2mqtt/bridge/request/health', '');
  expect(await probe.until('heat2mqtt/bridge/response/health', () => true)).toMatchObject({ status: 'ok' });
});

test('a parameter that nobody knows is refused', async () => {
  const { probe, counters } = await firstPoll();
  await probe.publish(REFRESH, JSON.stringify({ force: true }));
  expect(await probe.until(ANSWER, () => true)).toMatchObject({
    status: 'error',
    error: { code: 'request_malformed', message: expect.stringContaining('force') },
  });
  expect(counters.requests[USAGE]).toBe(1);
});

test('a request of unknown name is answered with those there are', async () => {
  const { probe, counters } = await firstPoll();
  await probe.publish('heat2mqtt/bridge/request/refrehs', JSON.stringify({ transaction: 'tx-8' }));
  expect(await probe.until('heat2mqtt/bridge/response/refrehs', () => true)).toEqual({
    schema: 1,
    status: 'error',
    error: {
      code: 'unknown_request',
      message: 'Unknown request "refrehs"; there are: backfill, constituencies, health, refresh.',
    },
    transaction: 'tx-8',
  });
  expect(counters.requests[USAGE]).toBe(1);
});

test('a retained request from before the start is ignored, and the log says so', async () => {
  const story = await openStory();
  const probe = await story.listen();
  await probe.publish(REFRESH, '', { retain: true });
  await probe.publish(REFRESH, '{}', { retain: true });
  await story.start();
  await probe.until(STATE, () => true);
  await untilTrue('a word in the log', () =>
    story.log.some(({ msg }) => String(msg).startsWith('retained request')),
  );
  await story.polled(1);
  await probe.until(HEALTH, ({ last_success_at }) => last_success_at !== null);
  expect(probe.on(ANSWER)).toEqual([]);
  expect(story.simulator.counters.requests[USAGE]).toBe(1);
});
