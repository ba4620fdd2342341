// Accounts that see each other's meters: whoever is refused, and whenever each is found, every poll ends and each meter is read once.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openAccounts } from '../../src/accounts/account.ts';
import { Counters } from '../../src/accounts/metrics.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Context, Signals } from '../../src/daemon/context.ts';
import { openPoller } from '../../src/daemon/polling/poller.ts';
import { isCronExpression } from '../../src/daemon/polling/schedule.ts';
import { zone as zoneOf } from '../../src/domain/period.ts';
import { concurrencyLimit } from '../../src/foundation/limits.ts';
import { Topics } from '../../src/publication/topics.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { handClock } from '../support/clock.ts';
import { home, person, quiet } from '../support/homes.ts';
import { logLines } from '../support/logLines.ts';
import { untilAtRest, untilTrue } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { usualConfig } from '../support/storyRules.ts';

const RUNS = Number(process.env.HEAT2MQTT_PROPERTY_RUNS ?? 3);
const ROUNDS = 3;
const NEVER = ROUNDS;
const MOST_ACCOUNTS = 4;
const MOST_SHARED = 3;
// Properties are searched for once a week.
const BETWEEN_ROUNDS_MS = 8 * 24 * 3_600_000;
const LONGEST_POLL_MS = 10_000;
const STEP_MS = 250;

const OWN = 600_001;
const SHARED = 700_001;

const round = fc.nat({ max: ROUNDS - 1 });
const fates = fc.record({
  concurrency: fc.integer({ min: 1, max: MOST_ACCOUNTS }),
  accounts: fc.array(
    fc.record({
      /** Of each shared meter, the round from which on the provider lists it for this account. */
      listedFrom: fc.array(fc.oneof(round, fc.constant(0), fc.constant(NEVER)), {
        minLength: MOST_SHARED,
        maxLength: MOST_SHARED,
      }),
      /** The rounds in which its password is refused. */
      refusedIn: fc.uniqueArray(round, { maxLength: ROUNDS - 1 }),
    }),
    { minLength: 2, maxLength: MOST_ACCOUNTS },
  ),
});
type Fates = typeof fates extends fc.Arbitrary<infer T> ? T : never;

const SEE_EACH_OTHER: Fates = {
  concurrency: 2,
  accounts: [
    { listedFrom: [0, 1, NEVER], refusedIn: [] },
    { listedFrom: [1, 0, NEVER], refusedIn: [] },
  ],
};

async function live({ concurrency, accounts }: Fates): Promise<void> {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const people = accounts.map((_, at) => ({
    ...person(`resident${at}`, []),
    groups: [
      {
        id: 800_001 + at,
        properties: [
          home(`own${at}`, quiet({ seed: at + 1 }), OWN + at),
          ...Array.from({ length: MOST_SHARED }, (__, s) =>
            home(`shared${s}`, quiet({ seed: s + 50 }), SHARED + s),
          ),
        ],
      },
    ],
  }));
  const simulator = stack.use(await startSimulator({ clock, accounts: people }));
  let now = 0;
  for (const [at, { listedFrom }] of accounts.entries())
    simulator.switches.fault(
      '/api/v1/customers',
      {
        kind: 'change',
        change: (body) => ({
          objects: (body as { objects: { id: number }[] }).objects.filter(
            ({ id }) => id < SHARED || (listedFrom[id - SHARED] ?? NEVER) <= now,
          ),
        }),
      },
      { when: ({ query }) => query.get('parent-group') === String(800_001 + at) },
    );
  const logs = logLines();
  const { log, scrubber } = logs;
  const stateDir = await stack.folder();
  const text = JSON.stringify({
    ...usualConfig(simulator.urls, people, 'mqtt://127.0.0.1:1', stateDir),
    usage: { history_since: '2025-03-01', jitter_seconds: 0, reading_closes: 'same_day', concurrency },
    extras: { meter_reading: false, balance: false, invoices: false, site: false },
  });
  const { config } = await loadConfig({
    path: 'test',
    readFile: async () => text,
    env: {},
    now: clock.now,
    scrubber,
    validateCron: isCronExpression,
  });
  const state = await StateDirectory.open(stateDir, log);
  stack.defer(() => state.unlock());
  const context = {
    config,
    clock,
    log,
    scrubber,
    random: () => 0.5,
    state,
    zone: zoneOf('Europe/Dublin'),
    topics: new Topics('heat2mqtt'),
    counters: new Counters(),
    changed: () => undefined,
    outdoor: { weather: null },
    limit: concurrencyLimit(concurrency),
  };
  const opened = await openAccounts(context, (meter) => meter.store.restore(null));
  const link = { publish: () => undefined } as unknown as Context['link'];
  const poller = openPoller({ ...context, accounts: opened, link, signals: new Signals() });

  for (; now < ROUNDS; now += 1) {
    for (const [at, { refusedIn }] of accounts.entries()) {
      const { username, password } = people[at] ?? { username: '', password: '' };
      simulator.changePassword(username, refusedIn.includes(now) ? 'another one' : password);
    }
    const before = simulator.requests.length;
    let isOver = false;
    void poller.poll().then(() => {
      isOver = true;
    });
    // No request runs out of time, however busy this machine is.
    for (let passed = 0; passed < LONGEST_POLL_MS && !isOver; passed += STEP_MS) {
      await untilAtRest();
      clock.advance(STEP_MS);
    }
    await untilTrue(`the end of round ${now}`, () => isOver, { diagnose: () => logs.lines.slice(-9) });
    const asked = simulator.requests
      .slice(before)
      .filter(({ route, method }) => method === 'POST' && route.endsWith('/reports/usage'))
      .map(({ body }) => JSON.stringify(body));
    const timesAsked = (property: number) => asked.filter((one) => one.includes(String(property))).length;
    const canRead = (property: number) =>
      accounts.some(
        ({ listedFrom, refusedIn }, at) =>
          !refusedIn.includes(now) &&
          (property < SHARED ? property === OWN + at : (listedFrom[property - SHARED] ?? NEVER) <= now),
      );
    const all = [
      ...accounts.map((_, at) => OWN + at),
      ...Array.from({ length: MOST_SHARED }, (_, s) => SHARED + s),
    ];
    for (const property of all) {
      expect(timesAsked(property), `property ${property} in round ${now}`).toBe(canRead(property) ? 1 : 0);
    }
    clock.advance(BETWEEN_ROUNDS_MS);
  }
}

test('each meter that some account can read is read once in each round, and every poll ends', async () => {
  await fc.assert(fc.asyncProperty(fates, live), { numRuns: RUNS, examples: [[SEE_EACH_OTHER]] });
}, 300_000);
