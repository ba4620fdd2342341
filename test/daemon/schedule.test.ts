// The schedule of the polls: the delay of an installation after each tick, what is told of the next poll, and whether one can wait.
import { expect, test } from 'vitest';
import type { Context } from '../../src/daemon/context.ts';
import type { Poller } from '../../src/daemon/polling/poller.ts';
import { startSchedule } from '../../src/daemon/polling/schedule.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { untilAtRest } from '../support/rest.ts';

const MINUTE_MS = 60_000;
const STEP_MS = 30 * MINUTE_MS;

function open({ jitterMs = 5 * MINUTE_MS, lastSuccessAgoMs = 0, retryInMs = null as number | null } = {}) {
  const clock = handClock('2025-03-10T12:00:00Z');
  const tickAt = clock.now() + STEP_MS;
  let polls = 0;
  let tick = () => {};
  const poller = {
    troubles: new Map(retryInMs === null ? [] : [['home', { retryAt: clock.now() + retryInMs }]]),
    async poll() {
      polls += 1;
    },
  } as unknown as Poller;
  const account = { meters: [], history: { record: { lastSuccessAt: clock.now() - lastSuccessAgoMs } } };
  const usage = { schedule: '*/30 * * * *', timezone: 'Europe/Dublin' };
  const context = {
    accounts: [account],
    config: { usage },
    clock,
    log: logLines().log,
  } as unknown as Context;
  const startTicker = (_expression: string, _timezone: string, onTick: () => void) => {
    tick = onTick;
    return { next: () => tickAt, step: () => STEP_MS, stop: () => undefined };
  };
  const schedule = startSchedule(poller, jitterMs, startTicker, context);
  return {
    schedule,
    clock,
    tick: () => tick(),
    async pass(ms: number) {
      await clock.pass(ms, untilAtRest);
      return polls;
    },
    minutesUntilNextPoll: () => ((schedule.nextPollAt() ?? 0) - clock.now()) / MINUTE_MS,
  };
}

test('a poll follows its tick after the delay of the installation; ticks meanwhile belong to it', async () => {
  const { tick, pass, minutesUntilNextPoll } = open();
  expect(minutesUntilNextPoll()).toBe(35);
  tick();
  expect(minutesUntilNextPoll()).toBe(5);
  tick();
  expect(await pass(4 * MINUTE_MS)).toBe(0);
  expect(await pass(2 * MINUTE_MS)).toBe(1);
  tick();
  expect(await pass(5 * MINUTE_MS)).toBe(2);
});

test('the delay is at most half of the time to the next tick', async () => {
  const { tick, pass, minutesUntilNextPoll } = open({ jitterMs: 60 * MINUTE_MS });
  expect(minutesUntilNextPoll()).toBe(45);
  tick();
  expect(await pass(15 * MINUTE_MS)).toBe(1);
});

test('a stop during the delay: no poll', async () => {
  const { schedule, tick, pass } = open();
  tick();
  schedule.stop();
  expect(await pass(5 * MINUTE_MS)).toBe(0);
});

test('a retry that comes before the tick is the next poll', () => {
  expect(open({ retryInMs: 2 * MINUTE_MS }).minutesUntilNextPoll()).toBe(2);
});

// That a poll at the start is left out where the last one is recent is in test/story/restart.test.ts.
test('what was read by a clock that was ahead is not recent', () => {
  expect(open({ lastSuccessAgoMs: 0 }).schedule.isRecent()).toBe(true);
  expect(open({ lastSuccessAgoMs: -MINUTE_MS }).schedule.isRecent()).toBe(false);
});
