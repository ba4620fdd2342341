// Invoices: the list and the newest one on their topics, and an event when a new one comes, once.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACCOUNT, asked, INVOICES } from '../support/extras.ts';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, home, ME, METER, person, quiet, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS, openStory } from '../support/story.ts';

const EVENT = 'heat2mqtt/account/home/event';
const DAY_MS = 24 * HOUR_MS;
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

test('where the provider has no invoices its bills are taken, and neither change makes old ones new', async () => {
  const { story, probe } = await firstPoll({ at: '2025-04-04T12:00:00Z' });
  await probe.until(INVOICES);
  const fault = story.simulator.switches.fault('/api/v1/invoices', FAULTS.notFound);
  await story.nextPoll(DAY_MS);
  const list = await probe.until(INVOICES, ({ invoices }) => (invoices as Records)[0]?.status === 'billing');
  expect((list.invoices as Records).map(({ status, due }) => [status, due])).toEqual([
    ['billing', null],
    ['closed', null],
    ['closed', null],
  ]);
  expect(await probe.until(ACCOUNT, ({ invoice_status }) => invoice_status === 'billing')).toMatchObject({
    invoice_due: null,
    invoice_issued: '2025-04-01',
  });
  await story.nextPoll(DAY_MS);
  expect([asked(story, 'bills'), asked(story, 'invoices')]).toEqual([2, 2]);
  await story.nextPoll(30 * DAY_MS);
  expect((await probe.until(EVENT)).invoice).toMatchObject({ status: 'billing', period_start: '2025-04-01' });
  fault.remove();
  await story.nextPoll(8 * DAY_MS);
  await probe.until(ACCOUNT, ({ invoice_status }) => invoice_status === 'invoice');
  expect(probe.on(EVENT)).toHaveLength(1);
});

test('strange invoices stand beside the others: unknown status, no amount, a date far ahead', async () => {
  const invoices = [
    invoice('a', '2025-01'),
    invoice('b', '2025-02', {
      status: 'in_dispute',
      total_amount: null,
      payment_due: Date.UTC(9999, 11, 31),
    }),
    invoice('c', '2025-01', { start_time: Date.UTC(2999, 0, 1), customer: { name: 'Nobody of Nowhere' } }),
    { id: null, total_amount: 1 },
  ];
  const { probe } = await firstPoll({
    accounts: [{ ...ME, invoices }],
    prepare({ simulator }) {
      simulator.switches.api.ignoresInvoiceFilters = true;
    },
  });
  const list = await probe.until(INVOICES);
  expect((list.invoices as Records).map(({ id, status, amount, due }) => [id, status, amount, due])).toEqual([
    ['c', 'invoice', 40, '2025-02-15'],
    ['b', 'in_dispute', null, '9999-12-31'],
    ['a', 'invoice', 40, '2025-02-15'],
  ]);
  expect(await probe.until(ACCOUNT, ({ invoice_status }) => invoice_status !== null)).toMatchObject({
    invoice_status: 'in_dispute',
    invoice_amount: null,
    invoice_due: '9999-12-31',
  });
  expect(JSON.stringify(probe.heard)).not.toContain('Nobody');
});

test('a bill that is not paid is overdue from the midnight after its due day, without a poll; one poll ends that', async () => {
  const bill = invoice('a', '2025-02', { payment_due: Date.parse('2025-03-10T00:00:00Z') });
  const invoices = [bill];
  const { story, probe } = await firstPoll({ accounts: [{ ...ME, invoices }] });
  const overdue = (is: boolean) => probe.until(ACCOUNT, ({ invoice_overdue }) => invoice_overdue === is);
  await overdue(false);
  await story.pass(11 * HOUR_MS, HOUR_MS);
  await overdue(false);
  const { length } = story.simulator.requests.filter(({ path }) => !path.endsWith('/token'));
  await story.pass(1.1 * HOUR_MS, 300_000);
  expect(await overdue(true)).toMatchObject({ overdue_invoices: ['a'] });
  expect(story.simulator.requests.filter(({ path }) => !path.endsWith('/token'))).toHaveLength(length);
  invoices[0] = { ...bill, due_amount: 0 };
  await story.nextPoll(HOUR_MS);
  await overdue(false);
});

test('two payment groups: the invoices of both billing profiles are one list, in the currency of the site, after a restart too', async () => {
  const groups = [
    { billingProfileId: 901, properties: [home(METER)] },
    { billingProfileId: 902, properties: [home('70418301', quiet({ seed: 2 }), 512_002)] },
  ];
  const invoices = [
    invoice('one', '2025-01', { billing_profile: 901 }),
    invoice('two', '2025-02', { billing_profile: 902 }),
  ];
  const { story, probe, restart } = await firstPoll({
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

  await restart();
  await story.rest();
  const units = probe.heard
    .filter(({ topic, payload }) => topic.includes('_meter_') && payload !== '')
    .flatMap(({ payload }) => Object.values(Object(JSON.parse(payload).components)))
    .map((body) => Object(body).unit_of_measurement);
  expect(units.filter((unit) => !/^(undefined|kWh|GBP(\/.+)?)$/.test(String(unit)))).toEqual([]);
  expect(units).toContain('GBP');
  expect(probe.json(`heat2mqtt/meter/${METER}/usage/day`)).toMatchObject({ currency: 'GBP' });
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
});

test("another user's invoices are not shown under the same account", async () => {
  const other = person('other', [home('70418301', quiet({ seed: 2 }), 512_002)]);
  const accounts = [ME, { ...other, invoices: [] }];
  const only = ({ username, password }: typeof ME) => ({ accounts: [{ id: 'home', username, password }] });
  const story = await openStory({ accounts });
  const probe = await story.listen();
  const daemon = await story.start(only(ME));
  await story.polled(1);
  expect(((probe.json(INVOICES)?.invoices ?? []) as Records).length).toBeGreaterThan(0);
  await story.stop(daemon);
  probe.forget();
  await story.start(only(other));
  await story.polled(2);
  expect(await probe.until(INVOICES)).toMatchObject({ invoices: [] });
  expect(probe.on(EVENT)).toEqual([]);
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
  expect(await probe.until(STATE)).toMatchObject({ data_late: false });
  expect(probe.json(`heat2mqtt/meter/${METER}/usage/day`)).toMatchObject({ currency: 'GBP' });
  await story.nextPoll(8 * DAY_MS);
  expect(asked(story, 'site')).toBe(2);
  expect(story.log.filter(({ msg }) => String(msg).startsWith("The provider's site"))).toHaveLength(2);
});
