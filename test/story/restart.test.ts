// Restarts: what is on disk is neither asked for again nor paid for with a login, also in the middle of a long history; where the state
// is lost, damaged or cannot be written, totals come back as they were, never lower.

import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { FAULTS } from '../support/faults.ts';
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
import { DAY_MS, firstPoll, HOUR_MS, MINUTE_MS, openStory } from '../support/story.ts';

test('what is on disk is published again without a question; the next tick asks once, an expired access token costs a refresh', async () => {
  const { story, state, daemon, counters } = await firstPoll();
  await story.stop(daemon);
  const requests = story.simulator.requests.length;
  await story.broker.restart();
  const probe = await story.listen();
  const second = await story.start();
  expect(await probe.until(STATE)).toEqual(state);
  await story.pass(60_000, 10_000);
  expect(story.simulator.requests.length).toBe(requests);
  expect(story.logged('skipping the poll at start: the last one is recent')).toHaveLength(1);
  await story.nextPoll();
  expect(story.simulator.requests.slice(requests).map(({ route }) => route)).toEqual([USAGE]);
  expect(counters.refreshGrants.asked).toBe(0);

  await story.stop(second);
  story.clock.advance(1_900_000);
  await story.start();
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  await story.nextPoll();
  expect(counters.passwordGrants.asked).toBe(1);
  expect(counters.refreshGrants).toMatchObject({ asked: 1, ok: 1 });

  const texts = await story.stateFiles();
  expect(texts.length).toBeGreaterThan(4);
  expect(texts.filter((text) => text.includes('of me'))).toEqual([]);
});

test.each([
  ['gone', 0],
  ['too old', 2 * HOUR_MS],
])(
  'a session that is %s is told at the start, without a question, when only a person can bring another',
  async (_, ageMs) => {
    const { story, simulator, probe, daemon } = await firstPoll();
    await story.stop(daemon);
    if (ageMs === 0) await rm(join(story.stateDir, 'accounts/home/tokens.json'));
    story.clock.advance(ageMs);
    const requests = simulator.requests.length;
    await story.start({ provider: { sign_in: 'device' } });
    await probe.until(HEALTH, ({ auth }) => Object(auth).home.state === 'login_needed');
    expect(simulator.requests.length).toBe(requests);
  },
);

test('a password that a command has tried in vain is told at the start, without a question, when there is no session', async () => {
  const { story, simulator, probe, daemon } = await firstPoll();
  await story.stop(daemon);
  const account = join(story.stateDir, 'accounts/home');
  await rm(join(account, 'tokens.json'));
  const code = 'bad_credentials_or_locked';
  const nextAttemptAt = story.clock.now() + 10 * MINUTE_MS;
  const refusal = { refusals: 1, nextAttemptAt, state: code, code, secretMark: null, askedAt: null };
  await writeFile(join(account, 'login-budget.json'), JSON.stringify({ version: 1, ...refusal }));
  const requests = simulator.requests.length;
  await story.start();
  await probe.until(HEALTH, ({ auth }) => Object(auth).home.state === code);
  expect(simulator.requests.length).toBe(requests);
});

test('a poll that failed is not forgotten', async () => {
  const { story, probe, restart } = await firstPoll();
  story.simulator.switches.fault('/api/', FAULTS.serverError);
  await story.nextPoll(2 * HOUR_MS);
  const requests = story.simulator.requests.length;
  await restart();
  const { reasons } = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(reasons).toMatchObject([{ code: 'provider_unreachable', account: 'home' }]);
  expect(story.simulator.requests).toHaveLength(requests);
});

test('without keep_alive the session lapses between polls, though it is known from the start, and a poll logs in', async () => {
  const provider = { keep_alive: false };
  const { story, probe, counters, restart } = await firstPoll({
    config: { provider },
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token, { accessSeconds: 60, refreshSeconds: 90 }),
  });
  await restart({ provider });
  const { access_expires_at } = Object((await probe.until(HEALTH)).auth).home;
  expect(Date.parse(access_expires_at)).toBeGreaterThan(story.clock.now());
  await story.pass(HOUR_MS / 6, 10_000);
  expect(counters.refreshGrants.asked).toBe(0);
  expect(counters.passwordGrants.ok).toBe(1);
  probe.forget();
  await story.tick();
  await probe.until('heat2mqtt/account/home/state', ({ logins_today }) => logins_today === 2);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
});

