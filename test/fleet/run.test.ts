// One run of one account of a fleet, between the simulated provider and the database's wire: what is written before it is published,
// how the account is given back, and what becomes of one that is removed.
import { describe, expect, test } from 'vitest';
import { Counters } from '../../src/accounts/metrics.ts';
import { zone } from '../../src/domain/period.ts';
import { FleetCounts } from '../../src/fleet/health.ts';
import { Membership } from '../../src/fleet/membership.ts';
import { Pace } from '../../src/fleet/pace.ts';
import { sealLogin } from '../../src/fleet/roster.ts';
import { type ProcessParts, runAccount } from '../../src/fleet/run.ts';
import { openSchedule } from '../../src/fleet/schedule.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { concurrencyLimit } from '../../src/foundation/limits.ts';
import { Link } from '../../src/mqtt/link.ts';
import type { Message } from '../../src/mqtt/message.ts';
import { Topics } from '../../src/publication/topics.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import type { Claim } from '../../src/store/database/claim.ts';
import { sharedClock } from '../../src/store/database/database.ts';
import { load } from '../config/loading.ts';
import { openAccountRow } from '../support/accountRow.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { ME, METER, PROPERTY, USAGE } from '../support/homes.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { laidOver, usualConfig } from '../support/storyRules.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** `columns`: of the account's row; `provider`: of the configuration. */
async function openRun(
  columns: Readonly<Record<string, unknown>> = {},
  { tickMs = HOUR_MS, provider = {} } = {},
) {
  const found = await openAccountRow();
  const { row, clock, database, seal, claims, taken, statements } = found;
  const simulator = openStack().use(await startSimulator({ clock, accounts: [ME] }));
  const { log, scrubber, messages } = logLines();
  const usual = usualConfig(simulator.urls, [ME], 'mqtt://127.0.0.1:1', '/nowhere');
  const text = JSON.stringify(laidOver(usual, { provider }));
  // With a scrubber of its own: a fleet has no accounts in its configuration, whose secrets would stay.
  const { config } = await load(text, {}, { now: clock.now });
  const opened = {
    ...{ database, seal, installation: 'test' },
    replies: { read: async () => null, write: async () => true },
    readSecretsAgain: async () => undefined,
    close: async () => undefined,
  };
  const own = sharedClock(clock);
  const pace = new Pace(Number.POSITIVE_INFINITY, { database, clock: own, log });
  const counts = new FleetCounts({ database, fleet: { claim_seconds: 30 }, zone: zone('UTC'), clock: own });
  const membership = await Membership.join({ ...opened, clock: own, log, pace, counts });
  const broker = {
    ...{ isAway: false, refuses: /^never$/, sent: [] as Message[], statementsBefore: 0 },
    onSend: () => undefined as unknown,
  };
  const unconnected = new Link({
    address: () => Promise.reject(new Error('nowhere')),
    will: { topic: 'will', payload: '', retain: false },
    subscriptions: [],
    ...{ clock, log, random: () => 0.5 },
  });
  const link: Link = Object.assign(unconnected, {
    async send(messages: readonly Message[]) {
      if (broker.isAway) throw failure('broker_away', 'Away.', { exit: EXIT.unexpected, retry: 'soon' });
      broker.statementsBefore = statements.length;
      broker.onSend();
      broker.sent.push(...messages);
      return new Set(messages.map(({ topic }) => topic).filter((topic) => broker.refuses.test(topic)));
    },
  });
  const parts: ProcessParts = {
    context: {
      ...{ config, clock: own, log, scrubber, random: () => 0.5, zone: zone('Europe/Dublin') },
      ...{ topics: new Topics('heat2mqtt'), counters: new Counters(), outdoor: { weather: null } },
      ...{ limit: concurrencyLimit(1), scryptCost: 2 },
    },
    ...{ opened, membership, pace, counts, claims, link, openAccounts: new WeakMap() },
    schedule: openSchedule(
      {
        next: (count) => Array.from({ length: count }, (_, n) => clock.now() + (n + 1) * tickMs),
        matches: () => false,
      },
      clock.now(),
    ),
    shared: { issuerMemory: { metadata: null }, onReply: () => undefined },
  };
  row.columns = {
    login: sealLogin('a', ME.username, ME.password, seal),
    ...{ removed: false, repair: false, first_history: true, needs_user: false },
    ...{ wanted: 0, republish: 0, poll_at: 0, failing_since: null },
    ...columns,
  };
  const series = { ...KEPT, name: seal.mark(String(PROPERTY)), series: METER };
  row.kept = [series];
  async function run(beforehand: (claim: Claim) => void = () => undefined): Promise<void> {
    const claim = await taken();
    await claim.open();
    beforehand(claim);
    await runAccount(claim, parts);
  }
  return {
    ...{ ...found, simulator, scrubber, messages, broker, run },
    /** From now on the database has the documents that were written. */
    keepWritten() {
      const documents = found
        .written()
        .flat()
        .map(({ sealed, ...one }) => {
          return { ...KEPT, ...one, series: null, sealed: sealed && Buffer.from(sealed, 'base64') };
        });
      row.kept = [series, ...documents];
    },
    /** What the last statement has written. */
    last: () => JSON.parse(statements.at(-1)?.values[2] ?? ''),
    topics: () => broker.sent.map(({ topic }) => topic),
  };
}

