// Several accounts and meters in one daemon: apart from one another, each under a name of its own, a shared meter read once by the first
// account that can, and a slow account that keeps no other waiting.
import { readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import {
  booked,
  EVENT,
  HEALTH,
  home,
  ME,
  METER,
  PROPERTY,
  person,
  quiet,
  reading,
  STATE,
  USAGE,
} from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, type Story } from '../support/story.ts';

const NEIGHBOUR = person('neighbour', [home('70555001', quiet({ seed: 9 }), 700_001)]);
const NEIGHBOUR_STATE = 'heat2mqtt/meter/70555001/state';

const STRAYS = 'the configuration names meters that no account has';

test('two accounts: two sessions, two meters, two devices; names are those of the configuration, and one taken out takes its topics with it', async () => {
  const { story, probe, state, restart } = await firstPoll({ accounts: [ME, NEIGHBOUR] });
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(probe.json(NEIGHBOUR_STATE)?.energy_total).toBeCloseTo(booked(story.simulator, 700_001).kwh, 3);
  expect(story.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
  const health = await probe.until(HEALTH, ({ state, logins_today }) => state === 'ok' && logins_today === 2);
  expect(Object.keys(health.auth as object).sort()).toEqual(['home', 'home2']);
  for (const account of ['home', 'home2']) {
    expect(probe.json(`heat2mqtt/account/${account}/state`)).toMatchObject({ auth_state: 'ok' });
    expect(probe.json(`homeassistant/device/heat2mqtt_account_${account}/config`)).toBeDefined();
  }

  const named = 'Flat "3" {{ states }} 🔥';
  const topic = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
  const before = probe.json(topic);
  // Nothing else of them changes.
  const second = await restart({ meters: { [METER]: { name: named }, 70555002: { name: 'Nobody' } } });
  const document = await probe.until(topic, ({ device }) => Object(device).name === named);
  expect(document).toEqual({ ...before, device: { ...Object(before?.device), name: named } });
  const { meters } = await probe.until('heat2mqtt/bridge/info', ({ meters }) =>
    JSON.stringify(meters).includes('Flat'),
  );
  expect(meters).toMatchObject([
    { meter: METER, name: named },
    { meter: '70555001', name: null },
  ]);
  const strays = [{ meters: ['70555002'], known: [METER, '70555001'] }];
  expect(story.logged(STRAYS)).toMatchObject(strays);
  await story.nextPoll(24 * HOUR_MS);
  expect(story.logged(STRAYS)).toMatchObject(strays);
  const called = story.logged('new day').map(({ meter, called }) => `${meter} ${called}`);
  expect(new Set(called)).toEqual(new Set([`${METER} ${named}`, '70555001 undefined']));

  await story.stop(second);
  const { username, password } = ME;
  probe.forget();
  await story.start({ accounts: [{ id: 'home', username, password }] });
  await probe.untilCleared([
    'heat2mqtt/account/home2/state',
    NEIGHBOUR_STATE,
    'homeassistant/device/heat2mqtt_account_home2/config',
    'homeassistant/device/heat2mqtt_meter_70555001/config',
  ]);
  expect(probe.json(STATE)).toBeDefined();
});

/** The first account finds the meter first: the second one is still signing in. */
const IN_ORDER = {
  isLate: true,
  prepare: ({ simulator }: Story) =>
    simulator.switches.fault(
      '/auth/',
      { kind: 'slow', ms: 5_000 },
      { times: 1, when: ({ text }) => text.includes('bob') },
    ),
};
const TAKEN_OVER = 'took over the meter of another account';
const REGISTER = 'GET /api/v1/customers/:id/usage-events';

const week = (): ExplicitEvent[] => [3, 4, 5, 6, 7, 8, 9].map((day) => reading(`2025-03-0${day}`, day, 1));
const codes = (health: Record<string, unknown> | undefined) =>
  ((health?.reasons ?? []) as { code: string; account: string; meter: string; message: string }[]).filter(
    ({ code }) => code === 'duplicate_meter',
  );

test('a couple: one series, one question for each poll, nothing twice, and the second named on health', async () => {
  const events = week();
  const ann = person('ann', [home(METER, { events })]);
  const accounts = [ann, person('bob', [home(METER, { events })])];
  const { story, probe, state, counters, simulator, restart } = await firstPoll({ accounts, ...IN_ORDER });
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

  // Once the first account needs somebody, the second takes the meter over at its own next poll, with all that is known of it.
  simulator.endSessions();
  simulator.changePassword(ann.username, 'another one');
  events.push(reading('2025-03-11', 10, 1));
  await story.nextPoll(24 * HOUR_MS);
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({
    auth_state: 'bad_credentials_or_locked',
  });
  await story.nextPoll(4 * HOUR_MS);
  expect(probe.json(STATE)).toMatchObject({ energy_total: 62, origin: state.origin });
  expect(probe.on(EVENT)).toHaveLength(2);
  expect(story.logged(TAKEN_OVER)).toMatchObject([{ account: 'home2', meter: METER, from: 'home' }]);
  const ledgers = (await pathsBelow(story.stateDir)).filter((path) => path.includes('ledger-'));
  expect(ledgers).toEqual([`accounts/home2/ledger-${PROPERTY}.json`]);
  expect(probe.last(STATE)?.payload).not.toBe('');

  // It keeps it when the first one is well again, and over a restart.
  simulator.changePassword(ann.username, ann.password);
  await story.nextPoll(24 * HOUR_MS);
  expect(codes(probe.json(HEALTH))).toMatchObject([{ account: 'home', meter: METER }]);
  await restart();
  await story.nextPoll(4 * HOUR_MS);
  expect(story.logged(TAKEN_OVER)).toHaveLength(1);
  expect(probe.json(STATE)?.energy_total).toBe(62);
});

test('an account whose polls fail for a day gives its meter to the next one that has it, and not before', async () => {
  const events = week();
  const accounts = [person('ann', [home(METER, { events })]), person('bob', [home(METER, { events })])];
  const { story, probe, switches, counters } = await firstPoll({ accounts, ...IN_ORDER });
  // Only the first account asks for readings, until the second has the meter.
  const rule: Fault = { kind: 'reply', status: 503, body: {} };
  switches.fault('/api/v1/reports', rule, { when: () => story.logged(TAKEN_OVER).length === 0 });
  events.push(reading('2025-03-10', 10, 1));
  for (let hours = 0; hours < 24; hours += 4) await story.nextPoll(4 * HOUR_MS);
  expect(story.logged(TAKEN_OVER)).toEqual([]);
  await story.nextPoll(4 * HOUR_MS);
  await story.nextPoll(4 * HOUR_MS);
  expect(story.logged(TAKEN_OVER)).toMatchObject([{ account: 'home2', from: 'home' }]);
  expect(probe.json(STATE)?.energy_total).toBe(52);
  const asked = counters.requests[USAGE] ?? 0;
  await story.nextPoll(4 * HOUR_MS);
  expect(counters.requests[USAGE]).toBe(asked + 1);
});

test('of two accounts with one meter that both wait for somebody it is not passed round', async () => {
  const accounts = [person('ann', [home(METER)]), person('bob', [home(METER)])];
  const { story, simulator } = await firstPoll({ accounts, ...IN_ORDER });
  simulator.endSessions();
  for (const { username } of accounts) simulator.changePassword(username, 'another one');
  for (let polls = 0; polls < 4; polls += 1) await story.nextPoll(24 * HOUR_MS);
  expect(story.logged(TAKEN_OVER)).toEqual([]);
});

test('the ledger of a shared meter stays with its account when it cannot be written for the next one, and goes over once it can', async () => {
  const events = week();
  const ann = person('ann', [home(METER, { events })]);
  const accounts = [ann, person('bob', [home(METER, { events })])];
  const { story, probe, simulator } = await firstPoll({ accounts, ...IN_ORDER });
  const ledgerOf = (id: string) => join(story.stateDir, `accounts/${id}/ledger-${PROPERTY}.json`);
  const before = await readFile(ledgerOf('home'), 'utf8');
  // Nothing is written through a link.
  await symlink('nowhere', ledgerOf('home2'));
  simulator.endSessions();
  simulator.changePassword(ann.username, 'another one');
  for (let polls = 0; polls < 3; polls += 1) await story.nextPoll(4 * HOUR_MS);
  expect(story.logged(TAKEN_OVER)).toEqual([]);
  expect(await readFile(ledgerOf('home'), 'utf8')).toBe(before);
  await rm(ledgerOf('home2'));
  events.push(reading('2025-03-10', 10, 1));
  await story.nextPoll(4 * HOUR_MS);
  expect(story.logged(TAKEN_OVER)).toMatchObject([{ account: 'home2', from: 'home' }]);
  expect(probe.json(STATE)?.energy_total).toBe(52);
  const ledgers = (await pathsBelow(story.stateDir)).filter((path) => path.includes('ledger-'));
  expect(ledgers).toEqual([`accounts/home2/ledger-${PROPERTY}.json`]);
});

const FLATS: AccountOptions[] = [1, 2, 3, 4, 5].map((n) =>
  person(`flat${n}`, [home(`7055500${n}`, quiet({ seed: n }), 700_000 + n)]),
);
const stateOf = (n: number) => `heat2mqtt/meter/7055500${n}/state`;
const TWO_AT_A_TIME = { accounts: FLATS, config: { usage: { concurrency: 2 } } };
const OTHERS = [2, 3, 4, 5];

test('an account whose provider hangs: the others are polled and told in the meantime; refreshes take turns', async () => {
  const { story, probe, switches, counters } = await firstPoll(TWO_AT_A_TIME);
  for (const n of [1, ...OTHERS]) expect(probe.json(stateOf(n))).toBeDefined();
  await story.pass(60_000);
  switches.fault(
    '/api/v1/reports',
    { kind: 'hang' },
    { times: 1, when: ({ body }) => JSON.stringify(body).includes('700001') },
  );
  const before = counters.requests[USAGE] ?? 0;
  const told = (n: number) => probe.heard.filter(({ topic }) => topic === stateOf(n)).length;
  const toldBefore = OTHERS.map(told);
  await story.tick();
  // No time passes on the clock: whoever waited for the slow one would wait for ever.
  await story.polled(9);
  await untilTrue('states', () => OTHERS.every((n, at) => told(n) > (toldBefore[at] ?? 0)));
  expect((counters.requests[USAGE] ?? 0) - before).toBe(5);
  await story.pass(31_000);
  await story.polled(10);
  expect(story.logged('poll failed')).toMatchObject([{ account: 'home' }]);

  // Five sessions are due at the same moment.
  switches.fault('/auth/', { kind: 'slow', ms: 1_000 });
  await story.pass(1_600_000, 15_000);
  expect(counters.refreshGrants).toMatchObject({ ok: 5, maxInFlight: 2 });
  expect(counters.passwordGrants.ok).toBe(5);
});