test('asks for the meters again, and takes nothing back, when the disk has a list of none', async () => {
  const { story, probe, daemon, state } = await firstPoll();
  await story.stop(daemon);
  const file = join(story.stateDir, 'accounts/home/context.json');
  const { check, ...context } = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...context, value: { ...context.value, properties: [] } }));
  probe.forget();
  await story.start();
  await story.nextPoll();
  expect(probe.on(STATE).map(({ payload }) => payload)).not.toContain('');
  expect(probe.json(STATE)?.energy_total).toBe(state.energy_total);
});

const USAGE_CONFIG = { usage: { history_since: '2022-06-01' } };

const HISTORY_TOPIC = `heat2mqtt/meter/${METER}/history`;

const movingIn = (history_since: string) => ({
  ...USAGE_CONFIG,
  accounts: [{ id: 'home', username: ME.username, password: ME.password, history_since }],
});

async function storyOfYears() {
  const story = await openStory({ accounts: [person('me', [home(METER, quiet({ since: '2022-06-01' }))])] });
  const asked = () => story.simulator.counters.requests[USAGE] ?? 0;
  const firstDays = () =>
    story.simulator.requests
      .filter(({ route }) => route === USAGE)
      .map(({ body }) => /"gte":"(\d{4}-\d\d-\d\d)/.exec(JSON.stringify(body))?.[1]);
  return { story, asked, firstDays };
}

test('a long history comes in chunks, with progress, and no word on the meter before its end; killed between chunks, the next start goes on from what is on the disk', async () => {
  const { story, asked, firstDays } = await storyOfYears();
  const probe = await story.listen();
  story.simulator.switches.fault('/api/v1/reports', { kind: 'hang' }, { when: () => asked() >= 3 });
  const daemon = await story.start(USAGE_CONFIG);
  await untilTrue('the third question', () => asked() === 3);
  await probe.until(HEALTH, ({ progress }) => JSON.stringify(progress).includes('732'));
  const progress = { account: 'home', meter: METER, days_read: 732, days_total: 1_014 };
  expect(probe.json(HEALTH)).toMatchObject({ progress: [progress] });
  expect(probe.heard.filter(({ topic }) => /meter./.test(topic))).toEqual([]);
  // What a process leaves behind that is killed here and now.
  const left = await story.stack.folder();
  await cp(story.stateDir, left, { recursive: true });
  await story.stop(daemon);
  story.simulator.switches.clearFaults();

  await story.start({ ...USAGE_CONFIG, state_dir: left });
  const state = await probe.until(STATE);
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(state.cost_total).toBeCloseTo(booked(story.simulator).eur, 3);
  expect(state).toMatchObject({ origin: '2022-06-01', missing_days: 0 });
  // The two chunks that were read are not read again, but for a look back.
  expect(firstDays().slice(0, 3)).toEqual(['2022-05-31', '2023-06-01', '2024-06-01']);
  expect(firstDays()[3]?.slice(0, 4)).toBe('2024');
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  await story.polled(1);
  expect(probe.on(EVENT)).toEqual([]);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', progress: [] });
});

test('the origin stays, whatever the configuration says later; a tenant who moves in keeps the totals, and is compared with own days', async () => {
  const { story } = await storyOfYears();
  const probe = await story.listen();
  const first = await story.start({ usage: { history_since: '2024-01-01' } });
  const before = await probe.until(STATE);
  await story.polled(1);
  await story.stop(first);
  probe.forget();
  const second = await story.start({ usage: { history_since: '2022-06-01' } });
  const { energy_total, cost_total } = before;
  const kept = { origin: '2024-01-01', energy_total, cost_total };
  expect(await probe.until(STATE)).toMatchObject(kept);
  expect(story.log.some(({ msg }) => String(msg).includes('history_since is ignored'))).toBe(true);

  await story.stop(second);
  probe.forget();
  const movedIn = new Date(story.clock.now() - 40 * DAY_MS).toISOString().slice(0, 10);
  const third = await story.start(movingIn(movedIn));
  const state = await probe.until(STATE, ({ history_since }) => history_since === movedIn);
  expect(state).toMatchObject({ ...kept, energy_month_last_year: null });
  expect(Number(state.energy_year)).toBeLessThan(Number(before.energy_year));
  const [oldest = []] = ((await probe.until(HISTORY_TOPIC)).days ?? []) as string[][];
  expect(oldest[0]).toBe('2024-01-01');

  // A new ledger begins with the day of moving in.
  await story.stop(third);
  await story.broker.restart();
  const later = await story.listen();
  await story.start({ ...movingIn('2025-01-15'), state_dir: await story.stack.folder() });
  expect(await later.until(STATE)).toMatchObject({ origin: '2025-01-15', history_since: '2025-01-15' });
});

const OTHER = '70418300';

/** Every day from New Year to the eve of the story, none like the other; thousandths that do not cancel out. */
function history(seed = 1): ExplicitEvent[] {
  const days = Array.from({ length: 68 }, (_, at) =>
    new Date(Date.UTC(2025, 0, 1) + at * DAY_MS).toISOString().slice(0, 10),
  );
  return days.map((day, at) => reading(day, 7 + ((at * 37 * seed) % 1_000) / 997, 1 + ((at * 13) % 97) / 89));
}

async function livedIn() {
  const events = history();
  const homes = [home(METER, { events }), home(OTHER, { events: history(3) }, PROPERTY + 1)];
  const accounts = [person('me', homes)];
  const { story, probe, daemon, counters, state: before } = await firstPoll({ accounts });
  await story.stop(daemon);
  probe.forget();
  return {
    story,
    probe,
    events,
    before,
    lose: () => rm(story.stateDir, { recursive: true }),
    asked: () => counters.requests[USAGE] ?? 0,
    logins: () => counters.passwordGrants.asked,
    documents: async () =>
      (await pathsBelow(story.stateDir))
        .filter((name) => name.endsWith('.json'))
        .map((name) => join(story.stateDir, name)),
    /** Every total that was said since. */
    totals: (key = 'energy_total') => probe.on(STATE).map(({ payload }) => Number(JSON.parse(payload)[key])),
    truth: () => {
      const { kwh, eur } = booked(story.simulator);
      return { energy_total: expect.closeTo(kwh, 3), cost_total: expect.closeTo(eur, 3) };
    },
  };
}

const LATER_SINCE = { usage: { history_since: '2025-02-10' } };

test('one ledger is damaged, then everything, then the state is lost, then the broker with it: a login at most, and the same totals', async () => {
  const { story, probe, before, lose, documents, truth, totals, logins, asked } = await livedIn();
  const damage = async (end: string, text: string) => {
    const names = (await documents()).filter((name) => name.endsWith(end));
    await Promise.all(names.map((name) => writeFile(name, text)));
  };
  let polls = 1;
  async function comesBack(loginsMore: number) {
    probe.forget();
    const already = logins();
    const daemon = await story.start(LATER_SINCE);
    const state = await probe.until(STATE);
    polls += 1;
    await story.polled(polls);
    expect(state).toMatchObject({ origin: '2025-01-01', missing_days: before.missing_days, ...truth() });
    expect(new Set(totals())).toEqual(new Set([before.energy_total]));
    expect(probe.on(EVENT)).toEqual([]);
    expect(logins() - already).toBe(loginsMore);
    await story.stop(daemon);
  }
  const questions = asked();
  await damage(`ledger-${PROPERTY}.json`, '{"version":1,"days":[]}');
  await comesBack(0);
  expect(await readdir(join(story.stateDir, 'accounts/home'))).toContain(`ledger-${PROPERTY}.json.damaged`);
  // The other one is left alone, but for two looks back: the history may be read from the configured origin before its own is known.
  expect(asked() - questions).toBeLessThanOrEqual(4);
  await damage('.json', '\0\0{"version":');
  await comesBack(1);
  await lose();
  await comesBack(1);
  story.forgetLog();
  const last = await story.start(LATER_SINCE);
  expect(story.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);

  // Broker and state are lost together: totals come from the provider, from the origin configured.
  await story.stop(last);
  await lose();
  await story.broker.restart();
  const later = await story.listen();
  await story.start();
  expect(await later.until(STATE)).toMatchObject({ origin: '2025-01-01', ...truth() });
});

test('a bit that the disk has turned in one digit of a ledger is found: the totals come back as they were', async () => {
  const { story, probe, before, documents } = await livedIn();
  const ledger = `ledger-${PROPERTY}.json`;
  const [file = ''] = (await documents()).filter((name) => name.endsWith(ledger));
  const text = await readFile(file, 'utf8');
  const turned = text.replace(/(\["2025-02-\d\d",\d*)(\d)/, (_, row, digit) => `${row}${Number(digit) ^ 1}`);
  expect([turned === text, turned.length]).toEqual([false, text.length]);
  await writeFile(file, turned);
  probe.forget();
  await story.start(LATER_SINCE);
  expect(await probe.until(STATE)).toMatchObject({
    energy_total: before.energy_total,
    cost_total: before.cost_total,
  });
  expect(await readFile(`${file}.damaged`, 'utf8')).toBe(turned);
});

test('the provider has forgotten its oldest month as well, and the broker was away: not a thousandth less once it is back, and it goes on from there', async () => {
  const { story, probe, events, before, lose, totals } = await livedIn();
  await lose();
  events.splice(0, 31);
  const deaf = await story.start({ ...LATER_SINCE, mqtt: { url: 'mqtt://127.0.0.1:9' } });
  await story.polled(2);
  await story.stop(deaf);
  await story.start(LATER_SINCE);
  const state = await probe.until(STATE);
  expect(state).toMatchObject({ origin: '2025-01-01', energy_total: before.energy_total });
  expect(state.cost_total).toBe(before.cost_total);

  events.push(reading('2025-03-11', 5.5, 1.25));
  story.clock.advance(DAY_MS);
  // A tick during the poll that reads the history again belongs to that one.
  const later = await untilTrue('the new day', async () => {
    await story.tick();
    await story.rest();
    const said = probe.json(STATE);
    return said?.day === '2025-03-11' ? said : null;
  });
  expect(later.energy_total).toBeCloseTo(Number(before.energy_total) + 5.5, 3);
  expect(later.cost_total).toBeCloseTo(Number(before.cost_total) + 1.25, 3);
  for (const key of ['energy_total', 'cost_total']) {
    expect(Math.min(...totals(key))).toBeGreaterThanOrEqual(Number(before[key]));
  }
});

test('published from memory, health says why, and one beat after the cure everything is on the disk', async () => {
  const story = await openStory();
  // Root may write everywhere, so a regular file is where the directory should be.
  const inTheWay = join(story.stateDir, 'in-the-way');
  await writeFile(inTheWay, '');
  const state_dir = join(inTheWay, 'state');
  const probe = await story.listen();
  const reasons = () => (probe.json(HEALTH)?.reasons ?? []) as { code: string; message: string }[];
  const daemon = await story.start({ state_dir });
  await untilTrue('the reasons', () => reasons().length === 2);
  expect(reasons().map(({ code }) => code)).toEqual(['state_unwritable', 'state_unwritable']);
  expect(story.simulator.counters.passwordGrants.asked).toBe(0);
  await story.pass(20 * MINUTE_MS);
  const first = await probe.until(STATE);
  expect(first.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  await untilTrue('the reason', () => reasons().length > 0);
  expect(reasons()).toEqual([
    {
      code: 'state_unwritable',
      message: `The state directory cannot be written: ${state_dir} (ENOTDIR).`,
      hint: expect.any(String),
    },
  ]);

  story.clock.advance(24 * HOUR_MS);
  await story.tick();
  const next = await probe.until(STATE, ({ day }) => day !== first.day);
  expect(next.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(reasons().map(({ code }) => code)).toEqual(['state_unwritable']);
  // Some are written many times a day, and the log names each once.
  const unsaved = story.logged('state document could not be saved').map(({ document }) => document);
  expect(unsaved).toEqual([...new Set(unsaved)]);
  expect(unsaved).toEqual(expect.arrayContaining(['accounts/home/extras', 'accounts/home/ledger-…']));

  await rm(inTheWay);
  await story.pass(6_000);
  await untilTrue('good health', () => reasons().length === 0);
  const requests = story.simulator.requests.length;
  await story.stop(daemon);
  await story.start({ state_dir });
  await story.pass(10_000);
  expect(story.simulator.requests.length).toBe(requests);
});

test('finishes the refresh under way, and begins no other, when it is stopped', async () => {
  const accounts = ['me', 'you'].map((name, at) =>
    person(name, [home(String(70418235 + at), quiet(), PROPERTY + at)]),
  );
  const config = { usage: { concurrency: 1 } };
  const { story, daemon, counters, switches } = await firstPoll({ accounts, config, isLate: true });
  switches.fault('/auth/', { kind: 'slow', ms: 1_000 });
  // Both are due.
  story.clock.advance(27 * 60_000);
  await story.rest();
  expect(counters.refreshGrants.asked).toBe(1);
  await story.stop(daemon);
  expect(counters.refreshGrants.asked).toBe(1);
  switches.clearFaults();
  await story.start(config);
  // The pair that came is on the disk: the one before it is used up.
  for (const minutes of [4, 23]) {
    story.clock.advance(minutes * 60_000);
    await story.pass(2_000);
  }
  expect(counters.refreshGrants).toMatchObject({ asked: 4, ok: 4 });
  expect(counters.passwordGrants.asked).toBe(2);
});
