// Replies that nobody expected: never a crash, never a zero, and health says what came in place of what.
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/faults.ts';
import { FAULTS, gzipBomb, inBuckets, inSums } from '../support/faults.ts';
import { booked, EVENT, HEALTH, home, person, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS, served } from '../support/story.ts';

const STRANGE: readonly (readonly [string, Fault, string])[] = [
  ['a captive page', FAULTS.captivePage, 'expected JSON'],
  ['nothing', FAULTS.empty, 'expected JSON'],
  ['half a reply', { kind: 'truncated' }, 'expected JSON'],
  ['a reply that breaks off', { kind: 'reset_mid_body' }, 'No answer'],
  ['17 MiB', FAULTS.oversized, 'larger than 16 MiB'],
  ['a gzip bomb', gzipBomb(), 'larger than 16 MiB'],
  [
    'another shape',
    { kind: 'reply', status: 200, body: { aggregations: [] } },
    'expected object at aggregations, found a list',
  ],
  ['null', { kind: 'reply', status: 200, body: 'null' }, 'expected object at the top, found null'],
  ['text for numbers', inSums(() => 'twelve'), 'found a string'],
  ['an astronomical number', inSums(() => 1e300), 'not understood'],
  ['the same day twice', inBuckets((buckets) => [...buckets, ...buckets]), 'two for'],
  ['buckets as an object', inBuckets(() => ({})), 'expected array'],
];

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
    await story.nextPoll();
    standing = await probe.until(STATE, (state) => state.day !== day);
  }
  const { kwh } = booked(story.simulator);
  expect(standing.energy_total).toBe(kwh);
});

test('what is not there does not erase what was', async () => {
  const { story, probe, state, switches } = await polledStory();
  switches.fault(
    '/api/v1/reports',
    inBuckets(() => []),
  );
  await story.nextPoll();
  const standing = await (await story.listen()).until(STATE);
  expect(standing.energy_total).toBe(state.energy_total);
  expect(probe.json(HEALTH)?.state ?? 'ok').toBe('ok');
});

test('unknown fields are not even noticed', async () => {
  const { story, probe, state, switches } = await polledStory();
  const wider = {
    kind: 'change' as const,
    change: (body: unknown) => ({ took: 3, ...(body as object), news: [1] }),
  };
  switches.fault('/api/v1/reports', wider);
  story.clock.advance(24 * HOUR_MS);
  story.tick();
  const later = await probe.until(STATE, ({ day }) => day === '2025-03-11');
  expect(Number(later.energy_total)).toBeGreaterThan(Number(state.energy_total));
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

test.each([
  ['a shard without any copy', { missingShards: 2 }, '2 of the index'],
  ['a search that ended early', { endsEarly: true }, 'the search ended early'],
])('%s: no total shrinks, at a poll as at a first history', async (_, trouble, words) => {
  const { story, probe, state, switches } = await polledStory();
  Object.assign(switches.api, trouble);
  await story.nextPoll(48 * HOUR_MS);
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health).toMatchObject({ state: 'degraded', last_error: expect.stringContaining(words) });
  const reasons = health.reasons as { code: string; hint: string }[];
  expect(reasons.map(({ code }) => code)).toContain('incomplete_reply');
  expect(probe.on(EVENT)).toEqual([]);
  expect((await (await story.listen()).until(STATE)).energy_total).toBe(state.energy_total);

  const first = await firstPoll({
    prepare: ({ simulator }) => void Object.assign(simulator.switches.api, trouble),
  });
  expect(first.probe.on(STATE)).toEqual([]);
  Object.assign(first.switches.api, { missingShards: 0, endsEarly: false });
  await first.story.nextPoll();
  expect((await first.probe.until(STATE)).energy_total).toBe(state.energy_total);
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
