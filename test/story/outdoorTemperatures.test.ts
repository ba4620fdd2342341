// The outdoor temperature of Home Assistant: what follows from it is published, survives restarts, and trouble is told.
import { expect, test } from 'vitest';
import { METER, STATE } from '../support/homes.ts';
import { DUBLIN, Household } from '../support/household.ts';
import { openStatisticsStory } from '../support/statisticsStory.ts';
import { HOUR_MS } from '../support/story.ts';

const SENSOR = 'sensor.balcony';
const HOUSEHOLD = new Household({
  seed: 8,
  from: '2023-10-01',
  days: 527,
  holidays: 0,
  changes: [{ from: '2024-12-10', factor: 0.8 }],
});
const AT = '2025-03-10';

/** A household until yesterday, and a thermometer that knows its weather until now. */
async function openWeatherStory(since = '2023-10-01') {
  const events = HOUSEHOLD.events().filter(
    ({ at }) => at >= DUBLIN.startOf(since) && at < DUBLIN.startOf(AT),
  );
  const told = await openStatisticsStory(events);
  const { story, ha } = told;
  const section = { url: ha.url, token: ha.switches.token, outdoor_temperature: SENSOR };
  const sensor = {
    unit: '°F',
    mean: (start: number) => {
      const mean = HOUSEHOLD.temperatures.get(DUBLIN.dayAt(start)) ?? 8;
      return start + HOUR_MS > story.clock.now() ? null : mean;
    },
  };
  ha.sensors.set(SENSOR, sensor);
  const means = () =>
    ha.asked.filter(({ types }) => String(types) === 'mean').map((one) => String(one.start_time));
  return {
    ...told,
    sensor,
    means,
    settled: (timezone = 'Europe/Dublin') =>
      told.settled({
        home_assistant: section,
        usage: { history_since: since, reading_closes: 'same_day', timezone },
      }),
  };
}

test('a household that saved a fifth is told so, with its band, whether Home Assistant is there or not', async () => {
  const { story, ha, probe, settled, means, start, until, pollAt } = await openWeatherStory();
  const daemon = await settled();
  // Temperatures and register come from two places, in either order.
  const isWhole = (state: Record<string, unknown>) =>
    state.weather_adjusted_change !== null && state.meter_reading !== null;
  const known = await probe.until(STATE, isWhole);
  const { weather_adjusted_change: change, ...others } = known;
  expect(Math.abs(Number(change) + 20)).toBeLessThan(6);
  expect(others).toMatchObject({
    weather_adjusted_change_from: '2024-12-10',
    weather_adjusted_change_to: '2025-03-09',
    weather_adjusted_change_days: 90,
    degree_days_month_days: 9,
  });
  const low = Number(others.weather_adjusted_change_low);
  expect(low).toBeLessThan(Number(change));
  expect(low).toBeGreaterThan(-30);
  const month = [...HOUSEHOLD.temperatures].filter(([day]) => day >= '2025-03-01' && day < AT);
  const degreeDays = month.reduce((sum, [, mean]) => sum + Math.max(0, 15.5 - mean), 0);
  // The house's own base temperature is fitted, and near 15.5 °C.
  expect(Math.abs(Number(others.degree_days_month) / degreeDays - 1)).toBeLessThan(0.1);
  const { components } = Object(probe.json(`homeassistant/device/heat2mqtt_meter_${METER}/config`));
  expect(Object.keys(components)).toEqual(
    expect.arrayContaining(['weather_adjusted_change', 'degree_days_month']),
  );
  expect(means()[0]).toBe('2023-09-30T23:00:00+00:00');

  // A restart without it changes nothing; afterwards only the newest days are asked for.
  const first = means().length;
  await pollAt('2025-03-10T14:00:00Z');
  expect(means()).toHaveLength(first);
  await story.stop(daemon);
  ha.switches.httpStatus = 502;
  probe.forget();
  const section = { url: ha.url, token: ha.switches.token, outdoor_temperature: SENSOR };
  const usage = { history_since: '2023-10-01', reading_closes: 'same_day' };
  const again = await start({ home_assistant: section, usage });
  await until('failing');
  const { updated_at: _, ...state } = await probe.until(STATE, () => true);
  expect(known).toMatchObject(state);
  await story.stop(again);
  ha.switches.httpStatus = null;
  await settled();
  expect(means().slice(first)).toEqual(['2025-03-07T00:00:00+00:00']);
});

test('under another name of the time zone the temperatures that are known stay known', async () => {
  const { story, means, settled } = await openWeatherStory('2025-02-01');
  await story.stop(await settled());
  const first = means().length;
  await settled('Eire');
  expect(means().slice(first)).toEqual(['2025-03-07T00:00:00+00:00']);
});

test('tells that temperatures cannot be read while the sensor is gone, and that they can again', async () => {
  const { story, ha, sensor, means, settled, codes, pollAt } = await openWeatherStory('2025-02-01');
  ha.sensors.delete(SENSOR);
  await settled();
  expect(codes()).toEqual(['home_assistant_no_temperatures']);
  const told = () => story.logged('outdoor temperatures cannot be read').length;
  expect(told()).toBe(1);
  await pollAt('2025-03-10T16:00:00Z');
  expect(told()).toBe(1);
  expect(means()).toEqual([]);
  ha.sensors.set(SENSOR, sensor);
  await pollAt('2025-03-10T20:00:00Z');
  expect([codes(), means().length]).toEqual([[], 1]);
  expect(story.logged('outdoor temperatures can be read again')).toHaveLength(1);
});
