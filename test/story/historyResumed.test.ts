// A history of years, cut off in the middle: what was read is kept, and the totals come out the same.
import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { booked, EVENT, HEALTH, home, ME, METER, person, quiet, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { openStory } from '../support/story.ts';

const USAGE_CONFIG = { usage: { history_since: '2021-01-01', jitter_seconds: 0 } };

const DAY_MS = 86_400_000;
const HISTORY = `heat2mqtt/meter/${METER}/history`;

const movingIn = (history_since: string) => ({
  ...USAGE_CONFIG,
  accounts: [{ id: 'home', username: ME.username, password: ME.password, history_since }],
});

async function storyOfYears() {
  const story = await openStory({ accounts: [person('me', [home(METER, quiet({ since: '2021-01-01' }))])] });
  const asked = () => story.simulator.counters.requests[USAGE] ?? 0;
  const firstDays = () =>
    story.simulator.requests
      .filter(({ route }) => route === USAGE)
      .map(({ body }) => /"gte":"(\d{4}-\d\d-\d\d)/.exec(JSON.stringify(body))?.[1]);
  return { story, asked, firstDays };
}

test('killed between chunks: the next start goes on from what is on the disk', async () => {
  const { story, asked, firstDays } = await storyOfYears();
  story.simulator.switches.fault('/api/v1/reports', { kind: 'hang' }, { when: () => asked() >= 3 });
  const daemon = await story.start(USAGE_CONFIG);
  await untilTrue('the third question', () => asked() === 3);
  // What a process leaves behind that is killed here and now.
  const left = await story.stack.folder();
  await cp(story.stateDir, left, { recursive: true });
  await story.stop(daemon);
  story.simulator.switches.clearFaults();

  const probe = await story.listen();
  await story.start({ ...USAGE_CONFIG, state_dir: left });
  const state = await probe.until(STATE);
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(state.cost_total).toBeCloseTo(booked(story.simulator).eur, 3);
  expect(state).toMatchObject({ origin: '2021-01-01', missing_days: 0 });
  // The two chunks that were read are not read again, but for a look back.
  expect(firstDays()[3]?.slice(0, 4)).toBe('2022');
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  await story.polled(1);
  expect(probe.on(EVENT)).toEqual([]);
});

test('a chunk that fails is asked for again by the retry, and nothing is said of the meter before', async () => {
  const { story, asked } = await storyOfYears();
  story.simulator.switches.fault('/api/v1/reports', { kind: 'reset' }, { when: () => asked() >= 4 });
  const probe = await story.listen();
  await story.start(USAGE_CONFIG);
  await story.polled(1);
  const { progress } = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(progress).toMatchObject([{ meter: METER, days_read: 3 * 366 }]);
  expect(probe.last(STATE)).toBeUndefined();
  story.simulator.switches.clearFaults();
  await story.pass(60_000);
  const state = await probe.until(STATE);
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  await story.rest();
  expect(probe.on(EVENT)).toEqual([]);
});

test('the origin stays, whatever the configuration says later; a tenant who moves in keeps the totals, and is compared with own days', async () => {
  const { story } = await storyOfYears();
  const probe = await story.listen();
  const first = await story.start({ usage: { history_since: '2024-01-01' } });
  const before = await probe.until(STATE);
  await story.polled(1);
  await story.stop(first);
  probe.forget();
  const second = await story.start({ usage: { history_since: '2022-01-01' } });
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
  const [oldest = []] = ((await probe.until(HISTORY)).days ?? []) as string[][];
  expect(oldest[0]).toBe('2024-01-01');

  // A new ledger begins with the day of moving in.
  await story.stop(third);
  await story.restartBroker();
  const later = await story.listen();
  await story.start({ ...movingIn('2025-01-15'), state_dir: await story.stack.folder() });
  expect(await later.until(STATE)).toMatchObject({ origin: '2025-01-15', history_since: '2025-01-15' });
});
