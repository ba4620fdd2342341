// The page when something is wrong: no broker, no program, no provider, a password, hostile words, and very much of everything.
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { startMosquitto } from '../e2e/mosquitto.ts';
import { FAULTS } from '../support/faults.ts';
import { home, METER, person, quiet, reading, STATE } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { judge, look, PHONE, picture, ready } from './browser.ts';
import { me, openPage, TODAY, yearOfReadings } from './home.ts';
import { startRelay } from './relay.ts';

test('says so when the broker is lost, and shows at once what is published when it is back', async () => {
  const broker = await startMosquitto();
  const events = yearOfReadings();
  const { url, stack } = await openPage(me(events), { mqtt: { url: broker.url } });
  stack.use(broker);
  const page = await look(stack, url);
  await ready(page);
  const words = page.getByText('The bridge has lost its MQTT broker.');
  expect(await words.count()).toBe(0);
  await broker.pause();
  await words.waitFor();
  await judge(page, 'broker-lost');
  await broker.restart();
  await words.waitFor({ state: 'detached' });
  const probe = stack.use(await startProbe(broker.url));
  events.push(reading(TODAY, 12.3, 4.56, { at: Date.now() }));
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  await probe.until(STATE, ({ day }) => day === TODAY);
  const began = performance.now();
  await page.locator('.newest').getByText('12.3').waitFor();
  expect(performance.now() - began).toBeLessThan(LONGEST_TO_UPDATE_MS);
});

test('keeps what was read when the provider is down, and says so when the program ends', async () => {
  const { url, stack, simulator, program, start } = await openPage();
  const page = await look(stack, url, { width: PHONE, expected: /Failed to load resource|ERR_/ });
  await ready(page);
  simulator.switches.fault('/api/', FAULTS.htmlUnavailable);
  await page.getByRole('button', { name: 'Poll now' }).click();
  await page.locator('.reasons li').first().waitFor();
  await waitFor('words on it', async () => (await page.locator('.result').innerText()).length > 20);
  expect(await page.locator('.newest').innerText()).toMatch(/\d\.\d kWh/);
  expect(await page.locator('.verdict').innerText()).not.toBe('All is well');
  await judge(page, 'provider-down');

  await program.end('SIGTERM');
  await page.getByText('The connection to the bridge is lost').waitFor();
  expect(await page.locator('.connection').innerText()).toBe('Not connected');
  expect(await page.locator('.newest').innerText()).toContain('kWh');
  await picture(page, 'stream-lost');
  start();
  await page.getByText('The connection to the bridge is lost').waitFor({ state: 'detached' });
  expect(await page.locator('.connection').innerText()).toBe('Live');
});

test('names the account that cannot be read, and leaves out what no reading tells, when two accounts have no readings', async () => {
  const { username, password } = me();
  const { url, stack } = await openPage(person('me', [home(METER, { events: [] })]), {
    accounts: [
      { id: 'home', username, password },
      { id: 'granny', username: 'granny@example.org', password: 'not hers' },
    ],
  });
  const page = await look(stack, url, { width: PHONE });
  await page.locator('.reasons li').getByText('granny:').waitFor();
  await page.getByText('There is no reading yet.').waitFor();
  const facts = await page.getByRole('article').locator('dt').allInnerTexts();
  expect(facts).toEqual(expect.arrayContaining(['To be paid now', 'Newest bill']));
  expect(facts.filter((fact) => /^Total|^Days/.test(fact))).toEqual([]);
  expect(await page.getByRole('heading', { name: 'Bills' }).count()).toBe(0);
  await judge(page, 'without-readings');
});

const HURT = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>';

