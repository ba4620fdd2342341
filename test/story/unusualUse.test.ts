// Use that is unusual: one event when the day is news, none again after a restart, and none of the history.
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { EVENT, home, METER, person, reading, STATE } from '../support/homes.ts';
import { firstPoll } from '../support/story.ts';

const at = (text: string) => Date.parse(text);
const USUAL = [9.5, 10, 10.5, 9, 11, 10, 9.8, 10.4];

/** Told the morning after. */
const told = (day: string, kwh: number): ExplicitEvent =>
  reading(day, kwh, kwh / 4, { bookedAt: at(`${addDays(day, 1)}T06:00:00Z`) });

/** Days from 1 January on; the first poll is on 10 March. */
async function polledStory(over: Readonly<Record<string, number>>) {
  const events = Array.from({ length: 80 }, (_, n) => {
    const day = addDays('2025-01-01', n);
    return told(day, over[day] ?? USUAL[n % USUAL.length] ?? 10);
  });
  const { story, probe, state, restart } = await firstPoll({
    accounts: [person('me', [home(METER, { events })])],
  });
  return {
    story,
    probe,
    state,
    restart,
    async pollAt(time: string) {
      probe.forget();
      await story.nextPoll(at(time) - story.clock.now());
    },
    alarms: () => probe.all(EVENT).filter(({ event_type }) => event_type === 'unusual_use'),
  };
}

test('a day far off is an event with what was expected, and turns the sensor on until a usual one', async () => {
  const { state, pollAt, alarms, probe, restart } = await polledStory({ '2025-03-10': 31 });
  expect(state).toMatchObject({ day: '2025-03-09', unusual_use: false, energy_day_expected_by: 'season' });
  expect(state.energy_day_expected).toBeCloseTo(10, 0);
  await pollAt('2025-03-11T12:00:00Z');
  await probe.until(STATE, ({ unusual_use_since }) => unusual_use_since === '2025-03-10');
  const what = { day: '2025-03-10', energy_kwh: 31, by: 'season', direction: 'high', reason: 'day' };
  expect(alarms()).toMatchObject([what]);
  await restart();
  await pollAt('2025-03-11T16:00:00Z');
  expect(alarms()).toEqual([]);
  await pollAt('2025-03-12T12:00:00Z');
  await probe.until(STATE, ({ unusual_use }) => unusual_use === false);
  expect(alarms()).toEqual([]);
});

test('one of the history is no event, though the sensor tells of it', async () => {
  const { state, alarms, pollAt } = await polledStory({ '2025-03-09': 31, '2025-03-10': 32 });
  expect(state).toMatchObject({ unusual_use: true, unusual_use_direction: 'high' });
  await pollAt('2025-03-11T12:00:00Z');
  expect(alarms()).toEqual([]);
});
