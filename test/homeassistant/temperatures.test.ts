// Hourly temperatures from long-term statistics, in questions of bearable size, and what is no statistics of temperatures.
import { expect, test } from 'vitest';
import { checkTemperature, hourlyTemperatures } from '../../src/homeassistant/recorder.ts';
import { open } from './opened.ts';

const SENSOR = 'sensor.balcony';
const MEASURED = { statistic_id: SENSOR, has_mean: true };
const DAY_MS = 86_400_000;
const FROM = Date.parse('2025-03-10T00:00:00Z');

test('asks in pieces, each hour once, when three years are missing', async () => {
  const { ha, connect } = await open();
  ha.sensors.set(SENSOR, { unit: '°C', mean: (start) => (start - FROM) / DAY_MS });
  const means = await hourlyTemperatures(await connect(), SENSOR, FROM, FROM + 1_096 * DAY_MS);
  expect(means.size).toBe(1_096 * 24);
  expect(ha.asked.filter(({ type }) => type === 'recorder/statistics_during_period')).toHaveLength(3);
});

test('leaves an hour out when its mean is not known', async () => {
  const { ha, connect } = await open();
  const rows = [null, 5].map((mean, n) => ({
    start: FROM + n * 3_600_000,
    end: FROM + (n + 1) * 3_600_000,
    mean,
  }));
  ha.answerNext('recorder/statistics_during_period', { [SENSOR]: rows });
  const means = await hourlyTemperatures(await connect(), SENSOR, FROM, FROM + DAY_MS);
  expect([...means]).toEqual([[FROM + 3_600_000, 5]]);
});

test('refuses an answer when its hours are at no time', async () => {
  const { ha, connect } = await open();
  ha.answerNext('recorder/statistics_during_period', { [SENSOR]: [{ start: 1e300, end: 1e300, mean: 5 }] });
  const trouble = await hourlyTemperatures(await connect(), SENSOR, FROM, FROM + DAY_MS).catch((err) => err);
  expect(trouble).toMatchObject({ kind: 'strange' });
});

test.each([
  ['there are none of it', 'no_temperatures', []],
  ['it is counted, not measured', 'no_temperatures', [{ statistic_id: SENSOR, has_mean: false }]],
  ['it is power', 'not_a_temperature', [{ ...MEASURED, statistics_unit_of_measurement: 'W' }]],
  ['it has no unit', 'not_a_temperature', [MEASURED]],
  ['it is in °C', undefined, [{ ...MEASURED, statistics_unit_of_measurement: '°C' }]],
  ['it is in K', undefined, [{ ...MEASURED, statistics_unit_of_measurement: 'K' }]],
])('statistics of a sensor when %s: %s', async (_, kind, result) => {
  const { ha, connect } = await open();
  ha.answerNext('recorder/get_statistics_metadata', result);
  const trouble = await checkTemperature(await connect(), SENSOR).catch((err) => err);
  expect(trouble?.kind).toBe(kind);
});
