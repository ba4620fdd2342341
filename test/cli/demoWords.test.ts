// What the demo says: the sentence on the meter, and the lines on what is published.
import { expect, test } from 'vitest';
import { meterSentence, Telling, timeWords } from '../../src/cli/demoWords.ts';

const STATE = {
  day: '2026-11-20',
  energy_day: 11.043,
  cost_day: 2.055,
  energy_month: 314.43,
  cost_month: 57.291,
  cost_month_forecast: 80.1,
};

test.each([
  [
    STATE,
    'Friday 20 November: 11.0 kWh, 2.06 EUR. This month so far: 314.4 kWh, 57.29 EUR. About 80.10 EUR by its end.',
  ],
  [
    { ...STATE, cost_day: null, cost_month_forecast: null },
    'Friday 20 November: 11.0 kWh. This month so far: 314.4 kWh, 57.29 EUR.',
  ],
  [
    { ...STATE, energy_month: null, cost_month: null, cost_month_forecast: null },
    'Friday 20 November: 11.0 kWh, 2.06 EUR.',
  ],
  [{ day: null }, 'There is no reading yet.'],
])('%j', (state, sentence) => expect(meterSentence(state)).toBe(sentence));

const telling = () => {
  const words = new Telling('heat2mqtt');
  return (topic: string, payload: Record<string, unknown>) => words.linesOf(`heat2mqtt/${topic}`, payload);
};
const AT = '2026-11-22T05:24:29+00:00';
const LATER = '2026-11-22T05:25:00+00:00';

test('health: what has changed, and neither polls nor refreshes that brought nothing', () => {
  const told = telling();
  const health = { state: 'ok', reasons: [], last_success_at: AT };
  expect(told('bridge/health', health)).toEqual(['Health: ok.']);
  const auth = { home: { access_expires_at: LATER } };
  expect(told('bridge/health', { ...health, last_success_at: LATER, auth })).toEqual([]);
  const reasons = [{ code: 'data_late', message: 'It is late.' }];
  expect(told('bridge/health', { ...health, state: 'degraded', last_success_at: LATER, reasons })).toEqual([
    'Health: degraded. It is late.',
  ]);
});

test('events and answers: each of them', () => {
  const told = telling();
  const day = { event_type: 'corrected', day: '2026-11-20', energy_kwh: 11, cost_eur: 2 };
  const corrected = { ...day, old_energy_kwh: 10, old_cost_eur: null };
  const line = 'A day was corrected: Friday 20 November, 11.0 kWh, 2.00 EUR, before that 10.0 kWh.';
  for (const _ of [1, 2]) expect(told('meter/7/event', corrected)).toEqual([line]);
  expect(told('bridge/event', { event_type: 'recovered', message: 'Read again.' })).toEqual(['Read again.']);
  expect(told('account/home/event', { event_type: 'bill' })).toEqual(['Event bill.']);
  expect(told('bridge/response/refresh', { status: 'skipped', data: { next_at: LATER } })).toEqual([
    `Answer to the request refresh: skipped, possible again at ${timeWords(LATER)}.`,
  ]);
  const list = { topic: 'heat2mqtt/constituencies/dail/34', count: 43 };
  expect(told('bridge/response/constituencies', { status: 'ok', data: list })).toEqual([
    'Answer to the request constituencies: ok, 43 on heat2mqtt/constituencies/dail/34.',
  ]);
  const error = { code: 'x', message: 'No.' };
  expect(told('bridge/response/brew', { status: 'error', error })).toEqual([
    'Answer to the request brew: error, No.',
  ]);
});

test('of anything else nothing', () => {
  expect(telling()('meter/7/usage/day', { buckets: [] })).toEqual([]);
});
