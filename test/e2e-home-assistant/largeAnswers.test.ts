// The largest answers that are asked for of a real Home Assistant: three years of hours, and the entities of a large home.
import { expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../src/foundation/clock.ts';
import {
  allStoredHours,
  importStatistics,
  instant,
  mqttEntities,
  visitHomeAssistant,
} from '../../src/homeassistant/commands.ts';
import { HomeAssistantTrouble } from '../../src/homeassistant/trouble.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { openStory } from './story.ts';

const ID = 'heat2mqtt:hours_energy';
const HOUR_MS = 3_600_000;
const FIRST = Date.UTC(2023, 0, 1);
const COUNT = 3 * 366 * 24;
const BATCH = 5_000;
const LONGEST_MS = 900_000;

test(
  'three years of hourly rows are read back whole, though they are more than one answer may have',
  async () => {
    const { homeAssistant, token } = await openStory();
    const address = { url: `${homeAssistant.url.replace('http', 'ws')}/api/websocket`, token };
    const rows = Array.from({ length: COUNT }, (_, at) => {
      return { start: instant(FIRST + at * HOUR_MS), state: at / 8, sum: at };
    });
    const metadata = {
      mean_type: 0,
      has_sum: true,
      name: 'Hours',
      source: 'heat2mqtt',
      statistic_id: ID,
      unit_class: 'energy',
      unit_of_measurement: 'kWh',
    };
    await visitHomeAssistant(address, systemClock, async (home) => {
      for (let at = 0; at < COUNT; at += BATCH)
        await importStatistics(home, metadata, rows.slice(at, at + BATCH));
      const stored = () => allStoredHours(home, ID, ['state', 'sum']);
      const isWhole = async () => {
        // Older releases store a hundred rows a second, and have to answer meanwhile.
        await turn(3_000);
        const some = await stored();
        return some.length === COUNT && some;
      };
      const all = await waitFor('all rows', isWhole, { timeoutMs: LONGEST_MS / 2 });
      expect(all.map(({ start, sum }) => [start, sum])).toEqual(
        rows.map(({ start, sum }) => [Date.parse(start), sum]),
      );
    });
    const inOne = visitHomeAssistant(address, systemClock, (home) =>
      home.send(
        {
          type: 'recorder/statistics_during_period',
          start_time: instant(FIRST),
          statistic_ids: [ID],
          period: 'hour',
          types: ['state', 'sum'],
        },
        z.unknown(),
      ),
    );
    await expect(inOne).rejects.toThrow(HomeAssistantTrouble);
    await expect(inOne).rejects.toMatchObject({ kind: 'too_large' });
  },
  LONGEST_MS,
);

test('entities of MQTT are found by their unique ids, whatever they are called, and without those that are disabled', async () => {
  const { start, enter, probe, homeAssistant, token } = await openStory();
  await start();
  await probe.until('heat2mqtt/bridge/health', () => true);
  const api = await enter();
  const list = async () => {
    const entries = (await api.ask('config/entity_registry/list')) as Record<string, unknown>[];
    return entries.filter(({ platform }) => platform === 'mqtt');
  };
  const all = await waitFor('its entities', async () => {
    const some = await list();
    return some.length > 30 && some;
  });
  const isSensor = ({ disabled_by, entity_id }: Record<string, unknown>) =>
    disabled_by === null && String(entity_id).startsWith('sensor.');
  const [first, second] = all.filter(isSensor);
  await api.ask('config/entity_registry/update', {
    entity_id: first?.entity_id,
    new_entity_id: 'sensor.cellar',
  });
  await api.ask('config/entity_registry/update', { entity_id: second?.entity_id, disabled_by: 'user' });
  const address = { url: `${homeAssistant.url.replace('http', 'ws')}/api/websocket`, token };
  const found = await visitHomeAssistant(address, systemClock, (home) => mqttEntities(home));
  const wanted = (await list()).filter(({ disabled_by }) => disabled_by === null);
  expect([...found].sort()).toEqual(
    wanted.map(({ unique_id, entity_id }) => [unique_id, entity_id] as [string, string]).sort(),
  );
  expect(found.get(String(first?.unique_id))).toBe('sensor.cellar');
});
