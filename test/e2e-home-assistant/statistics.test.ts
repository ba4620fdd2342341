// Late data at its true day: the series in a real recorder, after corrections, losses and cuts, and in the Energy dashboard.
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { home, METER, PROPERTY, person, quiet, reading } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import type { Api } from './api.ts';
import { complaints } from './entities.ts';
import {
  COST,
  daysAgo,
  ENERGY,
  gas,
  hoursOf,
  nextSecond,
  rowsOf,
  rowsOfTruth,
  startWithStatistics,
  statisticsOn,
  sumsOfDays,
  untilWritten,
} from './series.ts';
import { type House, openStory } from './story.ts';

const CLEAN = { energy_sources: [[]], device_consumption: [] };
/** Day, energy and cost in thousandths, of each of the newest days on MQTT. */
async function onTopic({ probe }: House): Promise<unknown[]> {
  const { buckets } = await probe.until(`heat2mqtt/meter/${METER}/usage/day`, () => true);
  return (Array.isArray(buckets) ? buckets : [])
    .filter(({ energy_kwh }) => energy_kwh !== null)
    .map(({ start, energy_kwh, cost_eur }) => [
      start.slice(0, 10),
      Math.round(energy_kwh * 1_000),
      Math.round(cost_eur * 1_000),
    ]);
}

test('the series equal what was booked, row by row; the Energy dashboard takes them; twice is the same as once', async () => {
  const story = await openStory();
  const { probe, simulator, homeAssistant } = story;
  const name = 'Flat "3" {{ states }} 🔥';
  const program = await startWithStatistics(story, { meters: { [METER]: { name } } });
  await untilWritten(probe);
  const api = await story.enter();
  const [energy, cost] = [await rowsOf(api, ENERGY), await rowsOf(api, COST)];
  expect(energy.length).toBeGreaterThan(365);
  expect(energy).toEqual(rowsOfTruth(simulator, 'kwh'));
  expect(cost).toEqual(rowsOfTruth(simulator, 'eur'));

  const newest = energy.map(({ day, state }, at) => [day, state, cost[at]?.state]).slice(-62);
  expect(newest).toEqual(await onTopic(story));

  expect(await api.ask('recorder/list_statistic_ids')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        statistic_id: ENERGY,
        name: `${name} energy`,
        has_sum: true,
        unit_class: 'energy',
      }),
      expect.objectContaining({ statistic_id: COST, name: `${name} cost`, has_sum: true, unit_class: null }),
    ]),
  );
  await api.ask('energy/save_prefs', { energy_sources: [gas(ENERGY, COST)] });
  expect(await api.ask('energy/validate')).toMatchObject(CLEAN);
  expect(JSON.stringify(await api.ask('recorder/validate_statistics'))).not.toContain('heat2mqtt');

  await program.end('SIGTERM');
  const since = await nextSecond();
  await startWithStatistics(story);
  await untilWritten(probe, since);
  await probe.publish(
    'heat2mqtt/bridge/request/backfill',
    JSON.stringify({ from: energy[0]?.day, to: daysAgo(1) }),
  );
  const answer = await probe.until(
    'heat2mqtt/bridge/response/backfill',
    ({ status }) => status !== 'progress',
  );
  expect(answer).toMatchObject({ status: 'ok' });
  expect(await rowsOf(api, ENERGY)).toEqual(energy);
  expect(await rowsOf(api, COST)).toEqual(cost);
  expect(complaints(homeAssistant.records())).toEqual([]);
});

/** The days of the truth, each with the sum that Home Assistant has at its end. */
async function sumsOfTruth(api: Api, simulator: Simulator, id: string, kind: 'kwh' | 'eur') {
  const sums = await sumsOfDays(api, id);
  return rowsOfTruth(simulator, kind).map(({ state, day }) => ({ day, state, sum: sums.get(day) }));
}

