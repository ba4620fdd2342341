// What the readings mean, on the page: an unusual day, the forecast's band, the bills against their days.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { complaints, look, openBrowser, PHONE, picture, ready } from './browser.ts';
import { me, openPage, SINCE } from './home.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

// As the simulated provider writes its bills.
const usage = { history_since: SINCE, reading_closes: 'previous_day' };

test('each bill has its sentence: the usual percentage on top', async () => {
  const { url, stack } = await openPage({ ...me(), onTop: 0.135 }, { usage });
  const page = await look(browser, stack, url, { width: PHONE });
  await ready(page);
  await page.getByRole('heading', { name: 'Bills' }).click();
  const bills = page.getByRole('region', { name: 'Bills' });
  await bills
    .getByText(/13\.5 % on top, as in the last (\w+) bills\./)
    .first()
    .waitFor();
  await picture(page, 'bills');
  expect(await complaints(page)).toEqual([]);
});