const KEPT = { account: 'a', json: null, sealed: null, block: null, days: null };

test('writes before it publishes when an account runs for the first time, is due for the refresh then, and forgets its secrets', async () => {
  const { run, statements, broker, last, topics, clock, scrubber } = await openRun();
  await run();
  const ledger = statements.findIndex(({ values }) => /"ledgers":\[\{/.test(values[2] ?? ''));
  expect(ledger).toBeGreaterThan(0);
  expect(ledger).toBeLessThan(broker.statementsBefore);
  expect(topics()).toContain(`heat2mqtt/meter/${METER}/state`);
  const { row } = last();
  expect(row).toMatchObject({ failures: 0, last_error: null, auth_state: 'ok', needs_user: false });
  expect(row).toMatchObject({ first_history: false, logins_today: 1 });
  const inMinutes = (time: string) => (Date.parse(time) - clock.now()) / MINUTE_MS;
  expect(inMinutes(row.due_at)).toBeGreaterThan(24);
  expect(inMinutes(row.due_at)).toBeLessThan(26.4);
  expect(inMinutes(row.poll_at)).toBeGreaterThan(60);
  expect(inMinutes(row.poll_at)).toBeLessThan(120);
  expect(scrubber.scrub(ME.password)).toBe(ME.password);
});

test('keeps the count of requests when a refresh comes between two polls', async () => {
  const { run, row, keepWritten, last, clock } = await openRun();
  await run();
  const { requests_today } = last().row;
  keepWritten();
  row.columns = { ...row.columns, poll_at: clock.now() + HOUR_MS };
  clock.advance(27 * MINUTE_MS);
  await run();
  const { row: after, documents } = last();
  expect(after.requests_today).toBe(requests_today + 1);
  const journal = documents.find(({ name }: { name: string }) => name === 'journal');
  expect(journal.json.accounts.a.requestsToday).toBe(after.requests_today);
});

test('tries a refresh less and less often while the issuer is away, tells so once, and polls once that is over', async () => {
  const home = await openRun();
  const { run, row, simulator, keepWritten, last, clock, messages } = home;
  simulator.switches.token.refreshSeconds = 30 * 86_400;
  await run();
  const poll_at = clock.now() + 24 * HOUR_MS;
  row.columns = { ...row.columns, poll_at, failures: 1, failing_since: clock.now() };
  simulator.switches.fault('/auth/', FAULTS.serverError);
  const pauses: number[] = [];
  for (let dueAt = Date.parse(last().row.due_at); pauses.length < 13; ) {
    clock.advance(dueAt - clock.now());
    keepWritten();
    await run();
    dueAt = Date.parse(last().row.due_at);
    pauses.push((dueAt - clock.now()) / 1_000);
  }
  expect(pauses.slice(0, 3)).toEqual([1.75, 3.5, 7]);
  expect(pauses.at(-1)).toBe(0.875 * 30 * 60);
  expect(messages('warn')).toEqual(['refresh ahead of expiry failed']);
  expect(last().row.poll_at).toBeUndefined();
  simulator.switches.clearFaults();
  clock.advance(HOUR_MS);
  keepWritten();
  await run();
  const now = new Date(clock.now()).toISOString();
  expect(last().row).toMatchObject({ auth_state: 'ok', poll_at: now, due_at: now });
});

describe('an account that this process has had last', () => {
  const readsOf = ({ statements }: Awaited<ReturnType<typeof openRun>>) =>
    statements.filter(({ text }) => text.startsWith('SELECT account, name')).length;

  test('asks for one usage report and writes one statement when a poll brings nothing new', async () => {
    const home = await openRun();
    const { run, row, simulator, broker, statements, last, scrubber, topics } = home;
    await run();
    const [requests, reads, sent] = [simulator.requests.length, readsOf(home), topics().length];
    row.columns = { ...row.columns, first_history: false };
    const statementsBefore = statements.length;
    let login = ME.username;
    broker.onSend = () => (login = scrubber.scrub(ME.username));
    await run();
    expect(simulator.requests.slice(requests).map(({ method, path }) => `${method} ${path}`)).toEqual([
      USAGE,
    ]);
    // The claim, and the end.
    expect([readsOf(home), statements.length - statementsBefore]).toEqual([reads, 2]);
    expect(topics().slice(sent)).toEqual(['heat2mqtt/account/a/state']);
    expect(last().row).toMatchObject({ failures: 0, auth_state: 'ok', last_error: null });
    // What the log must not show was known while it ran, and is forgotten.
    expect(login).not.toBe(ME.username);
    expect(scrubber.scrub(ME.username)).toBe(ME.username);
  });

  test('is opened anew when a poll has failed, or another process has had it', async () => {
    const home = await openRun();
    const { run, row, simulator, last, keepWritten } = home;
    await run();
    const reads = readsOf(home);
    simulator.switches.fault('/api/v1', FAULTS.serverError);
    await run();
    expect(last().row).toMatchObject({ failures: 1 });
    simulator.switches.clearFaults();
    keepWritten();
    row.fence += 2;
    await run();
    expect(readsOf(home)).toBeGreaterThan(reads);
    expect(last().row).toMatchObject({ failures: 0 });
  });
});

test('is due for its next poll when keep_alive is off, and not for a refresh', async () => {
  const { run, last } = await openRun({}, { provider: { keep_alive: false } });
  await run();
  expect(last().row.due_at).toBe(last().row.poll_at);
});

test('leaves the event of a refused password to the next run, which is soon, when the broker is away', async () => {
  const failing_since = Date.UTC(2025, 2, 1);
  const { run, simulator, broker, last, written, statements, topics, clock } = await openRun({
    ...{ failures: 2, failing_since, republish: 3, wanted: 1 },
  });
  simulator.changePassword(ME.username, 'another');
  broker.isAway = true;
  await run();
  const { row } = last();
  expect(row).toMatchObject({
    ...{ failures: 3, failing_since: new Date(failing_since).toISOString(), needs_user: true },
    ...{ last_error: 'bad_credentials_or_locked', auth_state: 'bad_credentials_or_locked' },
    due_at: new Date(clock.now() + 2_000).toISOString(),
  });
  const published = written()
    .flat()
    .findLast(({ name }) => name === 'published');
  expect(
    Object(published?.json).events.map(({ payload }: Message) => JSON.parse(payload).event_type),
  ).toEqual(['auth_needed']);
  expect(statements.at(-1)?.text).toContain('wanted = a.wanted - 1, republish = a.republish - 0');
  expect(topics()).toEqual([]);
});

test('goes on when the broker refuses topics, and tries them again at the next run', async () => {
  const { run, broker, last, topics } = await openRun();
  broker.refuses = /^homeassistant/;
  await run();
  const { row, documents } = last();
  const { json } = documents.find(({ name }: { name: string }) => name === 'published');
  const unsent = Object.keys(json.topics).filter((topic) => json.topics[topic] === '');
  expect(new Set(unsent)).toEqual(new Set(topics().filter((topic) => topic.startsWith('homeassistant'))));
  expect([json.events, json.components, unsent.length]).toEqual([[], {}, 2]);
  expect(row.poll_at).not.toBe(row.due_at);
  expect(Date.parse(row.due_at)).toBeGreaterThan(Date.parse(row.last_success_at) + MINUTE_MS);
});

test('is not due before the time that the provider asks for when it is told to wait', async () => {
  const { run, simulator, last, clock } = await openRun({}, { tickMs: MINUTE_MS });
  simulator.switches.fault('/api/v1', tooMany('600'));
  await run();
  const until = new Date(clock.now() + 10 * MINUTE_MS).toISOString();
  expect(last().row).toMatchObject({ retry_after: until, poll_at: until, failures: 1 });
});

describe('a run during which the database goes', () => {
  test.each([
    ['before a login', /mine\.fence/],
    ['when meters were found', /succeeding/],
  ])('is dropped, and is no failure of the account, %s', async (_, statement) => {
    const { run, row, messages } = await openRun();
    row.kept = [];
    row.refusesOnly = { statement, sqlState: '57P01' };
    await expect(run()).rejects.toMatchObject({ code: 'database_trouble' });
    expect(messages('warn')).toEqual([]);
  });

  test('is dropped, and is no trouble of the issuer, before a refresh', async () => {
    const { run, row, keepWritten, messages, clock } = await openRun();
    await run();
    keepWritten();
    row.columns = { ...row.columns, poll_at: clock.now() + 24 * HOUR_MS };
    clock.advance(27 * MINUTE_MS);
    row.refusesOnly = { statement: /mine\.fence/, sqlState: '57P01' };
    await expect(run()).rejects.toMatchObject({ code: 'database_trouble' });
    expect(messages('warn')).toEqual([]);
  });
});

test('tries no login when it was sealed for another account', async () => {
  const { run, row, seal, simulator } = await openRun();
  row.columns = { ...row.columns, login: sealLogin('b', ME.username, ME.password, seal) };
  await expect(run()).rejects.toMatchObject({ code: 'damaged_login' });
  expect(simulator.requests).toEqual([]);
});

describe('an account that is removed', () => {
  const OWN = [`heat2mqtt/meter/${METER}/state`, 'heat2mqtt/account/a/state'];
  async function openRemoved() {
    const home = await openRun({ removed: true });
    const topics = Object.fromEntries([...OWN, 'heat2mqtt/meter/of-another/state'].map((one) => [one, '']));
    const json = { topics, components: {}, lists: null, told: {}, events: [] };
    home.row.kept = [...home.row.kept, { ...KEPT, name: 'published', json, series: null }];
    return home;
  }
  const deletes = ({ statements }: Awaited<ReturnType<typeof openRemoved>>) =>
    statements.filter(({ text }) => text.startsWith('DELETE')).length;

  test('is deleted when its topics are cleared, but for those of meters that another one has by now', async () => {
    const home = await openRemoved();
    await home.run();
    expect(home.broker.sent).toEqual(OWN.map((topic) => ({ topic, payload: '', retain: true })));
    expect(deletes(home)).toBe(1);
  });

  test('stays when the broker has not answered', async () => {
    const home = await openRemoved();
    home.broker.isAway = true;
    await home.run();
    expect(deletes(home)).toBe(0);
    expect(home.last().row.due_at).toBe(new Date(home.clock.now() + 2_000).toISOString());
  });

  test('stays, and waits longer, when the broker refuses a part of that', async () => {
    const home = await openRemoved();
    home.broker.refuses = /account/;
    await home.run();
    expect(deletes(home)).toBe(0);
    expect(home.last().row.due_at).toBe(new Date(home.clock.now() + 10 * MINUTE_MS).toISOString());
  });

  test('publishes nothing when the claim is over', async () => {
    const home = await openRemoved();
    const over = home.run((claim) => home.clock.advance(claim.remainingMs()));
    await expect(over).rejects.toMatchObject({ code: 'fence_lost' });
    expect([home.broker.sent, deletes(home)]).toEqual([[], 0]);
  });
});
