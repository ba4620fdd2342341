// The provider in trouble, or with replies that nobody expected: the last good values stay, tries are spaced, patience is kept when asked
// for, and health says what came in place of what.

import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/switches.ts';
import { asked } from '../support/extras.ts';
import { FAULTS, inBuckets, tooMany } from '../support/faults.ts';
import { booked, HEALTH, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, served } from '../support/story.ts';

const BRIDGE_EVENT = 'heat2mqtt/bridge/event';

test('down from the start: retried after some 15 s, then 30 s, until it answers', async () => {
  const { story, probe, switches, counters } = await firstPoll({
    prepare: ({ simulator }) => void simulator.switches.fault('/api/', FAULTS.serverError),
  });
  expect(await probe.until(BRIDGE_EVENT)).toMatchObject({
    event_type: 'poll_failed',
    code: 'provider_unreachable',
  });
  expect(story.logged('poll failed')).toMatchObject([
    { retryAt: expect.stringMatching(/^2025-03-10T12:00:\d\d\+00:00$/) },
  ]);
  const tries = () => counters.requests['GET /api/v1/customers/:id'];
  await story.pass(14_000);
  expect(tries()).toBe(1);
  // A heartbeat later than the 15 seconds at the latest, and 30 seconds after that one.
  await story.pass(7_000);
  expect(tries()).toBe(2);
  await story.pass(22_000);
  expect(tries()).toBe(2);
  switches.clearFaults();
  await story.pass(15_000);
  expect((await probe.until(STATE)).energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  const recovered = await probe.until(BRIDGE_EVENT, ({ event_type }) => event_type === 'recovered');
  expect(recovered).toMatchObject({ message: 'Readings arrive again.' });
  expect(counters.passwordGrants.asked).toBe(1);
});

test('a first history that cannot be read is not asked for again when the broker has been read', async () => {
  const { story, probe, counters } = await firstPoll({
    prepare: ({ simulator }) => void simulator.switches.fault('/api/v1/reports/usage', FAULTS.serverError),
  });
  await story.pass(10_000);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded', failures_in_a_row: 1 });
  expect(counters.requests[USAGE]).toBe(1);
  expect(story.logged('poll failed')).toHaveLength(1);
});

// That waits grow to half an hour is in test/foundation/retry.test.ts.
test('patience is kept when it is asked for; silence has an end', async () => {
  const { story, probe, simulator, counters } = await firstPoll();
  const reports = '/api/v1/reports';
  simulator.switches.fault(reports, tooMany(600), { times: 1 });
  await story.nextPoll();
  const until = new Date(story.clock.now() + 600_000).toISOString().slice(0, 19);
  await story.pass(9 * 60_000, 30_000);
  await story.tick();
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  const answer = await probe.until('heat2mqtt/bridge/response/refresh');
  expect(answer).toMatchObject({
    status: 'skipped',
    data: { reason: 'retry_after', next_at: `${until}+00:00` },
  });
  expect(counters.requests[USAGE]).toBe(2);
  await story.pass(2 * 60_000);
  await story.polled(3);
  expect(counters.requests[USAGE]).toBe(3);

  simulator.switches.fault(reports, { kind: 'hang' }, { times: 1 });
  probe.forget();
  await story.tick();
  await untilTrue('the question', () => counters.requests[USAGE] === 4);
  await story.pass(31_000);
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health.last_error).toBe('No answer to the usage report: time ran out.');
  await story.pass(25_000);
  await story.polled(5);
  expect(counters.requests[USAGE]).toBe(5);
});

/** What every good reply brings besides. */
const WIDER: Fault = {
  kind: 'change',
  change: (body) => ({ took: 3, ...Object(body), news: [1] }),
};

// What else may come is in test/provider/usageStrange.test.ts.
test('strange replies: the last values stay, health says what came, and the next good one is taken', async () => {
  const { story, probe, daemon, switches, state } = await firstPoll();
  const { energy_total, cost_total, day } = state;
  probe.forget();
  switches.fault('/api/v1/reports', FAULTS.captivePage);
  const balances = asked(story, 'open-bill-due');
  // Two days later, so that the reply would have had news.
  await story.nextPoll(48 * HOUR_MS);
  // After a poll that failed nothing beside the usage is asked.
  expect(asked(story, 'open-bill-due')).toBe(balances);
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health).toMatchObject({ state: 'degraded', last_error: expect.stringContaining('expected JSON') });
  expect((await served(daemon, 'healthz')).status).toBe(200);
  expect(await (await story.listen()).until(STATE)).toMatchObject({ energy_total, cost_total, day });
  switches.clearFaults();
  switches.fault('/api/v1/reports', WIDER);
  await story.nextPoll();
  const { kwh } = booked(story.simulator);
  expect(await probe.until(STATE, (said) => said.day !== day)).toMatchObject({ energy_total: kwh });
  // What is not there does not erase what was.
  switches.clearFaults();
  switches.fault(
    '/api/v1/reports',
    inBuckets(() => []),
  );
  await story.nextPoll();
  expect((await (await story.listen()).until(STATE)).energy_total).toBe(kwh);
  expect(probe.json(HEALTH)?.state).toBe('ok');
});
