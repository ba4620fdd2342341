// What the readings mean, on the page: last year apart from the weather, an unusual day, and the bills against their days.
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { home, METER, PROPERTY, person } from '../support/homes.ts';
import { DUBLIN, Household } from '../support/household.ts';
import { startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { waitFor } from '../support/waitFor.ts';
import { DESK, judge, look, PHONE, ready } from './browser.ts';
import { openPage, TODAY } from './home.ts';
import { startRelay } from './relay.ts';

const DAYS = 760;
const SINCE = addDays(TODAY, -DAYS);
const SENSOR = 'sensor.balcony';
const HOUSEHOLD = new Household({
  seed: 4,
  from: SINCE,
  days: DAYS,
  holidays: 0,
  changes: [
    { from: addDays(TODAY, -90), factor: 0.8 },
    // It has not been like this in any winter.
    { from: addDays(TODAY, -1), factor: 5 },
  ],
});
const INVOICES = HOUSEHOLD.invoices({ vat: 13.5 });

/** A household until yesterday whose newest bill is wrong, with a thermometer. */
async function openInsight() {
  const ha = await startPretendHomeAssistant();
  const mean = (start: number) =>
    start > Date.now() ? null : (HOUSEHOLD.temperatures.get(DUBLIN.dayAt(start)) ?? 8);
  ha.sensors.set(SENSOR, { unit: '°C', mean });
  const invoices = INVOICES.map(({ invoice }, at) => {
    const wrong = at === INVOICES.length - 1 ? 12_400_000 : 0;
    return { ...Household.told({ ...invoice, total: (invoice.total ?? 0) + wrong }), due_amount: 0 };
  });
  const meter = { events: HOUSEHOLD.events().filter(({ at }) => at < Date.now()) };
  const opened = await openPage(
    { ...person('me', [home(METER, meter, PROPERTY)]), invoices },
    {
      usage: { history_since: SINCE, reading_closes: 'same_day' },
      home_assistant: { url: ha.url, token: ha.switches.token, outdoor_temperature: SENSOR },
    },
  );
  opened.stack.use(ha);
  return opened;
}

const SHORT_WORDS = ['This month', 'This year', 'Live', 'All is well', 'Signed in', 'Next poll'];

test('shows at a glance what the readings mean when looked at on a phone and a desk, light and dark', async () => {
  const { url, stack } = await openInsight();
  for (const [width, dark] of [
    [PHONE, false],
    [PHONE, true],
    [DESK, false],
    [DESK, true],
  ] as const) {
    const page = await look(stack, url, { width, dark });
    await ready(page);
    for (const words of [
      ...SHORT_WORDS,
      /^yesterday, /,
      'apart from the weather',
      /^\d+ % less between \d+ % and \d+ % less/,
      /^Unusual: more heat than usual since .*kWh for such weather\)$/,
      /degree days/,
      /^Next bill/,
      /^It agrees with its days, /,
    ])
      await page.getByText(words).first().waitFor();
    await page.getByRole('heading', { name: 'Bills' }).click();
    const bills = page.getByRole('region', { name: 'Bills' });
    await bills.getByText('12.40 more than the days with 13.5 % on top make').waitFor();
    const asBefore = bills.getByText(/^€.* 13\.5 % on top, as before\./);
    await asBefore.first().waitFor();
    expect(await page.locator('body').innerText()).not.toMatch(/undefined|NaN|null|Invalid|EUR|[{}]/);
    const [scrolled, wide] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(scrolled).toBeLessThanOrEqual(wide ?? 0);
    await judge(page, `glance-${width}-${dark ? 'dark' : 'light'}`);
  }
});

const span = (key: string) => ({ [`${key}_from`]: '2026-01-01', [`${key}_to`]: '2026-03-01' });
const band = (key: string, low: number | null, high: number) => ({
  [`${key}_low`]: low,
  [`${key}_high`]: high,
});
const change = (percent: number, low: number, high: number) => ({
  ...span('weather_adjusted_change'),
  ...band('weather_adjusted_change', low, high),
  weather_adjusted_change: percent,
});
const expected = (by: string, used: number) => ({
  ...band('energy_day_expected', 7.5, 14),
  ...{ energy_day: used, energy_day_expected_by: by },
});
const alarm = { unusual_use: true, unusual_use_direction: 'low', unusual_use_since: '2026-03-02' };
const nothing = {
  ...{ unusual_use: null, energy_day_expected: null, weather_adjusted_change: null },
  ...{
    register_difference: null,
    witness_difference: null,
    degree_days_month: null,
    cost_month_forecast_low: null,
  },
};

/** What is added to the state of the meter or the account, and what the page then says. */
const TOLD: readonly (readonly ['meter' | 'account', object, string | RegExp])[] = [
  ['meter', expected('season', 9), 'as expected: 7.5 to 14.0 kWh at this time of year'],
  ['meter', expected('weather', 7.2), 'expected: 7.5 to 14.0 kWh for such weather'],
  ['meter', { ...alarm, energy_day_expected_low: null }, /^Unusual: less heat than usual since Mon,? 2 Mar$/],
  ['meter', change(1.2, -3.4, 5.8), 'About as much between 3 % less and 6 % more, 1 Jan – 1 Mar'],
  ['meter', change(9, 3, 15), '9 % more between 3 % and 15 % more, 1 Jan – 1 Mar'],
  [
    'meter',
    { ...span('register_difference'), meter_reading: 4_000, register_difference: -12.4 },
    'It has grown by 12.4 kWh less than its days add up to, 1 Jan 2026 – 1 Mar 2026.',
  ],
  ['meter', { witness_today: 4.3, witness_register: 4_005 }, 'Today so far 4.3 kWh, by the meter itself'],
  [
    'meter',
    { ...span('witness_difference'), witness_difference: 12.4 },
    "It has grown by 12.4 kWh more than the provider's days add up to, 1 Jan 2026 – 1 Mar 2026.",
  ],
  ['meter', { register_difference_days_missing: 2 }, '1 Mar 2026. 2 of them have no reading.'],
  [
    'meter',
    { ...band('cost_month_forecast', 70, 82.5), cost_month_forecast: 76 },
    'about €76.00 (€70.00 to €82.50) by its end',
  ],
  [
    'account',
    { ...band('invoice_forecast', 80, 101), ...span('invoice_forecast'), invoice_forecast: 90 },
    'about €90.00, as a bill: with what comes on top of the days €80.00 to €101.00, 1 Jan – 1 Mar',
  ],
  ['meter', nothing, 'about €76.00 by its end'],
  // No amount of a week or a month is as large.
  ['account', { invoice_forecast: null, balance_due: 98_765.43 }, '€98,765.43'],
];

test('says each answer in words, and leaves it out when it is not known', async () => {
  const { url, stack } = await openPage();
  const relay = stack.use(await startRelay(url));
  const page = await look(stack, relay.url, { width: PHONE });
  await ready(page);
  const all = { meter: {}, account: {} };
  for (const [of, state, sentence] of TOLD) {
    if (state === nothing) await judge(page, 'insight-words');
    Object.assign(all[of], state);
    const topic = `${of}/${of === 'meter' ? METER : 'home'}/state`;
    await waitFor(String(sentence), () => {
      // The program may tell its own once more meanwhile.
      relay.tell(topic, (own) => ({ ...own, ...all[of] }));
      return page.getByText(sentence).isVisible();
    });
  }
  const words = await page.locator('article').innerText();
  expect(words).not.toMatch(/unusual|expected|apart from|degree|grown|Next bill|null|undefined|NaN/i);
});
