// Invoices: the list and the newest one on their topics, an event when a new one comes, once, and each compared with its days.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACCOUNT, asked, INVOICES } from '../support/extras.ts';
import { HEALTH, home, METER, person, quiet } from '../support/homes.ts';
import { Household } from '../support/household.ts';
import { DAY_MS, firstPoll } from '../support/story.ts';

const EVENT = 'heat2mqtt/account/home/event';
type Records = { id: string; status: string | null; amount: number | null; due: string | null }[];

const invoice = (id: string, month: string, more: Record<string, unknown> = {}) => ({
  id,
  status: 'invoice',
  start_time: Date.parse(`${month}-01T00:00:00Z`),
  end_time: Date.parse(`${month}-28T00:00:00Z`),
  payment_due: Date.parse(`${month}-28T00:00:00Z`) + 18 * DAY_MS,
  total_amount: 40,
  due_amount: 40,
  ...more,
});

test('the bill of March comes in April: one event, the list grows, and a restart says nothing again', async () => {
  const { story, probe, daemon } = await firstPoll({ at: '2025-04-04T12:00:00Z' });
  const before = await probe.until(INVOICES);
  expect((before.invoices as Records).map(({ due }) => due)).toEqual(['2025-03-19', '2025-02-19']);
  expect(probe.on(EVENT)).toEqual([]);

  await story.nextPoll(DAY_MS);
  const bill = await probe.until(EVENT);
  const list = await probe.until(INVOICES, ({ invoices }) => (invoices as Records).length === 3);
  expect(bill).toMatchObject({
    schema: 1,
    event_type: 'bill',
    at: expect.stringMatching(/^2025-04-05T13:0.*\+01:00$/),
    currency: 'EUR',
    invoice: { period_start: '2025-03-01', period_end: '2025-03-31', issued: '2025-04-01' },
  });
  expect(bill.invoice).toEqual((list.invoices as Records)[0]);
  expect(probe.last(EVENT)?.retained).toBe(false);
  expect(probe.json(ACCOUNT)).toMatchObject({ invoice_issued: '2025-04-01' });

  probe.forget();
  await story.stop(daemon);
  const again = await story.start();
  await story.nextPoll(DAY_MS);
  expect(asked(story, 'invoices')).toBe(3);
  expect(probe.on(EVENT)).toEqual([]);
  const later = await story.listen();
  await later.until(INVOICES);
  expect(later.on(EVENT)).toEqual([]);

  // Nor does a lost state directory make an old bill new.
  await story.stop(again);
  await rm(join(story.stateDir, 'accounts'), { recursive: true });
  probe.forget();
  await story.start();
  await probe.until(INVOICES);
  await story.nextPoll();
  expect(probe.on(EVENT)).toEqual([]);
});

test('two payment groups: the invoices of both billing profiles are one list, in the currency of the site', async () => {
  const groups = [
    { billingProfileId: 901, properties: [home(METER)] },
    { billingProfileId: 902, properties: [home('70418301', quiet({ seed: 2 }), 512_002)] },
  ];
  const invoices = [
    invoice('one', '2025-01', { billing_profile: 901 }),
    invoice('two', '2025-02', { billing_profile: 902 }),
  ];
  const { story, probe } = await firstPoll({
    accounts: [{ ...person('me', []), groups, invoices }],
    prepare({ simulator }) {
      simulator.switches.site.currency = 'GBP';
    },
  });
  const list = await probe.until(INVOICES, ({ currency }) => currency === 'GBP');
  expect((list.invoices as Records).map(({ id }) => id)).toEqual(['two', 'one']);
  invoices.push(invoice('three', '2025-03', { billing_profile: 902 }));
  await story.nextPoll(DAY_MS);
  expect((await probe.until(EVENT)).invoice).toMatchObject({ id: 'three' });
  expect(probe.on(EVENT)).toHaveLength(1);

  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
});

test('a site that differs from the configuration is one warning and a reason, no fault', async () => {
  const { story, probe } = await firstPoll({
    config: { provider: { currency: 'GBP' } },
    prepare({ simulator }) {
      simulator.switches.site.timezone = 'Europe/Vienna';
    },
  });
  const health = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(health).toMatchObject({
    failures_in_a_row: 0,
    reasons: [
      { code: 'timezone_differs', account: 'home', message: expect.stringContaining('Europe/Vienna') },
      { code: 'currency_differs', account: 'home', message: expect.stringContaining('EUR') },
    ],
  });
  await story.nextPoll(8 * DAY_MS);
  expect(asked(story, 'site')).toBe(2);
  expect(story.log.filter(({ msg }) => String(msg).startsWith("The provider's site"))).toHaveLength(2);
});

