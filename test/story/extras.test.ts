// Register, balance and site beside the usage: once a day, back after a restart, gone when nobody wants them. In trouble energy and cost
// go on, and the provider is not asked too often.

import { expect, test } from 'vitest';
import { ACCOUNT, asked, EXTRAS, INVOICES, spoil, warnings } from '../support/extras.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { HEALTH, METER, STATE, USAGE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

test('one poll is one usage request; extras come once a day, whatever restarts and asks', async () => {
  const { story, probe, daemon } = await firstPoll();
  for (let hour = 8; hour <= 48; hour += 8) {
    const polls = story.logged('polled').length;
    if (hour === 24) {
      // The last poll is too old: the restart makes one.
      await story.stop(daemon);
      story.clock.advance(8 * HOUR_MS);
      await story.start();
      await story.polled(polls + 1);
    } else await story.nextPoll(8 * HOUR_MS);
    if (hour !== 16) continue;
    await probe.publish('heat2mqtt/bridge/request/refresh', '');
    await story.polled(polls + 2);
  }
  expect(story.simulator.counters.requests[USAGE]).toBe(8);
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
  expect(state).toMatchObject({ register_difference: 0, register_difference_days_missing: 0 });
  expect(account).toMatchObject({
    balance_due: account.invoice_amount,
    credit_balance: 0,
    invoice_issued: '2025-03-01',
    invoice_due: '2025-03-19',
  });
  await story.stop(daemon);
  const before = story.simulator.requests.length;
  await story.broker.restart();
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

test('extras in trouble: tried again the next day, and the polls notice nothing', async () => {
  const { story, probe } = await firstPoll();
  const first = await probe.until(ACCOUNT, ({ balance_due }) => balance_due !== null);
  const { passwordGrants, refreshGrants } = story.simulator.counters;
  const granted = () => passwordGrants.asked + refreshGrants.asked;
  const questions = () => EXTRAS.reduce((sum, name) => sum + asked(story, name), 0);
  for (const [what, fault] of [
    ['429 and a day of patience', tooMany(86_400)],
    ['a refused key', FAULTS.unauthorized],
  ] as const) {
    const before = questions();
    spoil(story, fault);
    for (let polls = 2; polls <= 4; polls += 1) {
      const grants = granted();
      await story.nextPoll(8 * HOUR_MS);
      // The token has run out meanwhile: one grant for the poll, none for the extras.
      expect([what, granted() - grants <= 1]).toEqual([what, true]);
    }
    expect([what, probe.json(HEALTH)]).toMatchObject([what, { state: 'ok', failures_in_a_row: 0 }]);
    expect(probe.json(ACCOUNT)).toMatchObject({ balance_due: first.balance_due, auth_state: 'ok' });
    // Trouble ends the round: one a poll at most.
    expect([what, questions() - before <= 3]).toEqual([what, true]);

    const invoices = asked(story, 'invoices');
    story.simulator.switches.clearFaults();
    await story.nextPoll(24 * HOUR_MS);
    expect([what, asked(story, 'invoices') > invoices]).toEqual([what, true]);
  }
  expect(warnings(story)).toEqual([]);
});

test('extras that hang hold up neither the next poll, but for one question with one request at a time, nor the way out', async () => {
  const { story, probe, daemon, restart } = await firstPoll();
  const polls = () => story.logged('polled').length;
  spoil(story, { kind: 'hang' });
  await story.stop(daemon);
  story.clock.advance(24 * HOUR_MS);
  const second = await story.start();
  await probe.until(STATE, ({ day }) => day === '2025-03-11');
  await story.tick();
  await story.rest();
  expect(polls()).toBe(3);
  expect(await story.stop(second)).toBeLessThan(8_000);

  story.clock.advance(24 * HOUR_MS);
  await restart({ usage: { concurrency: 1 } });
  await probe.until(STATE, ({ day }) => day === '2025-03-12');
  await story.tick();
  await story.rest();
  expect(polls()).toBe(4);
  await story.pass(31_000);
  expect(polls()).toBe(5);
});
