// A tariff that changes: one event, once it is certain, and none after a restart.
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { usual } from '../domain/tariffs.ts';
import { EVENT, home, METER, person, reading, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const FIRST = '2025-02-01';
const OLD = { rate: 0.124, standing: 0.686 };
const NEW = { rate: 0.138, standing: 0.71 };

const bill = (at: number, { rate, standing } = OLD): ExplicitEvent => {
  const kwh = usual(at);
  return reading(addDays(FIRST, at), kwh, Number((rate * kwh + standing).toFixed(4)));
};

test('a tariff found first is no news, another one is, once', async () => {
  const events = Array.from({ length: 38 }, (_, at) => bill(at));
  const accounts = [person('me', [home(METER, { events })])];
  const { story, probe, daemon, state } = await firstPoll({ accounts });
  expect(state).toMatchObject({
    unit_rate: 0.124,
    standing_charge: 0.686,
    tariff: { from: '2025-02-02', to: '2025-03-10', days_explained: 37, days_seen: 37 },
    cost_day_standing: 0.686,
  });
  const changes = () => probe.all(EVENT).filter(({ event_type }) => event_type === 'tariff_changed');
  async function nextDay(price: typeof OLD) {
    events.push(bill(events.length, price));
    await story.nextPoll(24 * HOUR_MS);
    const day = addDays(FIRST, events.length - 1);
    return probe.until(STATE, (state) => state.day === day);
  }
  expect(changes()).toEqual([]);

  expect(await nextDay(NEW)).toMatchObject({
    unit_rate: 0.124,
    tariff: { to: '2025-03-10' },
    cost_day_standing: null,
  });
  await nextDay(NEW);
  for (const _ of [3, 4, 5, 6]) expect(await nextDay(NEW)).toMatchObject({ unit_rate: null, tariff: null });
  expect(changes()).toEqual([]);
  expect(await nextDay(NEW)).toMatchObject({
    unit_rate: 0.138,
    standing_charge: 0.71,
    cost_day_standing: 0.71,
  });
  const change = {
    event_type: 'tariff_changed',
    day: '2025-03-11',
    before: { unit_rate: 0.124, standing_charge: 0.686, from: '2025-02-02', to: '2025-03-10' },
    after: { unit_rate: 0.138, standing_charge: 0.71, from: '2025-03-11', to: '2025-03-17' },
  };
  expect(changes()).toMatchObject([change]);

  await story.stop(daemon);
  await story.start();
  expect(await nextDay(NEW)).toMatchObject({ unit_rate: 0.138 });
  expect(changes()).toHaveLength(1);
});
