// usage.timezone: in any upper and lower case, and under another of its names.
import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { look } from '../simulator/visitor.ts';
import { HEALTH, STATE, USAGE } from '../support/homes.ts';
import { openStatisticsStory } from '../support/statisticsStory.ts';
import { firstPoll, HOUR_MS, type Story } from '../support/story.ts';

const HISTORY = STATE.replace('/state', '/history');
const EIRE = { usage: { timezone: 'eire' } };

const zonesAsked = ({ simulator }: Story) =>
  simulator.requests
    .filter(({ route }) => route === USAGE)
    .map(({ body }) => look(body, 'aggs.resources.aggs.readings.aggs.intervals.date_histogram.time_zone'));
const restored = (story: Story) => story.logged('history restored from the broker').map(({ days }) => days);

test('europe/dublin is asked for and published as Europe/Dublin', async () => {
  const { story, probe, state } = await firstPoll({ config: { usage: { timezone: 'europe/dublin' } } });
  expect(new Set(zonesAsked(story))).toEqual(new Set(['Europe/Dublin']));
  expect(state.energy_total).toBeGreaterThan(0);
  expect(probe.json(HISTORY)?.timezone).toBe('Europe/Dublin');
  expect(probe.json(HEALTH)?.state).toBe('ok');
});

test('under another name of the same time zone nothing is read again', async () => {
  const { story, probe, state, restart } = await firstPoll();
  const asked = zonesAsked(story).length;
  await restart(EIRE);
  await story.nextPoll(4 * HOUR_MS);
  expect(zonesAsked(story).slice(asked)).toEqual(['Eire']);
  const { energy_total, origin } = state;
  expect(probe.json(STATE)).toMatchObject({ energy_total, origin });
});

test('a lost state directory goes on from a history under another name of its time zone', async () => {
  const { story, daemon, probe, state } = await firstPoll();
  await story.stop(daemon);
  await rm(story.stateDir, { recursive: true });
  probe.forget();
  await story.start(EIRE);
  await story.polled(2);
  expect(restored(story)).toEqual([69]);
  expect(probe.json(STATE)?.energy_total).toBe(state.energy_total);
});

test('Home Assistant in the same time zone under another name is no cause for a warning', async () => {
  const { story, settled } = await openStatisticsStory();
  await settled(EIRE);
  expect(story.log.filter(({ msg }) => String(msg).includes('another time zone'))).toEqual([]);
});

test('commands beside the daemon know its ledger under another name of its time zone', async () => {
  const { story } = await firstPoll({ config: { usage: { reading_closes: 'auto' } } });
  const bills = await story.type('invoices --format json', EIRE);
  expect(bills.err).toBe('');
  const checks = JSON.parse(bills.out).map(({ check }: { check: object | null }) => check !== null);
  expect(checks).toContain(true);
  const usage = { timezone: 'Eire', reading_closes: 'auto' };
  const { out } = await story.type('usage --format table', { usage });
  expect(out).toContain('(as the history was read)');
});
