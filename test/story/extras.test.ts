// Register, balance and site beside the usage: once a day, back after a restart, gone when nobody wants them.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACCOUNT, asked, EXTRAS, firstPoll, INVOICES } from '../support/extras.ts';
import { METER, person, quiet, STATE, USAGE } from '../support/homes.ts';
import { HOUR_MS, openHouse } from '../support/house.ts';

test('one poll is one usage request; extras come once a day, whatever restarts and asks', async () => {
  const { house, probe, daemon } = await firstPoll();
  let running = daemon;
  let polls = 1;
  for (let hour = 4; hour <= 48; hour += 4) {
    house.clock.advance(4 * HOUR_MS);
    if (hour === 24) {
      await house.stop(running);
      running = await house.start();
      // The last poll is too old: the restart makes one.
      polls += 1;
      await house.polled(polls);
    }
    if (hour % 12 === 0) await probe.publish('heat2mqtt/bridge/request/refresh', '');
    else house.tick();
    polls += 1;
    await house.polled(polls);
  }
  const usage = house.simulator.counters.requests[USAGE] ?? 0;
  expect(usage).toBe(house.log.filter(({ msg }) => msg === 'polled').length);
  expect(usage).toBeGreaterThanOrEqual(13);
  // From noon on the 10th to noon on the 12th.
  expect(EXTRAS.map((name) => [name, asked(house, name)])).toEqual([
    ['usage-events', 3],
    ['open-bill-due', 3],
    ['credit-balances', 3],
    ['invoices', 3],
    ['site', 1],
  ]);
});

test('what was found stands on the topics, and again after a restart, without asking', async () => {
  const { house, probe, daemon } = await firstPoll();
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
  expect(Object(document.components).meter_reading).toMatchObject({
    device_class: 'energy',
    state_class: 'total_increasing',
    unit_of_measurement: 'kWh',
  });
  await house.stop(daemon);
  const before = house.simulator.requests.length;
  await house.stopBroker();
  await house.startBroker();
  const later = await house.listen();
  await house.start();
  expect(await later.until(STATE, () => true)).toEqual(state);
  expect(await later.until(ACCOUNT, () => true)).toMatchObject({ balance_due: account.balance_due });
  expect(house.simulator.requests).toHaveLength(before);
});

test('extras that nobody wants are not asked for, and what stood is taken away', async () => {
  const { house, probe, daemon } = await firstPoll();
  await probe.until(INVOICES, () => true);
  await house.stop(daemon);
  probe.forget();
  const none = { meter_reading: false, balance: false, invoices: false, site: false };
  await house.start({ extras: none });
  await probe.until(ACCOUNT, ({ balance_due }) => balance_due === null);
  await house.rest();
  expect(probe.last(INVOICES)?.payload).toBe('');
  const document = probe.json(`homeassistant/device/heat2mqtt_meter_${METER}/config`);
  expect(Object.keys(Object(document?.components))).not.toContain('meter_reading');
  const all = () => EXTRAS.map((name) => asked(house, name));
  const before = all();
  house.clock.advance(26 * HOUR_MS);
  house.tick();
  await house.polled(2);
  expect(all()).toEqual(before);
});

test('another meter on the same property does not take over the register of the one before', async () => {
  const { house, daemon } = await firstPoll();
  await house.stop(daemon);
  const file = join(house.stateDir, 'accounts/home/extras.json');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(`/${METER}"`, '/70400001"'));
  const probe = await house.listen();
  probe.forget();
  await house.start();
  await probe.until(STATE, ({ meter_reading }) => meter_reading === null);
  house.tick();
  await house.polled(2);
  await probe.until(STATE, ({ meter_reading }) => meter_reading !== null);
  const { value } = JSON.parse(await readFile(file, 'utf8'));
  expect(Object.keys(value.registers)).toEqual([`512001/${METER}`]);
});

test('a property with two heat meters has no one register', async () => {
  const two = {
    id: 1,
    services: [METER, '70418236'].map((identifier, seed) => ({ identifier, household: quiet({ seed }) })),
  };
  const house = await openHouse({ accounts: [person('me', [two])] });
  const probe = await house.listen();
  await house.start();
  await house.polled(1);
  expect(await probe.until(STATE, () => true)).toMatchObject({ meter_reading: null });
  expect([asked(house, 'usage-events'), asked(house, 'open-bill-due')]).toEqual([0, 1]);
});
