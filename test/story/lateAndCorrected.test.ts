// Days that come late, are corrected or never come: events for what is new, and totals that move by just that.
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { EVENT, home, METER, person, reading, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const at = (text: string) => Date.parse(text);

/** Three days of history; whatever else a story wants. */
async function polledStory(more: readonly ExplicitEvent[]) {
  const history = ['2025-03-07', '2025-03-08', '2025-03-09'].map((day) => reading(day, 10, 2.5));
  const accounts = [person('me', [home(METER, { events: [...history, ...more] })])];
  const { story, probe, state } = await firstPoll({ accounts });
  return {
    story,
    probe,
    state,
    async pollAt(time: string) {
      probe.forget();
      await story.nextPoll(at(time) - story.clock.now());
    },
    events: () => probe.all(EVENT),
  };
}

test('new, late and corrected days are events and lines of the log, and move the totals by just that', async () => {
  const corrections = [{ from: at('2025-03-13T06:00:00Z'), kwh: 5.001, eur: 1.4 }];
  const late = reading('2025-03-10', 8, 2, { bookedAt: at('2025-03-12T06:00:00Z'), corrections });
  const { story, probe, state, pollAt, events } = await polledStory([
    reading('2025-03-11', 12.345, 3.21),
    late,
  ]);
  expect(state).toMatchObject({ energy_total: 30, cost_total: 7.5 });
  const about = { level: 'info', account: 'home', meter: METER, currency: 'EUR' };
  const lastPoll = () => story.logged('polled').at(-1);
  const buckets = () => probe.json(`heat2mqtt/meter/${METER}/usage/day`)?.buckets as { start: string }[];

  await pollAt('2025-03-11T12:00:00Z');
  expect(events()).toMatchObject([
    { schema: 1, event_type: 'new_day', day: '2025-03-11', energy_kwh: 12.345, cost_eur: 3.21 },
  ]);
  expect(await probe.until(STATE)).toMatchObject({
    energy_total: 42.345,
    cost_total: 10.71,
    day: '2025-03-11',
    missing_days: 66,
  });
  expect(story.logged('new day')).toMatchObject([{ ...about, day: '2025-03-11', kwh: 12.345, cost: 3.21 }]);
  expect(lastPoll()).toMatchObject({ newDays: 1, newestDay: '2025-03-11' });

  // In its place, although a newer one is known.
  await pollAt('2025-03-12T12:00:00Z');
  expect(events()).toMatchObject([{ event_type: 'new_day', day: '2025-03-10', energy_kwh: 8 }]);
  expect(await probe.until(STATE)).toMatchObject({
    energy_total: 50.345,
    day: '2025-03-11',
    missing_days: 65,
  });
  expect(
    buckets()
      .map(({ start }) => start.slice(0, 10))
      .slice(-2),
  ).toEqual(['2025-03-10', '2025-03-11']);

  await pollAt('2025-03-13T12:00:00Z');
  expect(events()).toMatchObject([
    {
      event_type: 'corrected',
      day: '2025-03-10',
      energy_kwh: 5.001,
      old_energy_kwh: 8,
      cost_eur: 1.4,
      old_cost_eur: 2,
    },
  ]);
  expect(await probe.until(STATE)).toMatchObject({ energy_total: 47.346, cost_total: 12.11 });
  expect(buckets().at(-2)).toMatchObject({ energy_kwh: 5.001, revision: 1 });
  expect(story.logged('day corrected')).toMatchObject([
    { ...about, day: '2025-03-10', kwh: 5.001, cost: 1.4, kwhBefore: 8, costBefore: 2 },
  ]);
  // Nothing is counted where nothing is new.
  await pollAt('2025-03-13T16:00:00Z');
  expect(Object.keys(lastPoll() ?? {}).sort()).toEqual(['account', 'level', 'msg', 'newestDay', 'time']);
});

test('a correction of a day long gone is found by the weekly look back', async () => {
  const corrections = [{ from: at('2025-04-20T00:00:00Z'), kwh: 11, eur: 3 }];
  const { probe, pollAt, events } = await polledStory([reading('2025-03-10', 10, 2.5, { corrections })]);
  // Ten days without a poll, so that the long window is due.
  await pollAt('2025-04-12T12:00:00Z');
  await pollAt('2025-04-20T12:00:00Z');
  expect(events()).toMatchObject([{ event_type: 'corrected', day: '2025-03-10', energy_kwh: 11 }]);
  await probe.until(STATE, ({ energy_total }) => energy_total === 41);
});

test('data grown old is late, says so once, and is good again with the next reading', async () => {
  const { story, probe, pollAt } = await polledStory([
    reading('2025-03-10', 10, 2.5),
    reading('2025-03-14', 9, 2),
  ]);
  await pollAt('2025-03-12T12:00:00Z');
  expect(probe.on(EVENT)).toEqual([]);
  // The reading of the 10th ends with that day; 60 hours later is the 13th at noon.
  story.clock.advance(23 * HOUR_MS + 50 * 60_000);
  probe.forget();
  await story.pass(30 * 60_000, 60_000);
  await probe.until(STATE, ({ data_late }) => data_late === true);
  expect(await probe.until(EVENT)).toMatchObject({ event_type: 'late' });
  await story.pass(30 * 60_000, 60_000);
  expect(probe.on(EVENT)).toHaveLength(1);
  await pollAt('2025-03-14T12:00:00Z');
  await probe.until(STATE, ({ data_late, day }) => data_late === false && day === '2025-03-14');
});