test('hours: even fills the hours of each day, whose sums are as booked; back at midnight each hour has the sum of its day', async () => {
  const story = await openStory();
  const { probe, simulator, homeAssistant } = story;
  const program = await startWithStatistics(story, {}, { hours: 'even' });
  await untilWritten(probe);
  const api = await story.enter();
  expect(await sumsOfTruth(api, simulator, ENERGY, 'kwh')).toEqual(rowsOfTruth(simulator, 'kwh'));
  expect(await sumsOfTruth(api, simulator, COST, 'eur')).toEqual(rowsOfTruth(simulator, 'eur'));
  const hours = await hoursOf(api, ENERGY);
  // One after the other, whatever the clocks did that year.
  expect(new Set(hours.slice(1).map(({ start }, at) => start - (hours[at]?.start ?? 0)))).toEqual(
    new Set([3_600_000]),
  );
  const usedIn = ({ sum }: { sum: number }, at: number) => sum - (hours[at - 1]?.sum ?? 0);
  const lastDay = hours.map(usedIn).slice(-24);
  expect(Math.max(...lastDay) - Math.min(...lastDay)).toBeLessThanOrEqual(1);

  await program.end('SIGTERM');
  const since = await nextSecond();
  await startWithStatistics(story);
  await untilWritten(probe, since);
  const back = await hoursOf(api, ENERGY);
  expect(back.map(({ start }) => start)).toEqual(hours.map(({ start }) => start));
  expect(await sumsOfTruth(api, simulator, ENERGY, 'kwh')).toEqual(rowsOfTruth(simulator, 'kwh'));
  const used = back.filter(({ sum }, at) => sum !== (back[at - 1]?.sum ?? 0));
  expect(used.map(({ sum }) => sum)).toEqual([
    ...new Set(rowsOfTruth(simulator, 'kwh').map(({ sum }) => sum)),
  ]);
  expect(complaints(homeAssistant.records())).toEqual([]);
});

test('a day in the middle is corrected, then a series is deleted: all rows are right again', async () => {
  const events: ExplicitEvent[] = [20, 19, 12, 11, 10, 9, 3, 2, 1].map((days) =>
    reading(daysAgo(days), days, days / 4),
  );
  const story = await openStory({ me: person('me', [home(METER, quiet({ events }), PROPERTY)]) });
  const { probe, simulator, homeAssistant } = story;
  await startWithStatistics(story);
  await untilWritten(probe);
  const api = await story.enter();
  expect(await rowsOf(api, ENERGY)).toEqual(rowsOfTruth(simulator, 'kwh'));

  events[3] = reading(daysAgo(11), 111, 22.5);
  const corrected = await nextSecond();
  await probe.publish('heat2mqtt/bridge/request/refresh', '{}');
  await probe.until('heat2mqtt/bridge/response/refresh', ({ status }) => status === 'ok');
  await untilWritten(probe, corrected);
  const energy = await rowsOf(api, ENERGY);
  expect(energy).toContainEqual(expect.objectContaining({ day: daysAgo(11), state: 111_000 }));
  expect(energy).toEqual(rowsOfTruth(simulator, 'kwh'));
  expect(await rowsOf(api, COST)).toEqual(rowsOfTruth(simulator, 'eur'));

  await api.ask('recorder/clear_statistics', { statistic_ids: [ENERGY] });
  expect(await rowsOf(api, ENERGY)).toEqual([]);
  const deleted = await nextSecond();
  await homeAssistant.restart();
  await untilWritten(probe, deleted);
  const again = await story.enter();
  expect(await rowsOf(again, ENERGY)).toEqual(energy);
  expect(complaints(homeAssistant.records())).toEqual([]);
});

test('Home Assistant goes away in the middle of the import of many hours: nothing is missing in the end', async () => {
  const since = '2025-01-01';
  const story = await openStory({ me: person('me', [home(METER, quiet({ since }), PROPERTY)]) });
  const { probe, simulator, homeAssistant } = story;
  const usage = { history_since: since, reading_closes: 'same_day' };
  await startWithStatistics(story, { usage }, { hours: 'even' });
  await waitFor('the import', () => statisticsOn(probe)?.state === 'importing', { timeoutMs: 60_000 });
  await homeAssistant.restart();
  await untilWritten(probe);
  const api = await story.enter();
  expect(await sumsOfTruth(api, simulator, ENERGY, 'kwh')).toEqual(rowsOfTruth(simulator, 'kwh'));
  expect(await sumsOfTruth(api, simulator, COST, 'eur')).toEqual(rowsOfTruth(simulator, 'eur'));
  expect(complaints(homeAssistant.records())).toEqual([]);
});
