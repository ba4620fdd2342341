// The provider in trouble, or with replies that nobody expected: the last good values stay, tries are spaced, patience is kept when asked
// for, and health says what came in place of what.

import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/switches.ts';
import { FAULTS, inBuckets, inSums, tooMany } from '../support/faults.ts';
import { booked, HEALTH, home, person, STATE, USAGE } from '../support/homes.ts';
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

test('down later: entities stay available with their values, and health tells why', async () => {
  const { story, probe, state, simulator } = await firstPoll();
  simulator.switches.fault('/api/', FAULTS.htmlUnavailable);
  probe.forget();
  story.tick();
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health).toMatchObject({ state: 'degraded', reasons: [{ code: 'provider_unreachable' }] });
  expect(health.last_error).toBe('The provider answered the usage report with HTTP 503.');
  await story.pass(240_000, 10_000);
  await probe.until(HEALTH, ({ state: verdict }) => verdict === 'failing');
  expect(probe.on('heat2mqtt/bridge/state')).toEqual([]);
  expect(probe.on(STATE)).toEqual([]);
  expect((await (await story.listen()).until(STATE)).energy_total).toBe(state.energy_total);
  simulator.switches.clearFaults();
  story.tick();
  await probe.until(HEALTH, ({ state: now, last_error }) => now === 'ok' && last_error === null);
});

test('patience is kept when it is asked for; silence has an end; waits grow to half an hour and no longer', async () => {
  const { story, probe, simulator, counters } = await firstPoll();
  const reports = '/api/v1/reports';
  simulator.switches.fault(reports, tooMany(600), { times: 1 });
  await story.nextPoll();
  const until = new Date(story.clock.now() + 600_000).toISOString().slice(0, 19);
  await story.pass(9 * 60_000, 30_000);
  story.tick();
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
  story.tick();
  await untilTrue('the question', () => counters.requests[USAGE] === 4);
  await story.pass(31_000);
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health.last_error).toBe('No answer to the usage report: time ran out.');
  await story.pass(25_000);
  await story.polled(5);
  expect(counters.requests[USAGE]).toBe(5);

  simulator.switches.fault(reports, FAULTS.serverError);
  await story.nextPoll();
  await story.pass(4 * HOUR_MS, 60_000);
  const early = counters.requests[USAGE] ?? 0;
  await story.pass(2 * HOUR_MS, 60_000);
  // Seven steps double from 15 s; afterwards every 30 minutes and a heartbeat.
  expect(early - 5).toBeGreaterThanOrEqual(1 + 12);
  expect((counters.requests[USAGE] ?? 0) - early).toBeGreaterThanOrEqual(3);
  expect((counters.requests[USAGE] ?? 0) - early).toBeLessThanOrEqual(5);
});

const STRANGE: readonly (readonly [string, Fault, string])[] = [
  ['a captive page', FAULTS.captivePage, 'expected JSON'],
  ['a reply that breaks off', { kind: 'reset_mid_body' }, 'No answer'],
  ['17 MiB', FAULTS.oversized, 'larger than 16 MiB'],
  [
    'another shape',
    { kind: 'reply', status: 200, body: { aggregations: [] } },
    'expected object at aggregations, found a list',
  ],
  ['an astronomical number', inSums(() => 1e300), 'not understood'],
];
/** What every good reply brings besides. */
const WIDER: Fault = {
  kind: 'change',
  change: (body) => ({ took: 3, ...Object(body), news: [1] }),
};

async function polledStory() {
  const polled = await firstPoll();
  polled.probe.forget();
  return polled;
}

test('strange replies: the last values stay, health says what came, and the next good one is taken', async () => {
  const { story, probe, daemon, switches } = await polledStory();
  let standing = await (await story.listen()).until(STATE);
  for (const [name, fault, words] of STRANGE) {
    probe.forget();
    switches.fault('/api/v1/reports', fault);
    // Two days later, so that the reply would have had news.
    await story.nextPoll(48 * HOUR_MS);
    const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
    expect([name, health]).toMatchObject([
      name,
      { state: 'degraded', last_error: expect.stringContaining(words) },
    ]);
    expect((await served(daemon, 'healthz')).status).toBe(200);
    const { energy_total, cost_total, day } = standing;
    expect(await (await story.listen()).until(STATE)).toMatchObject({ energy_total, cost_total, day });
    switches.clearFaults();
    switches.fault('/api/v1/reports', WIDER);
    await story.nextPoll();
    standing = await probe.until(STATE, (state) => state.day !== day);
    switches.clearFaults();
  }
  const { kwh } = booked(story.simulator);
  expect(standing.energy_total).toBe(kwh);
  // What is not there does not erase what was.
  switches.fault(
    '/api/v1/reports',
    inBuckets(() => []),
  );
  await story.nextPoll();
  expect((await (await story.listen()).until(STATE)).energy_total).toBe(kwh);
  expect(probe.json(HEALTH)?.state).toBe('ok');
});

test('numbers of meters reach topics printable and short, whatever the provider calls them', async () => {
  const identifier = `70418235\u0000<script>\u0007\u202e${'x'.repeat(100_000)}`;
  const { probe } = await firstPoll({ accounts: [person('me', [home(identifier)])] });
  const meter = 'heat2mqtt/meter/70418235_script_';
  const shown = `70418235 <script> ${'x'.repeat(45)}`;
  const state = probe.heard.find(({ topic }) => topic.startsWith(meter) && topic.endsWith('/state'));
  expect(JSON.parse(String(state?.payload))).toMatchObject({ meter_identifiers: [shown] });
  const written = probe.heard.map(({ topic, payload }) => `${topic} ${payload}`);
  const unprintable = /\\u00[01]|[\p{Cc}\p{Cf}]/u;
  expect(written.filter((text) => unprintable.test(text) || text.includes('x'.repeat(65)))).toEqual([]);
});
