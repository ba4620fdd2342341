// What a clock may do: not set at boot, years ahead, set back, or a machine that was asleep over a time of the schedule.
import { expect, test } from 'vitest';
import type { Clock } from '../../src/foundation/clock.ts';
import { look } from '../simulator/visitor.ts';
import { booked, HEALTH, STATE, USAGE } from '../support/homes.ts';
import { DAY_MS, firstPoll, HOUR_MS, MINUTE_MS, openStory } from '../support/story.ts';

/** A clock of the daemon alone, which is off by so much. */
function offBy(ms: number) {
  const off = { ms };
  const daemonClock = (clock: Clock): Clock => ({ ...clock, now: () => clock.now() + off.ms });
  return { off, daemonClock };
}

test.each([
  ['jumps a day ahead', DAY_MS + 60_000],
  ['was suspended for four seconds over the time', 4_000],
])('a machine that %s: one poll, at once', async (_name, jumpMs) => {
  const { story, counters } = await firstPoll();
  // Two seconds before the next time of the schedule.
  await story.pass(4 * HOUR_MS - 2_000, HOUR_MS);
  const asked = counters.requests[USAGE] ?? 0;
  story.clock.jump(jumpMs);
  await story.pass(2_000);
  await story.polled(2);
  await story.pass(60_000, 10_000);
  expect(counters.requests[USAGE]).toBe(asked + 1);
});

test('a clock that steps back an hour: the next poll is at the next time by the clock as it is now', async () => {
  const { story, probe } = await firstPoll({ at: '2025-03-10T12:30:00Z' });
  story.clock.jump(-HOUR_MS);
  await story.pass(5_000);
  const health = await probe.until(HEALTH, ({ next_poll_at }) => String(next_poll_at).includes('T12:00:00'));
  expect(health.state).toBe('ok');
  await story.pass(30 * 60_000, 60_000);
  await story.polled(2);
});

test('a machine that wakes up in 1970 polls once as soon as its clock is set', async () => {
  const { off, daemonClock } = offBy(-55 * 365 * DAY_MS);
  const story = await openStory({ daemonClock });
  const probe = await story.listen();
  await story.start();
  await story.polled(1);
  expect(story.logged('poll failed')).toMatchObject([{ code: 'clock_not_set' }]);
  off.ms = 0;
  await story.pass(2_000);
  await probe.until(STATE, ({ energy_total }) => energy_total === booked(story.simulator).kwh);
  expect(story.simulator.counters.requests[USAGE]).toBe(1);
});

test('what is retained of meters and accounts stays as it was when a machine that starts again lives in 1970', async () => {
  const { off, daemonClock } = offBy(0);
  const { story, probe, daemon } = await firstPoll({ daemonClock });
  await story.stop(daemon);
  probe.forget();
  off.ms = -55 * 365 * DAY_MS;
  await story.start();
  await probe.until(HEALTH, ({ reasons }) => look(reasons, '0.code') === 'clock_not_set');
  expect(probe.heard.map(({ topic }) => topic).filter((topic) => !/bridge/.test(topic))).toEqual([]);
  off.ms = 0;
  await story.pass(2_000);
  await probe.until(STATE, ({ energy_total }) => energy_total === booked(story.simulator).kwh);
});

test('a first start with a clock before history_since reads nothing until the clock is right', async () => {
  const { off, daemonClock } = offBy(-2 * 365 * DAY_MS);
  const story = await openStory({ daemonClock });
  const probe = await story.listen();
  await story.start({ usage: { history_since: '2024-01-01' } });
  await story.polled(1);
  expect(story.logged('poll failed')).toMatchObject([{ code: 'clock_not_set' }]);
  off.ms = 0;
  await story.pass(2_000);
  expect(await probe.until(STATE)).toMatchObject({ origin: '2024-01-01' });
  expect(probe.heard.filter(({ topic }) => /\/meter\/.*\/event$/.test(topic))).toEqual([]);
});

test('a first start whose clock is three years ahead, then right: the origin is that of the right clock, and nothing is missing', async () => {
  const { off, daemonClock } = offBy(3 * 365 * DAY_MS);
  const story = await openStory({ daemonClock });
  const probe = await story.listen();
  await story.start({ usage: { history_since: undefined } });
  await story.polled(1);
  off.ms = 0;
  await story.pass(2_000);
  await story.nextPoll(4 * HOUR_MS);
  const state = await probe.until(STATE, ({ origin }) => origin === '2023-01-01');
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
});

test('tells no trouble of a refresh when that failed in the year 9999, and the clock is right again', async () => {
  const { off, daemonClock } = offBy(0);
  const story = await openStory({ daemonClock });
  const probe = await story.listen();
  await story.start();
  await story.polled(1);
  await story.pass(10 * MINUTE_MS, 10_000);
  // Certificates have long ended there.
  const isAway = story.simulator.switches.fault('/', { kind: 'reset' });
  off.ms = Date.UTC(9999, 5, 1) - story.clock.now();
  await story.pass(10_000, 1_000);
  expect(story.logged('refresh ahead of expiry failed')).toHaveLength(1);
  await probe.until(HEALTH, ({ auth }) => look(auth, 'home.state') === 'provider_down');
  isAway.remove();
  const { refreshGrants } = story.simulator.counters;
  const { asked } = refreshGrants;
  off.ms = 0;
  await story.pass(6 * MINUTE_MS, 10_000);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [], auth: { home: { state: 'ok' } } });
  // No refresh was due meanwhile.
  expect(refreshGrants.asked).toBe(asked);
});
