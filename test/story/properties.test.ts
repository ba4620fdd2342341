// The way to the meters, which is kept on disk: properties that appear are found within a week, a renumbered one goes on as it was, and
// what no longer leads there is found again once.

import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import {
  booked,
  EVENT,
  HEALTH,
  home,
  METER,
  PROPERTY,
  person,
  quiet,
  reading,
  STATE,
  USAGE,
} from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, type Story } from '../support/story.ts';

const DISCOVERY = 'GET /api/v1/customers/:id';
const OTHER = '70418300';
const ONLY_THE_FIRST: Fault = {
  kind: 'change',
  change: (body) => ({ objects: (body as { objects: unknown[] }).objects.slice(0, 1) }),
};

async function quietDays(story: Story, days: number): Promise<void> {
  for (let left = days; left > 0; left -= 1) await story.nextPoll(24 * HOUR_MS);
}

test('a property that appears is found within a week, read in the same poll, and costs three questions', async () => {
  const homes = [home(), home(OTHER, quiet({ seed: 5 }), PROPERTY + 1)];
  const story = await openStory({ accounts: [person('me', homes)] });
  const { remove: moveIn } = story.simulator.switches.fault('/api/v1/customers', ONLY_THE_FIRST, {
    when: ({ query }) => query.has('parent-group'),
  });
  const probe = await story.listen();
  const daemon = await story.start();
  const { requests } = story.simulator.counters;
  await story.polled(1);
  moveIn();
  await quietDays(story, 3);
  await story.stop(daemon);
  await story.start();
  await quietDays(story, 3);
  expect(requests[DISCOVERY]).toBe(1);
  // A list that cannot be asked for is no trouble, and tried again a day later.
  const refused = { kind: 'reply', status: 403, body: {} } as const;
  const { remove: open } = story.simulator.switches.fault('/api/v1/customers', refused);
  await quietDays(story, 1);
  await story.nextPoll(4 * HOUR_MS);
  expect(requests[DISCOVERY]).toBe(2);
  expect(story.logged('new properties could not be looked for')).toHaveLength(1);
  expect(story.logged('poll failed')).toEqual([]);
  open();
  await quietDays(story, 1);
  const state = await probe.until(`heat2mqtt/meter/${OTHER}/state`);
  expect(state.energy_total).toBeCloseTo(booked(story.simulator, PROPERTY + 1).kwh, 3);
  await quietDays(story, 6);
  expect(requests[DISCOVERY]).toBe(3);
  expect(probe.on(`heat2mqtt/meter/${METER}/state`).some(({ payload }) => payload === '')).toBe(false);
});

test('a renumbered property that has only its own days: the series of its meter goes on, each day once', async () => {
  const old: ExplicitEvent[] = [reading('2025-03-08', 10, 1), reading('2025-03-09', 20, 2)];
  const accounts = [person('me', [home(METER, { events: old })])];
  const { story, probe, restart, state: before } = await firstPoll({ accounts });
  expect(before.energy_total).toBe(30);
  story.simulator.renumberProperty(PROPERTY, PROPERTY + 7);
  old.splice(0, 2, reading('2025-03-09', 21, 2), reading('2025-03-10', 5, 1));
  await story.pass(24 * HOUR_MS, 8 * HOUR_MS);
  await story.tick();
  const state = await probe.until(STATE, ({ energy_total }) => energy_total !== 30);
  expect(state).toMatchObject({ energy_total: 36, cost_total: 4, day: '2025-03-10' });
  await restart();
  await story.rest();
  expect(await untilTrue('the state', async () => probe.json(STATE))).toMatchObject({ energy_total: 36 });
});

test.each([403, 404])(
  'HTTP %i for a known property: discovered again, read in the same poll',
  async (status) => {
    const { story, probe, counters, switches, state } = await firstPoll();
    switches.api.retiredStatus = status;
    story.simulator.renumberProperty(PROPERTY, 600_001);
    await story.nextPoll(24 * HOUR_MS);
    const { energy_total } = await probe.until(STATE, ({ day }) => day !== state.day);
    expect(energy_total).toBeCloseTo(booked(story.simulator, 600_001).kwh, 3);
    expect(counters.requests[DISCOVERY]).toBe(2);
    // It helped, so that another one on the same day is new.
    story.simulator.renumberProperty(600_001, 600_002);
    await story.nextPoll();
    expect(counters.requests[DISCOVERY]).toBe(3);
    expect(probe.json(HEALTH)?.state).toBe('ok');
  },
);

test('a refusal that discovery does not cure costs one discovery a day', async () => {
  const { story, probe, counters, switches } = await firstPoll();
  switches.fault('/api/v1/reports', { kind: 'reply', status: 403, body: {} });
  await story.nextPoll();
  expect(counters.requests[DISCOVERY]).toBe(2);
  await story.pass(6 * HOUR_MS, 300_000);
  expect(counters.requests[USAGE]).toBeGreaterThan(8);
  expect(counters.requests[DISCOVERY]).toBe(2);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'failing', reasons: [{ code: 'provider_refused' }] });
});

test('a refused property keeps no other from being read, and its discovery that fails takes no event; trouble at the provider ends the poll', async () => {
  const homes = [home(), home('70418300', quiet({ seed: 5 }), PROPERTY + 1)];
  const { story, probe, switches } = await firstPoll({ accounts: [person('me', homes)] });
  const asksFor =
    (id: number) =>
    ({ path, body }: { path: string; body: unknown }) =>
      path.includes('/reports') && JSON.stringify(body).includes(`${id}`);
  const reads = (id: number) => story.simulator.requests.filter(asksFor(id)).length;
  switches.fault('/api/v1/customers', { kind: 'reply', status: 503, body: {} });
  for (const [id, status, isOtherRead] of [
    [PROPERTY, 403, true],
    [PROPERTY + 1, 404, true],
    [PROPERTY, 503, false],
  ] as const) {
    const fault = switches.fault(
      '/api/v1/reports',
      { kind: 'reply', status, body: {} },
      { when: asksFor(id) },
    );
    const other = id === PROPERTY ? PROPERTY + 1 : PROPERTY;
    const before = reads(other);
    probe.forget();
    await story.nextPoll(24 * HOUR_MS);
    expect(reads(other) > before).toBe(isOtherRead);
    // What the first one has read is told, although the discovery after it has failed.
    expect(probe.on(EVENT).length > 0).toBe(id !== PROPERTY);
    expect(probe.json(HEALTH)).toMatchObject({ reasons: [{ code: 'provider_unreachable' }] });
    fault.remove();
  }
});
