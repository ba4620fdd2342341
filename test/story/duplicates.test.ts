// The same meter through two accounts: one series, read once, by the first account that can.
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { EVENT, HEALTH, home, METER, person, reading, STATE, USAGE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const REGISTER = 'GET /api/v1/customers/:id/usage-events';

function couple(events: ExplicitEvent[]) {
  const [ann, bob] = ['ann', 'bob'].map((name) => person(name, [home(METER, { events })]));
  if (!ann || !bob) throw new Error('no couple');
  return { ann, bob, accounts: [ann, bob] };
}

const week = (): ExplicitEvent[] => [3, 4, 5, 6, 7, 8, 9].map((day) => reading(`2025-03-0${day}`, day, 1));
const codes = (health: Record<string, unknown> | undefined) =>
  ((health?.reasons ?? []) as { code: string; account: string; meter: string; message: string }[]).filter(
    ({ code }) => code === 'duplicate_meter',
  );

test('a couple: one series, one question for each poll, nothing twice, and the second named on health', async () => {
  const events = week();
  const { accounts } = couple(events);
  const { story, probe, state, counters, simulator } = await firstPoll({ accounts });
  expect(state.energy_total).toBe(42);
  expect(counters.requests[USAGE]).toBe(1);
  expect(counters.requests[REGISTER]).toBe(1);
  expect(story.logged('another account has this meter already')).toEqual([
    expect.objectContaining({ account: 'home2', otherAccount: 'home' }),
  ]);
  expect(codes(probe.json(HEALTH))).toEqual([
    expect.objectContaining({
      account: 'home2',
      meter: METER,
      message: 'The accounts home and home2 have the same meter. It is read once, by home.',
    }),
  ]);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded' });
  expect(probe.json('heat2mqtt/bridge/info')?.meters).toEqual([
    expect.objectContaining({ meter: METER, account: 'home' }),
  ]);
  expect(probe.json('heat2mqtt/account/home2/state')).toMatchObject({ auth_state: 'ok' });
  events.push(reading('2025-03-10', 10, 1));
  await story.nextPoll(4 * HOUR_MS);
  expect(counters.requests[USAGE]).toBe(2);
  expect(probe.on(EVENT)).toHaveLength(1);
  expect(probe.json(STATE)?.energy_total).toBe(52);

  simulator.endSessions();
  for (const { username } of accounts) simulator.changePassword(username, 'another one');
  await story.nextPoll(4 * HOUR_MS);
  expect(codes(probe.json(HEALTH)).map(({ message }) => message)).toEqual([
    'The accounts home and home2 have the same meter. It counts once. home, which is to read it, cannot sign in at present.',
  ]);
});

test('one login twice is the same', async () => {
  const { ann } = couple(week());
  const { username, password } = ann;
  const { state, counters } = await firstPoll({
    accounts: [ann],
    config: {
      accounts: [
        { id: 'home', username, password },
        { id: 'again', username, password },
      ],
    },
  });
  expect(state.energy_total).toBe(42);
  expect(counters.requests[USAGE]).toBe(1);
});

test('while the first account cannot, the second reads the same series on, and gives it back', async () => {
  const events = week();
  const { ann, accounts } = couple(events);
  const { story, probe, counters, simulator } = await firstPoll({ accounts });
  simulator.endSessions();
  simulator.changePassword(ann.username, 'another one');
  events.push(reading('2025-03-10', 10, 1));
  await story.nextPoll(4 * HOUR_MS);
  expect(probe.json(STATE)?.energy_total).toBe(52);
  expect(probe.on(EVENT)).toHaveLength(1);
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({
    auth_state: 'bad_credentials_or_locked',
  });
  expect(story.logged('read in place of another account')).toEqual([
    expect.objectContaining({ account: 'home2', insteadOf: 'home' }),
  ]);
  simulator.changePassword(ann.username, ann.password);
  await story.nextPoll(24 * HOUR_MS);
  const asked = counters.requests[USAGE];
  await story.nextPoll(4 * HOUR_MS);
  expect(counters.requests[USAGE]).toBe((asked ?? 0) + 1);
  expect(story.logged('read in place of another account')).toHaveLength(1);
});

test('the first account cannot sign in from the start: the second reads, and keeps the series over a restart', async () => {
  const { ann, accounts } = couple(week());
  const { story, probe, counters, simulator, restart } = await firstPoll({
    accounts,
    prepare: ({ simulator }) => simulator.changePassword(ann.username, 'another one'),
  });
  expect(probe.json(STATE)?.energy_total).toBe(42);
  expect(probe.json('heat2mqtt/bridge/info')?.meters).toEqual([
    expect.objectContaining({ account: 'home2' }),
  ]);
  simulator.changePassword(ann.username, ann.password);
  await story.nextPoll(24 * HOUR_MS);
  expect(codes(probe.json(HEALTH))).toEqual([expect.objectContaining({ account: 'home' })]);
  const asked = counters.requests[USAGE];
  await restart();
  await story.nextPoll(4 * HOUR_MS);
  expect(counters.requests[USAGE]).toBe((asked ?? 0) + 1);
  expect(probe.json('heat2mqtt/bridge/info')?.meters).toEqual([
    expect.objectContaining({ account: 'home2' }),
  ]);
});

test('the reader is taken out of the configuration: the other account goes on with the same series', async () => {
  const { bob, accounts } = couple(week());
  const { story, probe, restart } = await firstPoll({ accounts });
  const { username, password } = bob;
  await restart({ accounts: [{ id: 'home2', username, password }] });
  await story.polled(3);
  expect(probe.json(STATE)?.energy_total).toBe(42);
  expect(codes(probe.json(HEALTH))).toEqual([]);
  expect(probe.on(EVENT)).toEqual([]);
});
