// The first run: from sign-in to retained states and discovery, history complete before the first word on a meter.
import { expect, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import { booked, METER, RETAINED, STATE, USAGE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { firstPoll } from '../support/story.ts';

const place = (probe: Probe, topic: string) => probe.heard.findIndex((message) => message.topic === topic);

test('one login, one discovery, no events; online, then discovery, then states, all retained', async () => {
  const config = { meters: { [METER]: { name: 'Flat 3' } } };
  const { story, probe, state } = await firstPoll({ config });
  expect(probe.json('heat2mqtt/bridge/health')).toMatchObject({
    state: 'ok',
    last_success_at: expect.any(String),
  });
  const { kwh, eur } = booked(story.simulator);
  expect(state.energy_total).toBeCloseTo(kwh, 3);
  expect(state.cost_total).toBeCloseTo(eur, 3);
  expect(state).toMatchObject({
    schema: 1,
    day: '2025-03-10',
    missing_days: 0,
    origin: '2025-01-01',
    data_late: false,
  });
  expect(state.reading_at).toBe('2025-03-10T00:01:07+00:00');
  const told = { account: 'home', meter: METER, called: 'Flat 3', days: 69, kwh: state.energy_total };
  expect(story.logged('history read')).toMatchObject([{ ...told, from: '2025-01-01' }]);
  expect(story.logged('history complete')).toMatchObject([
    { ...told, cost: state.cost_total, currency: 'EUR' },
  ]);
  expect(story.logged('polled')).toMatchObject([
    {
      account: 'home',
      newestDay: '2025-03-10',
      kwh: state.energy_day,
      cost: state.cost_day,
      currency: 'EUR',
    },
  ]);
  expect(probe.json(`heat2mqtt/meter/${METER}/usage/day`)?.buckets).toHaveLength(62);
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: 'ok', logins_today: 1 });
  expect(probe.json('heat2mqtt/bridge/info')).toMatchObject({
    version: about.version,
    base_topic: 'heat2mqtt',
    timezone: 'Europe/Dublin',
  });

  const { counters } = story.simulator;
  expect(counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  expect(counters.requests[USAGE]).toBe(1);
  expect(counters.requests['GET /api/v1/customers/:id']).toBe(1);

  expect(probe.heard.filter(({ topic, payload }) => /constituenc/.test(topic + payload))).toEqual([]);
  const meterConfig = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
  expect(place(probe, 'heat2mqtt/bridge/state')).toBeLessThan(
    place(probe, 'homeassistant/device/heat2mqtt_bridge/config'),
  );
  expect(place(probe, meterConfig)).toBeGreaterThan(-1);
  expect(place(probe, meterConfig)).toBeLessThan(place(probe, STATE));
  expect(probe.on(`heat2mqtt/meter/${METER}/event`)).toEqual([]);

  const later = await story.listen();
  await story.rest();
  const standing = later.heard.filter(({ retained }) => retained).map(({ topic }) => topic);
  expect(standing.sort()).toEqual(RETAINED);
  expect(later.last('heat2mqtt/bridge/state')?.payload).toBe('online');
});
