// A lost or damaged state directory: totals come back as they were, never lower, since the origin of old.
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { booked, EVENT, home, METER, PROPERTY, person, reading, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll } from '../support/story.ts';

const OTHER = '70418300';
const DAY_MS = 86_400_000;

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
      (await readdir(story.stateDir, { recursive: true }))
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

test('the state is lost, then damaged, and the provider has everything: one login each, the same totals, and a clean next start', async () => {
  const { story, probe, before, lose, documents, truth, totals, logins } = await livedIn();
  const damage = async () => {
    const names = await documents();
    expect(names.length).toBeGreaterThan(5);
    await Promise.all(names.map((name) => writeFile(name, '\0\0{"version":')));
  };
  let polls = 1;
  for (const harm of [lose, damage]) {
    await harm();
    probe.forget();
    const daemon = await story.start(LATER_SINCE);
    const state = await probe.until(STATE);
    polls += 1;
    await story.polled(polls);
    expect(state).toMatchObject({ origin: '2025-01-01', missing_days: before.missing_days, ...truth() });
    expect(new Set(totals())).toEqual(new Set([before.energy_total]));
    expect(probe.on(EVENT)).toEqual([]);
    expect(logins()).toBe(polls);
    await story.stop(daemon);
  }
  story.forgetLog();
  await story.start(LATER_SINCE);
  await untilTrue('the next start', () => story.logged('connected to the broker').length > 0);
  expect(story.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  expect(logins()).toBe(polls);
});

test('the provider has forgotten its oldest month as well: not a thousandth less, and it goes on from there', async () => {
  const { story, probe, events, before, lose, totals } = await livedIn();
  await lose();
  events.splice(0, 31);
  await story.start(LATER_SINCE);
  const state = await probe.until(STATE);
  expect(state).toMatchObject({ origin: '2025-01-01', energy_total: before.energy_total });
  expect(state.cost_total).toBe(before.cost_total);
  await story.polled(2);

  events.push(reading('2025-03-11', 5.5, 1.25));
  story.clock.advance(DAY_MS);
  // A tick during the poll that reads the history again belongs to that one.
  const later = await untilTrue('the new day', async () => {
    story.tick();
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

test('the broker was away when the state was lost: what it remembers counts once it is back', async () => {
  const { story, probe, events, before, lose, totals } = await livedIn();
  await lose();
  events.splice(0, 31);
  const deaf = await story.start({ ...LATER_SINCE, mqtt: { url: 'mqtt://127.0.0.1:9' } });
  await story.polled(2);
  await story.stop(deaf);
  await story.start(LATER_SINCE);
  const state = await probe.until(STATE);
  expect(state).toMatchObject({ origin: '2025-01-01', energy_total: before.energy_total });
  expect(Math.min(...totals())).toBe(before.energy_total);
});

test('one ledger is damaged: set aside and read again; the other is left alone', async () => {
  const { story, probe, before, lose, documents, truth, logins, asked } = await livedIn();
  const ledger = (await documents()).find((name) => name.endsWith(`ledger-${PROPERTY}.json`)) ?? '';
  await writeFile(ledger, '{"version":1,"days":[]}');
  const questions = asked();
  const daemon = await story.start();
  const state = await probe.until(STATE);
  await story.polled(2);
  expect(state).toMatchObject({ origin: '2025-01-01', ...truth() });
  expect(state.energy_total).toBe(before.energy_total);
  expect(await readdir(join(story.stateDir, 'accounts/home'))).toContain(`ledger-${PROPERTY}.json.damaged`);
  expect([logins(), asked() - questions]).toEqual([1, 2]);
  expect(probe.on(EVENT)).toEqual([]);

  // Broker and state are lost together: totals come from the provider, from the origin configured.
  await story.stop(daemon);
  await lose();
  await story.restartBroker();
  const later = await story.listen();
  await story.start();
  expect(await later.until(STATE)).toMatchObject({ origin: '2025-01-01', ...truth() });
});
