// Invoices in words: the retained list, the newest one on the state, the event, and who is shown what.
import { expect, test } from 'vitest';
import type { Invoice } from '../../src/domain/invoice.ts';
import { accountDocument } from '../../src/publication/discovery.ts';
import { billMessage, invoicesMessages } from '../../src/publication/invoices.ts';
import { accountStateMessage } from '../../src/publication/states.ts';
import { topicsBelow } from '../../src/publication/topics.ts';
import { discoveryComplaints } from '../support/homeAssistantRules.ts';
import { ACCOUNT, bodyOf, DUBLIN, placeBelow } from '../support/inventedHome.ts';

const topics = topicsBelow('heat2mqtt');
const [INVOICE] = ACCOUNT.invoices?.all ?? [];
if (!INVOICE) throw new Error('the invented account has no invoice');
const RECORD = {
  id: '880123',
  status: 'invoice',
  period_start: '2025-05-01',
  period_end: '2025-05-31',
  issued: '2025-06-01',
  due: '2025-06-19',
  amount: 48.12,
  amount_due: 48.12,
};

const withInvoices = (all: readonly Invoice[]) => ({
  ...ACCOUNT,
  invoices: { all, knownIds: [], profiles: [], fetchedAt: 0 },
});

test('the list stands retained, in local days and units', () => {
  const state = accountStateMessage(topics, ACCOUNT);
  const [list] = invoicesMessages(topics, ACCOUNT);
  expect(list).toMatchObject({ topic: 'heat2mqtt/account/home/invoices', retain: true });
  expect(bodyOf(list)).toEqual({
    schema: 1,
    fetched_at: '2025-06-30T13:00:00+01:00',
    currency: 'EUR',
    invoices: [RECORD],
  });
  expect(bodyOf(state)).toMatchObject({
    balance_due: 48.12,
    credit_balance: 0,
    invoice_amount: 48.12,
    invoice_due: '2025-06-19',
    invoice_status: 'invoice',
    invoice_issued: '2025-06-01',
  });
});

test('the newest 24 of many; an empty list is a list', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ ...INVOICE, id: String(at) }));
  const ids = (all: readonly Invoice[]) =>
    (bodyOf(invoicesMessages(topics, withInvoices(all))[0]).invoices as { id: string }[]).map(({ id }) => id);
  expect(ids(many)).toEqual(many.slice(0, 24).map(({ id }) => id));
  expect(ids([])).toEqual([]);
});

test('an invoice of which only the id is known is all null, not zero', () => {
  const nothing = { startAt: null, endAt: null, dueAt: null, total: null, open: null, status: null };
  const message = billMessage(topics, {
    account: 'home',
    invoice: { id: 'x', ...nothing },
    currency: 'GBP',
    zone: DUBLIN,
    at: '2025-06-30T13:00:00+01:00',
  });
  expect(message).toMatchObject({ topic: 'heat2mqtt/account/home/event', retain: false });
  expect(bodyOf(message)).toMatchObject({
    event_type: 'bill',
    currency: 'GBP',
    invoice: { id: 'x', status: null, issued: null, due: null, amount: null, amount_due: null },
  });
});

test('Home Assistant is shown what the provider gives, and no more', () => {
  const place = placeBelow('heat2mqtt');
  const keys = (view: typeof ACCOUNT) =>
    Object.keys(accountDocument(place, view).components).filter((key) => /invoice|balance/.test(key));
  expect(keys(ACCOUNT)).toHaveLength(6);
  expect(keys({ ...ACCOUNT, balance: null, credit: null })).toEqual([
    'invoice_amount',
    'invoice_due',
    'invoice_status',
    'invoice_issued',
  ]);
  expect(keys({ ...ACCOUNT, balance: null, credit: null, invoices: null })).toEqual([]);
});

test('money is in the currency of the account', () => {
  const doc = accountDocument(placeBelow('heat2mqtt'), { ...ACCOUNT, currency: 'SEK' });
  const units = Object.values(doc.components).flatMap((body) => body.unit_of_measurement ?? []);
  expect(new Set(units)).toEqual(new Set(['SEK']));
  expect(
    discoveryComplaints([
      { topic: doc.topic, payload: JSON.stringify({ ...doc.frame, components: doc.components }) },
    ]),
  ).toEqual([]);
});
