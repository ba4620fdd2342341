// The Energy dashboard as a person sets it up in a browser: what is offered, the pair that is picked, the month. And the meter's page.
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { METER } from '../support/homes.ts';
import { hasBrowser, openBrowser, picture } from './browser.ts';
import { deviceOf, untilShown } from './entities.ts';
import { isSince } from './homeAssistant.ts';
import { COST, daysAgo, ENERGY, rowsOf, startWithStatistics, untilWritten } from './series.ts';
import { openStory } from './story.ts';

const METER_READING = `sensor.heat2mqtt_${METER}_meter_reading`;
const TODAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Dublin', day: 'numeric', month: 'short' });
const MONTH = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'Europe/Dublin',
  year: 'numeric',
  month: '2-digit',
});

/** What the open list has: name and origin of each entry. */
async function offered(page: Page): Promise<string[]> {
  const entries = page.locator('ha-picker-combo-box ha-combo-box-item');
  await entries.filter({ hasText: 'Why is my entity not listed?' }).waitFor();
  return (await entries.allInnerTexts()).map((words) => words.replace('\n', ' – '));
}

// Older ones look different.
test.skipIf(!hasBrowser || !isSince(inject('release'), 2026, 11))(
  'the dialog offers one entity and one series, takes the pair, and the month is shown',
  async () => {
    const story = await openStory({ frontend: true });
    const { probe } = story;
    await startWithStatistics(story, { usage: { history_since: daysAgo(400) } });
    await untilWritten(probe);
    const api = await story.enter();
    await probe.until(`heat2mqtt/meter/${METER}/state`, ({ meter_reading }) => meter_reading !== null);
    await untilShown(probe, api);
    expect(await api.get(`/api/states/${METER_READING}`)).toMatchObject({
      attributes: { device_class: 'energy' },
    });

    const page = await openBrowser(story);
    await page.goto('/config/energy/gas');
    await page.getByText('Add gas source').click();
    await page.getByText('Select a statistic').first().click();
    expect(await offered(page)).toEqual([
      `Energy total – Heat meter ${METER}`,
      `Heat meter ${METER} energy – heat2mqtt`,
      'Why is my entity not listed?',
    ]);
    await picture(page, 'energy-pick', { x: 0, y: 48, width: 600, height: 250 });
    await page.getByText(`Heat meter ${METER} energy`).click();
    await page.getByText('Use an entity tracking the total costs').click();
    await page.getByText('Select a statistic').last().click();
    // Home Assistant does not look at units here.
    expect(await offered(page)).toEqual([
      `Cost total – Heat meter ${METER}`,
      `Energy total – Heat meter ${METER}`,
      `Heat meter ${METER} cost – heat2mqtt`,
      `Heat meter ${METER} energy – heat2mqtt`,
      'Why is my entity not listed?',
    ]);
    await page.getByText(`Heat meter ${METER} cost`).click();
    await page.getByText('Save', { exact: true }).click();
    await page.getByText('Save', { exact: true }).waitFor({ state: 'detached' });
    expect(await api.ask('energy/get_prefs')).toMatchObject({
      energy_sources: [{ type: 'gas', stat_energy_from: ENERGY, stat_cost: COST }],
    });

    await page.goto('/energy/gas');
    // It opens with today, which is always empty.
    await page.getByText(TODAY.format(Date.now()), { exact: true }).last().click();
    await page.getByText('This month').click();
    const month = MONTH.format(Date.now());
    const milli = (await rowsOf(api, ENERGY))
      .filter(({ day }) => day.startsWith(month))
      .reduce((sum, { state }) => sum + state, 0);
    const total = (milli / 1_000).toLocaleString('en', { maximumFractionDigits: 2 });
    await page.locator('tr', { hasText: 'Gas total' }).getByText(`${total} kWh`).waitFor();

    const device = await deviceOf(api, `heat2mqtt_meter_${METER}`);
    await page.setViewportSize({ width: 1_000, height: 1_200 });
    await page.goto(`/config/devices/device/${device?.id}`);
    await page.getByText('+4 disabled entities').waitFor();
    // Until the icons are there.
    await page.waitForLoadState('networkidle');
    await picture(page, 'home-assistant-meter', { x: 500, y: 104, width: 492, height: 1_000 });
  },
);
