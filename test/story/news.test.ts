// What a new day brings: events for what is new, late, corrected, odd or unusual, and for another tariff, once; totals that move by just that.

import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { usual } from '../domain/tariffs.ts';
import { FAULTS } from '../support/faults.ts';
import { EVENT, HEALTH, home, METER, person, reading, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const BRIDGE_EVENT = 'heat2mqtt/bridge/event';

const at = (text: string) => Date.parse(text);

/** `given`: what the meter reads. The first poll is at noon of 10 March. */
async function polledStory(given: readonly ExplicitEvent[]) {
  const accounts = [person('me', [home(METER, { events: [...given] })])];
  const { story, probe, state, restart } = await firstPoll({ accounts });
  return {
    ...{ story, probe, state, restart },
    async pollAt(time: string) {
      probe.forget();
      await story.nextPoll(at(time) - story.clock.now());
    },
    events: (...types: string[]) =>
      probe.all(EVENT).filter(({ event_type }) => types.length === 0 || types.includes(event_type)),
  };
}

const HISTORY = ['2025-03-07', '2025-03-08', '2025-03-09'].map((day) => reading(day, 10, 2.5));

test('new, late and corrected days are events and lines of the log, and move the totals by just that', async () => {
  const corrections = [{ from: at('2025-03-13T06:00:00Z'), kwh: 5.001, eur: 1.4 }];
  const late = reading('2025-03-10', 8, 2, { bookedAt: at('2025-03-12T06:00:00Z'), corrections });
  const { story, probe, state, pollAt, events } = await polledStory([
    ...HISTORY,
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
  expect(Object.keys(lastPoll() ?? {})).not.toContain('newDays');
  expect(Object.keys(lastPoll() ?? {})).not.toContain('correctedDays');
});

test('data grown old is late, says so once, and is good again with the next reading', async () => {
  const { story, probe, pollAt } = await polledStory([
    ...HISTORY,
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

const days = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    new Date(Date.UTC(2025, 2, 11 - count + at)).toISOString().slice(0, 10),
  );
const ordinary = days(60).map((day) => reading(day, 10, 2));
// Which days are odd is in test/domain/quarantine.test.ts.
test('a day of less than nothing is told on health, and counts when it comes again', async () => {
  const events = [...ordinary, reading('2025-03-11', -2, -0.5)];
  const { story, probe } = await firstPoll({ accounts: [person('me', [home(METER, { events })])] });
  await story.nextPoll(24 * HOUR_MS);
  const message = expect.stringContaining('2025-03-11');
  const reasons = [{ code: 'implausible_reading', meter: METER, message }];
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded', reasons });
  expect(probe.json(STATE)).toMatchObject({ energy_total: 600, cost_total: 120 });

  await story.nextPoll(4 * HOUR_MS);
  expect(probe.json(STATE)).toMatchObject({ energy_total: 598, cost_total: 119.5 });
  expect(probe.all(EVENT).map(({ event_type }) => event_type)).toEqual(['new_day']);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
});

const FIRST = '2025-02-01';
const OLD = { rate: 0.124, standing: 0.686 };
const NEW = { rate: 0.138, standing: 0.71 };

const priced = (at: number, { rate, standing } = OLD): ExplicitEvent => {
  const kwh = usual(at);
  return reading(addDays(FIRST, at), kwh, Number((rate * kwh + standing).toFixed(4)));
};

test('a tariff found first is no news, another one is, once', async () => {
  const events = Array.from({ length: 38 }, (_, at) => priced(at));
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
    events.push(priced(events.length, price));
    await story.nextPoll(24 * HOUR_MS);
    const day = addDays(FIRST, events.length - 1);
    return probe.until(STATE, (state) => state.day === day);
  }
  expect(changes()).toEqual([]);

  for (const _ of [1, 2, 3, 4, 5, 6]) await nextDay(NEW);
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

const USUAL = [9.5, 10, 10.5, 9, 11, 10, 9.8, 10.4];

/** Told the morning after. */
const told = (day: string, kwh: number): ExplicitEvent =>
  reading(day, kwh, kwh / 4, { bookedAt: at(`${addDays(day, 1)}T06:00:00Z`) });

/** Days from 1 January on. */
const season = (over: Readonly<Record<string, number>>) =>
  Array.from({ length: 80 }, (_, n) => {
    const day = addDays('2025-01-01', n);
    return told(day, over[day] ?? USUAL[n % USUAL.length] ?? 10);
  });

test('a day far off is an event with what was expected, and turns the sensor on until a usual one', async () => {
  const { state, pollAt, events, probe, restart } = await polledStory(season({ '2025-03-10': 31 }));
  const alarms = () => events('unusual_use');
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

test('a new day that no broker has taken before the end of the program is told by the next one, once', async () => {
  const { story, probe, events, restart } = await polledStory([...HISTORY, reading('2025-03-11', 12, 3)]);
  await story.broker.stop();
  await story.nextPoll(at('2025-03-11T12:00:00Z') - story.clock.now());
  await story.broker.restart();
  const listener = await story.listen();
  const second = await restart();
  expect(await listener.until(EVENT)).toMatchObject({ event_type: 'new_day', day: '2025-03-11' });
  await story.rest();
  await story.stop(second);
  listener.forget();
  await story.start();
  await story.nextPoll(4 * HOUR_MS);
  expect([...listener.all(EVENT), ...events()]).toEqual([]);
  probe.forget();
});

/** The events that two programs after this one tell, which ends without a broker: of this topic, by type. */
async function toldAfterwards({ story, daemon }: Awaited<ReturnType<typeof firstPoll>>, topic: string) {
  await story.stop(daemon);
  await story.broker.restart();
  const listener = await story.listen();
  const heard: unknown[][] = [];
  for (let round = 0; round < 2; round += 1) {
    listener.forget();
    const next = await story.start();
    await story.rest();
    heard.push(listener.all(topic).map(({ event_type }) => event_type));
    await story.stop(next);
  }
  return heard;
}

test('tells the end of trouble in the next program, once, when no broker has taken it', async () => {
  const first = await firstPoll();
  const { story, probe, switches } = first;
  switches.fault('/api/v1/reports/usage', FAULTS.serverError);
  await story.nextPoll(4 * HOUR_MS);
  await probe.until(BRIDGE_EVENT, ({ event_type }) => event_type === 'poll_failed');
  await story.broker.stop();
  switches.clearFaults();
  await story.nextPoll(4 * HOUR_MS);
  // A kill would leave just this: the good poll, and the event that it is.
  const journal = (await story.stateFiles()).find((text) => text.includes('lastPollAt')) ?? '';
  const { failures, untold } = JSON.parse(journal).accounts.home;
  expect({ failures, isUntold: JSON.stringify(untold).includes('recovered') }).toEqual({
    failures: 0,
    isUntold: true,
  });
  expect(await toldAfterwards(first, BRIDGE_EVENT)).toEqual([['recovered'], []]);
});

test('tells in the next program, once, that data is late when it became so without a broker, or without a program', async () => {
  const events = [...HISTORY, reading('2025-03-10', 10, 2.5)];
  const accounts = [person('me', [home(METER, { events })])];
  for (const isStopped of [false, true]) {
    const first = await firstPoll({ accounts });
    const { story } = first;
    await story.nextPoll(24 * HOUR_MS);
    await story.broker.stop();
    if (isStopped) await story.stop(first.daemon);
    story.clock.advance(60 * HOUR_MS);
    if (!isStopped) await story.pass(10 * 60_000, 60_000);
    expect(await toldAfterwards(first, EVENT)).toEqual([['late'], []]);
  }
});
