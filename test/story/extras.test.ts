// Register, balance and site beside the usage: once a day, back after a restart, gone when nobody wants them.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACCOUNT, asked, EXTRAS, INVOICES } from '../support/extras.ts';
import { METER, STATE, USAGE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

test('one poll is one usage request; extras come once a day, whatever restarts and asks', async () => {
  const { story, probe, daemon } = await firstPoll();
  let running = daemon;
  let polls = 1;
  for (let hour = 4; hour <= 48; hour += 4) {
    story.clock.advance(4 * HOUR_MS);
    if (hour === 24) {
      await story.stop(running);
      running = await story.start();
      // The last poll is too old: the restart makes one.
      polls += 1;
      await story.polled(polls);
    }
    if (hour % 12 === 0) await probe.publish('heat2mqtt/bridge/request/refresh', '');
    else story.tick();
    polls += 1;
    await story.polled(polls);
  }
  const usage = story.simulator.counters.requests[USAGE] ?? 0;
  expect(usage).toBe(story.logged('polled').length);
  expect(usage).toBeGreaterThanOrEqual(13);
  // From noon on the 10th to noon on the 12th.
  expect(EXTRAS.map((name) => [name, asked(story, name)])).toEqual([
    ['usage-events', 3],
    ['open-bill-due', 3],
    ['credit-balances', 3],
    ['invoices', 3],
    ['site', 1],
  ]);
});

test('what was found is published, and again after a restart, without asking; switched off, it is cleared and not asked for', async () => {
  const { story, probe, daemon } = await firstPoll();
  const state = await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  const account = await probe.until(ACCOUNT, ({ invoice_status }) => invoice_status !== null);
  expect(state.meter_reading_at).toMatch(/^2025-03-10T/);
  expect(account).toMatchObject({
    balance_due: account.invoice_amount,
    credit_balance: 0,
    invoice_issued: '2025-03-01',
    invoice_due: '2025-03-19',
  });
  const document = await probe.until(
    `homeassistant/device/heat2mqtt_meter_${METER}/config`,
    ({ components }) => Object.hasOwn(Object(components), 'meter_reading'),
  );
  const register = Object(document.components).meter_reading;
  expect(register).toMatchObject({ device_class: 'energy', unit_of_measurement: 'kWh' });
  // With one, Home Assistant would offer it beside the total, and both would count.
  expect(register).not.toHaveProperty('state_class');
  await story.stop(daemon);
  const before = story.simulator.requests.length;
  await story.restartBroker();
  const later = await story.listen();
  const second = await story.start();
  expect(await later.until(STATE)).toEqual(state);
  expect(await later.until(ACCOUNT)).toMatchObject({ balance_due: account.balance_due });
  expect(story.simulator.requests).toHaveLength(before);

  await later.until(INVOICES);
  await story.stop(second);
  await story.start({ extras: { meter_reading: false, balance: false, invoices: false, site: false } });
  await later.until(ACCOUNT, ({ balance_due }) => balance_due === null);
  await story.rest();
  expect(later.last(INVOICES)?.payload).toBe('');
  const without = later.json(`homeassistant/device/heat2mqtt_meter_${METER}/config`);
  expect(Object.keys(Object(without?.components))).not.toContain('meter_reading');
  const all = () => EXTRAS.map((name) => asked(story, name));
  const askedBefore = all();
  await story.nextPoll(26 * HOUR_MS);
  expect(all()).toEqual(askedBefore);
});

test('the register is compared with the days; of a file with the newest reading alone, or of another meter, it begins anew', async () => {
  const { story, probe, daemon } = await firstPoll();
  const compared = (state: Record<string, unknown>) => state.register_difference !== null;
  expect(await probe.until(STATE, compared)).toMatchObject({
    register_difference: 0,
    register_difference_days_missing: 0,
    register_difference_from: expect.stringMatching(/^2025-0[12]-/),
    register_difference_register_growth: expect.any(Number),
  });
  const file = join(story.stateDir, 'accounts/home/extras.json');
  /** What a start makes of a file that was changed. */
  const startWith = async (running: typeof daemon, change: (text: string) => string) => {
    await story.stop(running);
    await writeFile(file, change(await readFile(file, 'utf8')));
    probe.forget();
    return story.start();
  };
  const own = `512001/${METER}`;
  const second = await startWith(daemon, (text) => {
    const stored = JSON.parse(text);
    delete stored.value.registers[own].found.readings;
    return JSON.stringify(stored);
  });
  expect(await probe.until(STATE, ({ meter_reading }) => meter_reading !== null)).toMatchObject({
    register_difference: null,
    register_difference_from: null,
  });
  await story.nextPoll(24 * HOUR_MS);
  expect(await probe.until(STATE, compared)).toMatchObject({ register_difference: 0 });

  await startWith(second, (text) => text.replace(`/${METER}"`, '/70400001"'));
  await probe.until(STATE, ({ meter_reading }) => meter_reading === null);
  await story.nextPoll();
  await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  const { value } = JSON.parse(await readFile(file, 'utf8'));
  expect(Object.keys(value.registers)).toEqual([own]);
});
