// A request to poll: what it answers, and its cool-down; corrections of the configuration take effect.
import { expect, test } from 'vitest';
import { HEALTH, USAGE } from '../support/homes.ts';
import { firstPoll } from '../support/story.ts';

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
