// Replies that nobody expected: never a crash, never a zero, and health says what came in place of what.
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/faults.ts';
import { FAULTS, inBuckets, inSums } from '../support/faults.ts';
import { booked, EVENT, HEALTH, home, person, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS, served } from '../support/story.ts';

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

test('a shard without any copy: no total shrinks, at a poll as at a first history', async () => {
  const { story, probe, state, switches, daemon } = await polledStory();
  switches.api.missingShards = 2;
  await story.nextPoll(48 * HOUR_MS);
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health).toMatchObject({ state: 'degraded', last_error: expect.stringContaining('2 of the index') });
  const reasons = health.reasons as { code: string; hint: string }[];
  expect(reasons.map(({ code }) => code)).toContain('incomplete_reply');
  expect(probe.on(EVENT)).toEqual([]);
  expect((await (await story.listen()).until(STATE)).energy_total).toBe(state.energy_total);

  await story.stop(daemon);
  await story.restartBroker();
  const first = await story.listen();
  await story.start({ state_dir: await story.stack.folder() });
  await story.polled(3);
  expect(first.on(STATE)).toEqual([]);
  switches.api.missingShards = 0;
  await story.nextPoll();
  expect((await first.until(STATE)).energy_total).toBe(booked(story.simulator).kwh);
});

test('a history that was read with a hole, from an engine that does not tell, is mended by a backfill', async () => {
  const silent: Fault = { kind: 'change', change: (body) => ({ ...Object(body), _shards: undefined }) };
  const { story, probe, simulator, switches, state } = await firstPoll({
    prepare: ({ simulator }) => {
      simulator.switches.api.missingShards = 2;
      simulator.switches.fault('/api/v1/reports', silent);
    },
  });
  const { kwh, eur } = booked(simulator);
  expect(Number(state.energy_total)).toBeLessThan(kwh);
  switches.clearFaults();
  switches.api.missingShards = 0;
  await probe.publish('heat2mqtt/bridge/request/backfill', JSON.stringify({ from: state.origin }));
  await story.polled(2);
  const mended = await probe.until(STATE, ({ energy_total }) => energy_total === kwh);
  expect(mended.cost_total).toBeCloseTo(eur, 3);
  expect(mended.missing_days).toBe(0);
});
