// Late data at its true hour: every day of the ledger is in Home Assistant's statistics, whatever the provider does.
import { expect, test } from 'vitest';
import { METER, reading, STATE } from '../support/homes.ts';
import { COST, ENERGY, openStatisticsStory } from '../support/statisticsStory.ts';

const at = (text: string) => Date.parse(text);
const midnight = (day: string) => `${day}T00:00:00.000Z`;

test('the history lands on its days, as a pair that the Energy dashboard takes', async () => {
  const { ha, settled } = await openStatisticsStory();
  await settled();
  expect(ha.rows(ENERGY)).toEqual([
    [midnight('2025-03-07'), 10, 10],
    [midnight('2025-03-08'), 10, 20],
    [midnight('2025-03-09'), 10, 30],
  ]);
  expect(ha.rows(COST)).toEqual([
    [midnight('2025-03-07'), 2.5, 2.5],
    [midnight('2025-03-08'), 2.5, 5],
    [midnight('2025-03-09'), 2.5, 7.5],
  ]);
  expect([...ha.metadata.values()]).toEqual([
    {
      mean_type: 0,
      has_sum: true,
      name: `Heat meter ${METER} energy`,
      source: 'heat2mqtt',
      statistic_id: ENERGY,
      unit_class: 'energy',
      unit_of_measurement: 'kWh',
    },
    expect.objectContaining({ statistic_id: COST, unit_class: null, unit_of_measurement: 'EUR' }),
  ]);
});

test('a new day is one row, a late or corrected one is sent with every day after it, and nothing is sent twice', async () => {
  const corrections = [{ from: at('2025-03-12T14:00:00Z'), kwh: 4.001, eur: 2.5 }];
  const late = reading('2025-03-10', 8, 2, { bookedAt: at('2025-03-12T06:00:00Z') });
  const { story, ha, probe, settled, pollAt } = await openStatisticsStory([
    reading('2025-03-07', 10, 2.5),
    reading('2025-03-08', 10, 2.5, { corrections }),
    reading('2025-03-09', 10, 2.5),
    late,
    reading('2025-03-11', 9, 2.25),
  ]);
  const daemon = await settled();
  await pollAt('2025-03-10T16:00:00Z');
  expect(ha.imports()).toEqual([3, 3]);
  await pollAt('2025-03-11T12:00:00Z');
  expect(ha.rows(ENERGY).at(-1)).toEqual([midnight('2025-03-11'), 9, 39]);
  await pollAt('2025-03-12T12:00:00Z');
  expect(ha.rows(ENERGY).slice(-2)).toEqual([
    [midnight('2025-03-10'), 8, 38],
    [midnight('2025-03-11'), 9, 47],
  ]);
  expect(ha.imports()).toEqual([3, 3, 1, 1, 2, 2]);
  await pollAt('2025-03-12T16:00:00Z');
  expect(ha.rows(ENERGY).slice(1)).toEqual([
    [midnight('2025-03-08'), 4.001, 14.001],
    [midnight('2025-03-09'), 10, 24.001],
    [midnight('2025-03-10'), 8, 32.001],
    [midnight('2025-03-11'), 9, 41.001],
  ]);
  await probe.until(STATE, ({ energy_total }) => energy_total === 41.001);
  // The cost has not changed.
  expect(ha.imports()).toEqual([3, 3, 1, 1, 2, 2, 4]);
  await story.stop(daemon);
  await settled();
  expect(ha.imports()).toHaveLength(7);
});

test('reading_closes: previous_day moves MQTT and statistics alike, also when it is chosen later', async () => {
  const { story, ha, probe, settled } = await openStatisticsStory();
  const daemon = await settled();
  await story.stop(daemon);
  probe.forget();
  await settled({
    usage: { history_since: '2025-01-01', jitter_seconds: 0, reading_closes: 'previous_day' },
  });
  await probe.until(STATE, ({ day }) => day === '2025-03-08');
  expect(ha.rows(ENERGY)).toEqual([
    [midnight('2025-03-06'), 10, 10],
    [midnight('2025-03-07'), 10, 20],
    [midnight('2025-03-08'), 10, 30],
    // Home Assistant keeps the row of a day that is none any more: nothing was used then.
    [midnight('2025-03-09'), 0, 30],
  ]);
});