const SINCE = { usage: { history_since: '2024-10-01' } };

/** A household with a tax of 13.5 percent, and 12.40 too much on its bill of March. */
function household() {
  const house = new Household({ seed: 7, from: '2024-10-01', days: 190 });
  const bills = house.invoices({ vat: 13.5, wrong: { 5: 12.4 } });
  const given = bills.map(({ invoice }) => ({ ...Household.told(invoice), due_amount: 0 }));
  return { events: house.events(), given, sums: bills.map(({ sum }) => sum / 1e6) };
}
const checksOf = (list: Record<string, unknown>) =>
  (list.invoices as { check: Record<string, unknown> }[]).map(({ check }) => check);

test('the tax is found, a wrong bill told with its event, and a corrected day compared anew', async () => {
  const { events, given, sums } = household();
  const invoices = given.slice(0, 5);
  const me = { ...person('me', [home(METER, { events })]), invoices };
  const { story, probe } = await firstPoll({
    accounts: [me],
    at: '2025-04-04T12:00:00Z',
    config: SINCE,
  });
  const list = await probe.until(INVOICES);
  expect(checksOf(list)).toHaveLength(5);
  const [newest, fourth, ...first] = checksOf(list);
  for (const check of [newest, fourth])
    expect(check).toMatchObject({ verdict: 'as_expected', explained_percent: 13.5, explained_amount: 0 });
  // Each is judged by those before it, and these are too few.
  for (const check of first) expect(check).toMatchObject({ verdict: 'unknown', unexplained: null });
  const before = await probe.until(ACCOUNT, (state) => state.invoice_difference !== null);
  expect(before).toMatchObject({
    invoice_difference: expect.closeTo((sums[4] ?? 0) * 0.135, 1),
    invoice_verdict: 'as_expected',
    invoice_unexplained: expect.closeTo(0, 1),
    invoice_difference_explained_percent: 13.5,
    invoice_difference_from: '2025-02-01',
    invoice_difference_to: '2025-02-28',
    invoice_difference_sum_of_days: expect.closeTo(sums[4] ?? 0, 2),
    invoice_difference_sentence: expect.stringMatching(/; 13\.5 % on top, as before\.$/),
  });

  invoices.push(...given.slice(5));
  await story.nextPoll(DAY_MS);
  const bill = await probe.until(EVENT);
  const { invoices: afterwards } = await probe.until(INVOICES, (now) => checksOf(now).length === 6);
  expect(bill.invoice).toEqual((afterwards as unknown[])[0]);
  expect(bill.invoice).toMatchObject({
    period_start: '2025-03-01',
    check: {
      rest: expect.closeTo(12.4, 1),
      sentence: expect.stringContaining('; 12.40 more than the days with 13.5 % on top make.'),
    },
  });

  const type = (format: string) => story.type(`invoices --format ${format}`);
  expect((await type('table')).out).toMatch(
    /6 in all\n\n2025-03-01 to 2025-03-31: \d+\.\d\d EUR billed; .* 12\.40 more than the days with/,
  );
  const [inJson] = JSON.parse((await type('json')).out);
  expect(inJson.check).toMatchObject({ explained_percent: 13.5, rest: 12.4 });
  expect((await type('csv')).out).toMatch(/^INV-0006,.*,EUR,.*,13\.5,0,12\.4,differs,/m);

  const at = events.findIndex((one) => one.at > Date.parse('2025-03-30T12:00:00Z'));
  const last = events[at];
  if (!last) throw new Error('no reading of 30 March');
  events[at] = { ...last, eur: (last.eur ?? 0) + 12.4 / 1.135 };
  await story.nextPoll(DAY_MS);
  expect(await probe.until(ACCOUNT, (state) => state.invoice_difference_rest === 0)).toMatchObject({
    invoice_difference_explained_percent: 13.5,
  });
  await probe.until(INVOICES, (now) => checksOf(now)[0]?.rest === 0);
});

test('a bill is compared with the days of a meter that another account reads, also when these come last', async () => {
  const { events, given } = household();
  const couple = ['ann', 'bob'].map((name) => ({
    ...person(name, [home(METER, { events })]),
    invoices: given.slice(0, 5),
  }));
  const { probe } = await firstPoll({
    accounts: couple,
    at: '2025-04-04T12:00:00Z',
    config: SINCE,
    prepare: ({ simulator: { switches } }) => switches.fault('/api/v1/reports', { kind: 'slow', ms: 10_000 }),
    isLate: true,
  });
  await probe.until(
    'heat2mqtt/account/home2/state',
    (state) => state.invoice_difference_explained_percent === 13.5,
  );
});
