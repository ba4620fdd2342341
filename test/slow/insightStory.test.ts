// A whole daemon beside an invented household: what it publishes of bill and register, forecast and use is the truth.
import { expect, test } from 'vitest';
import { addDays, type Day } from '../../src/domain/period.ts';
import { home, METER, person, STATE } from '../support/homes.ts';
import { DUBLIN, Household, stuckValve } from '../support/household.ts';
import { openStatisticsStory } from '../support/statisticsStory.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const ACCOUNT = 'heat2mqtt/account/home/state';
const ACCOUNT_EVENT = 'heat2mqtt/account/home/event';
const METER_EVENT = `heat2mqtt/meter/${METER}/event`;
const SENSOR = 'sensor.balcony';
const VAT = [
  { from: '2000-01-01', percent: 9 },
  { from: '2024-10-01', percent: 13.5 },
];

test.each([
  ['before midnight', false],
  ['after midnight', true],
])('a bill that is wrong by 12.40, and the register, readings %s', async (_name, afterMidnight) => {
  const household = new Household({
    seed: 17,
    from: '2023-01-01',
    days: 789,
    holidays: 0,
  });
  // The newest bill, of January, is 12.40 EUR too high; it comes on the 4th of February.
  const issued = household.invoices({ vat: VAT, wrong: { 24: 12.4 } });
  const bills = issued.map(({ invoice }) => Household.told(invoice));
  const invoices = bills.slice(0, 24);
  const me = {
    ...person('me', [home(METER, { events: household.events({ afterMidnight }) })]),
    invoices,
  };
  const { story, probe } = await firstPoll({
    at: '2025-01-20T09:00:00Z',
    accounts: [me],
    config: {
      usage: {
        history_since: '2023-01-01',
        reading_closes: afterMidnight ? 'previous_day' : 'same_day',
      },
    },
  });
  await probe.until(ACCOUNT, ({ invoice_difference }) => typeof invoice_difference === 'number');
  const before = issued[23];
  expect(probe.json(ACCOUNT)).toMatchObject({
    invoice_difference: expect.closeTo(((before?.invoice.total ?? 0) - (before?.sum ?? 0)) / 1e6, 2),
    invoice_difference_explained_percent: 13.5,
    invoice_difference_from: '2024-12-01',
    invoice_difference_to: '2024-12-31',
    invoice_difference_days_missing: 0,
  });

  for (let today = '2025-01-21'; today <= '2025-02-04'; today = addDays(today, 1)) {
    if (today === '2025-02-04') invoices.push(...bills.slice(24, 25));
    await story.nextPoll(24 * HOUR_MS);
    expect(probe.json(STATE)?.day).toBe(addDays(today, -1));
  }
  expect(DUBLIN.dayAt(story.clock.now())).toBe('2025-02-04');

  const january = issued[24];
  expect(probe.json(ACCOUNT)).toMatchObject({
    invoice_difference: expect.closeTo(((january?.invoice.total ?? 0) - (january?.sum ?? 0)) / 1e6, 2),
    invoice_difference_explained_percent: 13.5,
    invoice_difference_rest: expect.closeTo(12.4, 1),
    invoice_difference_from: '2025-01-01',
    invoice_difference_to: '2025-01-31',
    invoice_difference_days_missing: 0,
  });
  expect(probe.all(ACCOUNT_EVENT)).toMatchObject([
    { event_type: 'bill', invoice: { id: 'INV-0025', check: { rest: expect.closeTo(12.4, 1) } } },
  ]);

  expect(probe.json(STATE)).toMatchObject({ register_difference: 0, register_difference_days_missing: 0 });
});

test('a valve that is stuck from the 10th of February on, and the forecasts of the month before', async () => {
  const stuckFrom = '2025-02-10';
  const household = new Household({
    seed: 17,
    from: '2023-01-01',
    days: 800,
    holidays: 0,
    changes: [stuckValve(stuckFrom)],
  });
  const { story, ha, probe, settled, pollAt } = await openStatisticsStory(household.events());
  ha.sensors.set(SENSOR, {
    unit: '°C',
    mean: (start) =>
      start + HOUR_MS > story.clock.now() ? null : (household.temperatures.get(DUBLIN.dayAt(start)) ?? null),
  });
  story.clock.advance(Date.parse('2025-01-10T09:00:00Z') - story.clock.now());
  const section = { url: ha.url, token: ha.switches.token, outdoor_temperature: SENSOR };
  const usage = { history_since: '2023-01-01', reading_closes: 'same_day' };
  await settled({ home_assistant: section, usage });

  const alarms: Day[] = [];
  const forecasts: { readonly low: number; readonly high: number }[] = [];
  for (let today = '2025-01-11'; today <= '2025-02-16'; today = addDays(today, 1)) {
    await pollAt(`${today}T09:00:00Z`);
    const { day, unusual_use, ...state } = probe.json(STATE) ?? {};
    expect(day).toBe(addDays(today, -1));
    if (unusual_use) alarms.push(String(day));
    const [low, point, high] = ['_low', '', '_high'].map((end) => Number(state[`cost_month_forecast${end}`]));
    expect(low).toBeLessThanOrEqual(point ?? Number.NaN);
    expect(point).toBeLessThanOrEqual(high ?? Number.NaN);
    if (today < '2025-02-01') forecasts.push({ low: low ?? Number.NaN, high: high ?? Number.NaN });
  }
  const ofJanuary = [...household.days].filter(([day]) => day.startsWith('2025-01'));
  const truth = ofJanuary.reduce((sum, [, { cost }]) => sum + (cost ?? 0) / 1e6, 0);
  const isHeld = ({ low, high }: { low: number; high: number }) => low <= truth && truth <= high;
  expect(forecasts.filter(isHeld).length).toBeGreaterThan(forecasts.length / 2);

  expect(alarms[0]).toMatch(/^2025-02-1[012]$/);
  const told = probe.all(METER_EVENT).filter(({ event_type }) => event_type === 'unusual_use');
  expect(told).toMatchObject([{ day: alarms[0], direction: 'high' }]);
});
