// A request to poll: what it answers, and its cool-down; and one to read days again from before the totals begin.
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, home, ME, person, quiet, USAGE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

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

test('days before the totals begin are asked of nobody: they end no outage, and begin no cool-down', async () => {
  const backfill = 'heat2mqtt/bridge/request/backfill';
  const answers = 'heat2mqtt/bridge/response/backfill';
  const late = person('late', [home('70555001', quiet({ seed: 9 }), 700_001)]);
  const login = ({ username, password }: typeof ME) => ({ username, password });
  const accounts = [
    { id: 'home', ...login(ME) },
    { id: 'later', ...login(late), history_since: '2025-03-01' },
  ];
  const { story, probe, switches, counters } = await firstPoll({
    accounts: [ME, late],
    config: { accounts },
  });
  switches.fault('/api/v1/reports', FAULTS.serverError);
  const troubled = (reasons: unknown) => Object(reasons).map(({ account }: { account: string }) => account);
  await story.nextPoll(4 * HOUR_MS);
  expect(troubled(probe.json(HEALTH)?.reasons)).toEqual(['home', 'later']);
  const asked = counters.requests[USAGE];
  await probe.publish(backfill, '{"from":"2020-01-01","to":"2020-02-01"}');
  expect((await probe.until(answers)).error).toMatchObject({
    code: 'request_malformed',
    message: 'to: found "2020-02-01"; allowed: a day not before 2025-01-01, where the totals begin.',
  });
  await story.rest();
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded', poll_now_at: null });
  expect(counters.requests[USAGE]).toBe(asked);

  switches.clearFaults();
  await probe.publish(backfill, '{"from":"2024-12-01","to":"2025-01-02"}');
  expect(await probe.until(answers, ({ status }) => status === 'ok')).toMatchObject({
    data: { from: '2025-01-01', to: '2025-01-02', accounts: [{ account: 'home', changes: 0 }] },
  });
  // The other one has not been read.
  await story.rest();
  expect(troubled(probe.json(HEALTH)?.reasons)).toEqual(['later']);
});
