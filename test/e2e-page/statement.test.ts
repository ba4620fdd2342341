// The statement of a month in a real browser: on a phone and on paper, in each language, and where little is known of the month.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DayRecord } from '../../src/domain/ledger.ts';
import { type Day, daysOf } from '../../src/domain/period.ts';
import { statementPage } from '../../src/publication/statement/page.ts';
import { statementOf } from '../../src/publication/statement/statement.ts';
import { factsOf, type Home } from '../support/statementFacts.ts';
import { browser, complaints, DESK, look, PAGE_PICTURES, PHONE, picture, ready } from './browser.ts';
import { openPage } from './home.ts';

const FEBRUARY = daysOf({ from: '2025-02-01', to: '2025-03-01' });
/** These fields in the records of these days. */
const told = (isMeant: (day: Day) => boolean, fields: (day: Day) => Partial<DayRecord>): Home => ({
  change(days) {
    for (const [day, record] of days) if (isMeant(day)) days.set(day, { ...record, ...fields(day) });
  },
});
const VALVE = { changes: [{ from: '2024-12-01', factor: 1.3 }], holidays: 0 };
const CASES: Readonly<Record<string, Home>> = {
  usual: VALVE,
  gaps: {
    change(days) {
      for (const day of ['2025-02-04', '2025-02-05', '2025-02-27', '2025-02-28']) days.delete(day);
      for (const day of daysOf({ from: '2025-03-01', to: '2025-07-01' })) days.delete(day);
    },
  },
  estimated: told(
    (day) => FEBRUARY.slice(9, 14).includes(day),
    () => ({ energy: 5_000_000, revision: 1 }),
  ),
  'replaced meter': { replacedOn: '2025-02-15' },
  'change of tariff': {
    tariffs: [
      { from: '2000-01-01', unitRate: 0.124, standing: 0.686 },
      { from: '2025-02-12', unitRate: 0.141, standing: 0.72 },
    ],
  },
  'net credit': told(
    (day) => FEBRUARY.includes(day),
    () => ({ cost: -1_500_000 }),
  ),
  'no tariff': told(Boolean, (day) => ({ cost: (Number(day.slice(8)) * 7919 * 100_000) % 9_000_000 })),
  'wrong bill': { wrong: { 31: 25 } },
  'nothing else known': { meter: { house: null, register: null }, config: {}, bills: false },
  'one day of data': { from: '2025-02-28', days: 1, origin: '2025-02-01', meter: { house: null } },
};

const pages = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;

test.each(Object.entries(CASES))('%s', async (name, home) => {
  const { facts } = factsOf(home);
  const statement = statementOf('2025-02', facts);
  const context = await browser.newContext({ viewport: { width: PHONE, height: 812 } });
  const page = await context.newPage();
  await mkdir(PAGE_PICTURES, { recursive: true });
  for (const language of ['en', 'ga', 'de'] as const) {
    await page.setContent(statementPage([statement], language, '2025-07-01'));
    const look = `statement-${name.replaceAll(' ', '-')}-${language}`;
    await picture(page, look);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE);
    expect(await complaints(page)).toEqual([]);
    const sizes = await page.evaluate(() =>
      [...document.querySelectorAll('text')].flatMap((text) => {
        const isShown = text.getBoundingClientRect().width > 0;
        const { a = 0, b = 0 } = text.getScreenCTM() ?? {};
        return isShown ? [Number.parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b)] : [];
      }),
    );
    expect(Math.min(12, ...sizes), 'pixels of the smallest text of the chart').toBeGreaterThanOrEqual(11);
    await page.setViewportSize({ width: DESK, height: 900 });
    const places = await page.evaluate(() =>
      [...document.querySelectorAll('svg.wide text')].map((text) => {
        const { left, right, top } = text.getBoundingClientRect();
        return { left, right, top: Math.round(top), said: text.textContent };
      }),
    );
    const overlaps = places.filter((one) =>
      places.some(
        (other) => other !== one && other.top === one.top && other.left <= one.left && other.right > one.left,
      ),
    );
    expect(overlaps).toEqual([]);
    await page.setViewportSize({ width: PHONE, height: 812 });
    for (const format of ['A4', 'Letter']) {
      const pdf = await page.pdf({ format, preferCSSPageSize: false });
      await writeFile(join(PAGE_PICTURES, `${look}-${format}.pdf`), pdf);
      expect([format, pages(pdf)]).toEqual([format, 1]);
    }
  }
  await context.close();
});

test.each([
  ['de-AT', 'Monate', /^Monatsauszug/, 'Wärme im', /€\s\d/],
  // Chromium does not know Irish.
  ['ga-IE', 'Míonna', /^Ráiteas/, 'Teas i', /€\d/],
  ['en-IE', 'Months', /^Statement of/, 'Heat in', /€\d/],
])(
  'is in its language, and leads from a month to its statement, when the browser is in %s',
  async (locale, months, link, title, amount) => {
    const { url, stack } = await openPage();
    const page = await look(stack, url, { locale });
    await ready(page);
    expect(await page.locator('.newest').innerText()).toMatch(amount);
    await page.getByRole('button', { name: months }).click();
    const slider = page.getByRole('slider');
    await slider.press('ArrowLeft');
    // The newest one is also linked beside the last month.
    const ofChosenMonth = page.locator('.readout').getByRole('link', { name: link });
    // The running month has none.
    expect(await ofChosenMonth.count()).toBe(0);
    await slider.press('ArrowLeft');
    await page.mouse.move(0, 0);
    await picture(page, `page-${locale}`);
    expect(await page.locator('html').getAttribute('lang')).toBe(locale.slice(0, 2));
    expect(await complaints(page)).toEqual([]);
    await ofChosenMonth.click();
    await page.getByRole('heading', { name: title }).waitFor();
  },
);
