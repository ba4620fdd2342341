// Replies that nobody expected: never a crash, never a zero, and health says what came in place of what.
import { expect, test } from 'vitest';
import { FAULTS, type Fault, inBuckets, inSums } from '../../src/simulator/faults.ts';
import { HEALTH, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS, served } from '../support/story.ts';

const STRANGE: readonly (readonly [string, Fault, string])[] = [
  ['a captive page', FAULTS.captivePage, 'expected JSON'],
  ['nothing', FAULTS.empty, 'expected JSON'],
  ['half a reply', { kind: 'truncated' }, 'expected JSON'],
  ['a reply that breaks off', { kind: 'reset_mid_body' }, 'No answer'],
  ['17 MiB', { kind: 'oversized' }, 'larger than 16 MiB'],
  ['a gzip bomb', { kind: 'gzip_bomb' }, 'larger than 16 MiB'],
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

test.each(STRANGE)('%s: the last values stay', async (_, fault, words) => {
  const { story, probe, daemon, state, switches } = await polledStory();
  switches.fault('/api/v1/reports', fault);
  // Two days later, so that the reply would have had news.
  story.clock.advance(48 * HOUR_MS);
  story.tick();
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health.last_error).toContain(words);
  expect(health.state).toBe('degraded');
  expect((await served(daemon, 'healthz')).status).toBe(200);

  const standing = await (await story.listen()).until(STATE);
  expect(standing).toMatchObject({
    energy_total: state.energy_total,
    cost_total: state.cost_total,
    day: state.day,
  });
  switches.clearFaults();
  story.tick();
  await probe.until(STATE, ({ day }) => day === '2025-03-12');
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
