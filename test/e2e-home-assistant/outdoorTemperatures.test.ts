// A thermometer with long-term statistics in a real recorder: what the bridge makes of it is shown as entities.
import { expect, test } from 'vitest';
import { home, METER, PROPERTY, person, quiet, STATE } from '../support/homes.ts';
import { DUBLIN, Household } from '../support/household.ts';
import { waitFor } from '../support/waitFor.ts';
import type { Api } from './api.ts';
import { complaints, untilShown } from './entities.ts';
import { daysAgo, HEALTH_TOPIC, startWithStatistics, untilWritten } from './series.ts';
import { openStory } from './story.ts';

const SENSOR = 'sensor.balcony';
const HOUR_MS = 3_600_000;
const BATCH = 2_000;
const DAYS = 520;
const HOUSEHOLD = new Household({
  seed: 8,
  from: daysAgo(DAYS),
  days: DAYS,
  holidays: 0,
  changes: [{ from: daysAgo(90), factor: 0.7 }],
});

/** Hourly means in °F, as a recorder has them of a thermometer that has hung there for long. */
async function hangThermometer(api: Api, unit: string): Promise<void> {
  const [from, to] = [DUBLIN.startOf(daysAgo(DAYS)), DUBLIN.startOf(daysAgo(0))];
  const rows = Array.from({ length: (to - from) / HOUR_MS }, (_, at) => {
    const start = from + at * HOUR_MS;
    const mean = (HOUSEHOLD.temperatures.get(DUBLIN.dayAt(start)) ?? 0) * 1.8 + 32;
    return { start: new Date(start).toISOString().replace('.000Z', '+00:00'), mean, min: mean, max: mean };
  });
  const isTemperature = unit === '°F';
  const metadata = {
    has_sum: false,
    mean_type: 1,
    name: null,
    source: 'recorder',
    statistic_id: SENSOR,
    unit_class: isTemperature ? 'temperature' : 'power',
    unit_of_measurement: unit,
  };
  for (let at = 0; at < rows.length; at += BATCH)
    await api.ask('recorder/import_statistics', { metadata, stats: rows.slice(at, at + BATCH) });
  const last = { start_time: rows.at(-1)?.start, statistic_ids: [SENSOR], period: 'hour', types: ['mean'] };
  const areThere = async () => {
    const found = Object(await api.ask('recorder/statistics_during_period', last));
    return found[SENSOR]?.length === 1;
  };
  // A recorder takes its time for so many rows.
  await waitFor('the temperatures', areThere, { timeoutMs: 60_000 });
}

async function openWithThermometer(unit: string) {
  const story = await openStory({
    me: person('me', [home(METER, quiet({ events: HOUSEHOLD.events() }), PROPERTY)]),
  });
  const api = await story.enter();
  await hangThermometer(api, unit);
  const usage = { history_since: daysAgo(DAYS), reading_closes: 'same_day' };
  const start = () => startWithStatistics(story, { usage }, { outdoor_temperature: SENSOR });
  return { story, api, start };
}

test('a saving is shown with its band, and the degree days of the month', async () => {
  const { story, api, start } = await openWithThermometer('°F');
  await start();
  // The visit that writes the statistics reads the temperatures.
  await untilWritten(story.probe);
  const state = await story.probe.until(STATE, ({ weather_adjusted_change: change }) => change !== null);
  await untilShown(story.probe, api);
  const shown = async (key: string) => Object(await api.get(`/api/states/sensor.heat2mqtt_${METER}_${key}`));
  const change = await shown('weather_adjusted_change');
  expect(Math.abs(Number(change.state) + 30)).toBeLessThan(9);
  expect(change.attributes).toMatchObject({
    derived: true,
    unit_of_measurement: '%',
    low: state.weather_adjusted_change_low,
    high: state.weather_adjusted_change_high,
    from: daysAgo(90),
    to: daysAgo(1),
    days: 90,
  });
  const month = daysAgo(0).slice(0, 7);
  const days = [...HOUSEHOLD.temperatures].filter(([day]) => day.startsWith(month));
  const sum = days.reduce((all, [, mean]) => all + Math.max(0, 15.5 - mean), 0);
  const degreeDays = await shown('degree_days_month');
  if (days.length === 0) expect(degreeDays.state).toBe('unknown');
  else expect(Number(degreeDays.state)).toBeCloseTo(sum, 0);
  await untilWritten(story.probe);
  expect(complaints(story.homeAssistant.records())).toEqual([]);
});

test('a sensor of something else is told, and the entities are not there', async () => {
  const { story, start } = await openWithThermometer('W');
  await start();
  await untilWritten(story.probe);
  const { reasons } = story.probe.json(HEALTH_TOPIC) ?? {};
  expect(reasons).toEqual([expect.objectContaining({ code: 'home_assistant_not_a_temperature' })]);
  const { components } = Object(story.probe.json(`homeassistant/device/heat2mqtt_meter_${METER}/config`));
  expect(Object.keys(components)).not.toContain('weather_adjusted_change');
});
