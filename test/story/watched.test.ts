// What machines that watch see of a living daemon: metrics that count, and a port that was taken.
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, STATE } from '../support/homes.ts';
import { firstPoll, openStory, served } from '../support/story.ts';
import { openWire } from '../support/wire.ts';

test('metrics follow what happens', async () => {
  const { story, daemon, restart } = await firstPoll();
  const scrape = async () => (await served(daemon, 'metrics')).text();
  const first = await scrape();
  for (const line of ['polls_total 1', 'logins_total 1', 'mqtt_connected 1', 'days{meter="70418235"} 69']) {
    expect(first).toContain(`heat2mqtt_${line}\n`);
  }
  expect(first).toMatch(/heat2mqtt_access_token_seconds_left\{account="home"\} (1800|179\d)/);
  expect(first).toContain(`heat2mqtt_provider_requests_total ${story.simulator.requests.length}\n`);
  story.simulator.switches.fault('/api/', FAULTS.serverError);
  await story.nextPoll();
  expect(await scrape()).toContain('heat2mqtt_poll_failures_total{code="provider_unreachable"} 1\n');
  // Off is off.
  expect((await restart({ http: false })).httpPort).toBeNull();
});

test('a taken port is a reason of its own; the bridge does its work without', async () => {
  const story = await openStory();
  const squatter = story.stack.use(await openWire());
  const probe = await story.listen();
  const daemon = await story.start({ http: { listen: new URL(squatter.url).host } });
  await probe.until(STATE);
  expect(daemon.httpPort).toBeNull();
  const health = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(health.reasons).toMatchObject([{ code: 'listen_failed' }]);
});

test('a poll that takes minutes is not unhealthy, although it began as a retry', async () => {
  const story = await openStory();
  const { switches } = story.simulator;
  switches.fault('/api/', FAULTS.serverError);
  const daemon = await story.start();
  await story.polled(1);
  switches.clearFaults();
  switches.fault('/api/', { kind: 'slow', ms: 29_000 });
  await story.pass(20_000, 5_000);
  const polled = story.logged('polled').length;
  // The loop is taken for dead after two minutes without a heartbeat.
  await story.pass(140_000, 5_000);
  expect(story.logged('polled')).toHaveLength(polled);
  expect((await served(daemon, 'healthz')).status).toBe(200);
});

test('a machine that starts in 1970 is healthy when the network has told it the time', async () => {
  let behindMs = Date.parse('2025-03-10T12:00:00Z');
  const story = await openStory({
    daemonClock: (clock) => ({ ...clock, now: () => clock.now() - behindMs }),
  });
  const daemon = await story.start();
  const healthz = async () => (await served(daemon, 'healthz')).status;
  expect(await healthz()).toBe(200);
  behindMs = 0;
  expect(await healthz()).toBe(200);
});
