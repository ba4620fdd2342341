// What the demo says: the sentence on the meter, and the lines on what is published.
import { expect, test } from 'vitest';
import { meterSentence, sentenceOn, timeWords } from '../../src/cli/demo.ts';

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

const LATER = '2026-11-22T05:25:00+00:00';
const DAY = { event_type: 'corrected', day: '2026-11-20', energy_kwh: 11, cost_eur: 2 };

test.each<[string, Record<string, unknown>, string | null]>([
  ['bridge/health', { state: 'ok', reasons: [] }, 'Health: ok.'],
  [
    'bridge/health',
    { state: 'degraded', reasons: [{ code: 'data_late', message: 'It is late.' }] },
    'Health: degraded. It is late.',
  ],
  [
    'meter/7/event',
    { ...DAY, old_energy_kwh: 10, old_cost_eur: null },
    'A day was corrected: Friday 20 November, 11.0 kWh, 2.00 EUR, before that 10.0 kWh.',
  ],
  ['bridge/event', { event_type: 'recovered', message: 'Read again.' }, 'Read again.'],
  ['account/home/event', { event_type: 'bill' }, 'Event bill.'],
  [
    'bridge/response/refresh',
    { status: 'skipped', data: { next_at: LATER } },
    `Answer to the request refresh: skipped, possible again at ${timeWords(LATER)}.`,
  ],
  [
    'bridge/response/constituencies',
    { status: 'ok', data: { topic: 'heat2mqtt/constituencies/dail/34', count: 43 } },
    'Answer to the request constituencies: ok, 43 on heat2mqtt/constituencies/dail/34.',
  ],
  [
    'bridge/response/brew',
    { status: 'error', error: { code: 'x', message: 'No.' } },
    'Answer to the request brew: error, No.',
  ],
  ['meter/7/usage/day', { buckets: [] }, null],
])('%s %j', (name, payload, sentence) => expect(sentenceOn(name, payload)).toBe(sentence));