test('shows names as they are, and runs none of them, when they are hostile', async () => {
  const { url, stack, simulator } = await openPage(undefined, {
    meters: { [METER]: { name: HURT.slice(0, 64) } },
  });
  simulator.switches.fault('/v1/', {
    kind: 'change',
    change: (body) =>
      JSON.parse(JSON.stringify(body).replaceAll('Loch ', JSON.stringify(`${HURT} Loch `).slice(1, -1))),
  });
  const relay = stack.use(await startRelay(url));
  const page = await look(stack, relay.url);
  await ready(page);
  await page.getByRole('heading', { name: HURT.slice(0, 30) }).waitFor();
  await page.getByRole('heading', { name: 'Constituencies' }).click();
  await page.getByRole('button', { name: 'Refresh constituencies' }).click();
  await page.getByRole('region', { name: 'Constituencies' }).getByText(HURT.slice(0, 50)).first().waitFor();
  // The program lets no such number of an invoice through; the page does not rely on it.
  const hostile = { id: HURT, due: '2026-01-01', amount: 1, status: HURT };
  relay.tell('account/home/invoices', (payload) => ({ ...payload, currency: HURT, invoices: [hostile] }));
  relay.tell(`meter/${METER}/history`, (payload) => ({ ...payload, currency: HURT }));
  await page.getByText(`No. ${HURT}`).waitFor();
  expect(await page.locator('img, body script').count()).toBe(0);
  expect(await page.evaluate(() => 'hurt' in window)).toBe(false);
  await picture(page, 'hostile');
});

test('tells nothing when the password is missing or wrong, and can be closed', async () => {
  const { url, stack } = await openPage(undefined, { web: { password: 'right horse' } });
  const page = await look(stack, url, { expected: /401|429/ });
  const password = page.getByLabel('Password');
  await password.and(page.locator(':focus')).waitFor();
  expect((await password.boundingBox())?.width).toBeGreaterThan(200);
  await password.fill('wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('That is not the password.').waitFor();
  await judge(page, 'password');
  await waitFor('the right one', async () => {
    await password.fill('right horse');
    await page.getByRole('button', { name: 'Open' }).click();
    const live = page.getByText('Live').waitFor({ timeout: 2_000 });
    return live.then(() => true).catch(() => null);
  });
  await ready(page);
  await page.getByRole('button', { name: 'Close the page' }).click();
  await password.waitFor();
});

const FLATS = 100;
const LATELY = addDays(TODAY, -60);
// A second and three seconds are the aims; a busy machine is given more.
const LONGEST_TO_UPDATE_MS = 5_000;
const LONGEST_TO_LIST_MS = 15_000;

test('is soon there, finds by name and leaks nothing when there are a hundred meters and two thousand updates', async () => {
  const flats = Array.from({ length: FLATS }, (_, index) => {
    const meter = { ...quiet({ since: LATELY }), seed: index };
    return home(String(7_050_000 + index), meter, 900_000 + index);
  });
  const named = flats.map((_, index) => [7_050_000 + index, { name: `Flat ${index + 1}` }]);
  const usage = { history_since: LATELY, reading_closes: 'same_day' };
  const opened = await openPage(person('me', flats), { meters: Object.fromEntries(named), usage });
  const { stack, program } = opened;
  await waitFor('all meters', () => program.output.match(/history complete/g)?.length === FLATS);
  const relay = stack.use(await startRelay(opened.url));
  const began = performance.now();
  const page = await look(stack, relay.url);
  const list = page.getByRole('navigation').getByRole('button');
  await page.getByText('100 meters').waitFor();
  await waitFor('all of them', async () => (await list.count()) === FLATS);
  await page.getByText('Live').waitFor();
  await ready(page);
  expect(performance.now() - began).toBeLessThan(LONGEST_TO_LIST_MS);
  await page.getByLabel('Search').fill('flat 100');
  await waitFor('one of them', async () => (await list.count()) === 1);
  await list.first().click();
  await page.getByRole('heading', { name: 'Flat 100' }).waitFor();
  await page.getByLabel('Search').fill('');
  await judge(page, 'hundred-1440');
  await page.setViewportSize({ width: PHONE, height: 812 });
  await picture(page, 'hundred-375');

  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    for (let times = 0; times < 3; times += 1) await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const update = async (from: number, to: number) => {
    for (let number = from; number < to; number += 1) {
      const meter = `meter/${7_050_000 + (number % FLATS)}`;
      relay.tell(`${meter}/state`, (state) => ({ ...state, energy_month: number }));
      relay.tell(`${meter}/history`, (history) => history);
      if (number % 50 === 0) await turn(20);
    }
    const last = page.getByText(`${(to - 1).toLocaleString('en')} kWh`);
    await last.first().waitFor();
  };
  await update(0, 400);
  const before = await heap();
  await update(10_000, 12_000);
  expect((await heap()) / before).toBeLessThan(1.1);
});
