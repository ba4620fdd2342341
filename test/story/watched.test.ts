// What is seen of a daemon from outside: metrics, health, the report, and a way out that is quick and leaves the state whole.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { about, CANARY } from '../support/canaries.ts';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, ME, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, type Story, served } from '../support/story.ts';
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

test('a taken port is a reason of its own; the bridge does its work without, and listens within a minute once it is free', async () => {
  const story = await openStory();
  const squatter = story.stack.use(await openWire());
  const probe = await story.listen();
  const daemon = await story.start({ http: { listen: new URL(squatter.url).host } });
  await probe.until(STATE);
  expect(daemon.httpPort).toBeNull();
  const health = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(health.reasons).toMatchObject([{ code: 'listen_failed' }]);
  await squatter.stop();
  await story.pass(61_000);
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  expect((await fetch(`http://${new URL(squatter.url).host}/healthz`)).status).toBe(200);
});

test('the log names the page as it is reached when it is served over IPv6', async () => {
  const story = await openStory();
  const daemon = await story.start({ http: { listen: '[::1]:0' } });
  const [served] = story.logged('the page is served');
  expect(served?.page).toBe(`http://[::1]:${daemon.httpPort}/`);
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

async function report(story: Story, over: Readonly<Record<string, unknown>> = {}) {
  const { out, err, exitCode } = await story.type('report', over);
  story.alsoSaid(out, err);
  return { code: exitCode, text: out + err };
}

test('polls, budget, ledger and shapes of replies, after a good poll and a strange one', async () => {
  const story = await openStory();
  story.simulator.switches.fault('/api/', FAULTS.notFound, {
    when: ({ path }) => /invoices|bills/.test(path),
  });
  const probe = await story.listen();
  await story.start();
  await probe.until(STATE);
  await story.polled(1);
  story.simulator.switches.fault('/api/v1/reports', {
    kind: 'reply',
    status: 200,
    body: { aggregations: { resources: about(ME), [CANARY.name]: 1 } },
  });
  await story.tick();
  await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  await story.rest();

  const { code, text } = await report(story);
  expect(code).toBe(0);
  expect(text).toMatch(/Node|node v/);
  expect(text).toMatch(/2025-03-10T12:\S+ ok\n +2025-03-10T12:\S+ unexpected_reply\n/);
  expect(text).toContain('no login was refused');
  expect(text).toContain('invoices 2025-03-10, left out; register 2025-03-10\n');
  expect(text).toContain('origin 2025-01-01, read up to 2025-03-11, history complete');
  expect(text).toContain('aggregations.resources.buckets[].key: string');
  expect(text).toContain('aggregations.<key>: number');
  expect(text).toMatch(/username: "?\[private\]"? # file/);
  expect(text).not.toContain('mail.example.org');

  story.simulator.switches.clearFaults();
  story.simulator.switches.fault('/api/', FAULTS.captivePage);
  await story.nextPoll();
  story.simulator.changePassword(ME.username, 'another');
  story.simulator.endSessions();
  await story.nextPoll(HOUR_MS);
  const later = (await report(story)).text;
  expect(later).toContain('text/html, not JSON');
  expect(later).toMatch(/logins refused: 1 \(\w+\), next try 2025-03-10T13:15/);
});

test('a report before the first start, and with a configuration that is wrong', async () => {
  const story = await openStory();
  const { code, text } = await report(story);
  expect(code).toBe(0);
  expect(text).toContain('never polled');
  expect(text).toContain('none seen yet');
  const { username, password } = ME;
  const wrong = await report(story, { accounts: [{ username, password, pasword: password }] });
  expect(wrong.code).toBe(3);
  expect(wrong.text).toContain('accounts.0.pasword: found an unknown key');
});

const BRIDGE = 'heat2mqtt/bridge/state';
const LONGEST_MS = 8_000;

test('in the middle of the login: offline within the time, and a new start goes on', async () => {
  const story = await openStory();
  story.simulator.switches.fault('/auth/', { kind: 'hang' });
  const probe = await story.listen();
  const daemon = await story.start();
  await untilTrue('the question', () => story.simulator.requests.at(-1)?.path.startsWith('/auth/'));
  await untilTrue('online', () => probe.last(BRIDGE)?.payload === 'online');
  expect(await story.stop(daemon)).toBeLessThan(LONGEST_MS);
  const late = await story.listen();
  expect(await untilTrue('it', () => late.last(BRIDGE))).toMatchObject({
    payload: 'offline',
    retained: true,
  });
  story.simulator.switches.clearFaults();
  await story.start();
  await probe.until(STATE);
});

test('a poll that is broken off is no failed poll, and nothing is said after offline', async () => {
  const { story, probe, daemon } = await firstPoll();
  story.simulator.switches.fault('/api/v1/reports', { kind: 'hang' });
  await story.tick();
  await untilTrue('the question', () => story.simulator.counters.requests[USAGE] === 2);
  probe.forget();
  expect(await story.stop(daemon)).toBeLessThan(LONGEST_MS);
  expect(story.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  expect(probe.on('heat2mqtt/bridge/event')).toEqual([]);
  expect(probe.on(HEALTH)).toEqual([]);
  const { accounts } = JSON.parse(await readFile(join(story.stateDir, 'journal.json'), 'utf8'));
  expect(accounts.home.polls).toEqual([[expect.any(Number), null]]);
  await story.pass(60_000);
  expect(probe.heard.at(-1)).toMatchObject({ topic: BRIDGE, payload: 'offline' });
});

test('a start and a stop at once leave nothing running', async () => {
  const story = await openStory();
  const daemon = await story.start();
  expect(await story.stop(daemon)).toBeLessThan(LONGEST_MS);
  const asked = story.simulator.requests.length;
  await story.pass(120_000, 5_000);
  expect(story.simulator.requests.length).toBe(asked);
});
