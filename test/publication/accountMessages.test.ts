// An account on MQTT: its state, the retained list of invoices, the event of a new one, and what Home Assistant shows.
import { expect, test } from 'vitest';
import type { Invoice } from '../../src/domain/invoice.ts';
import { accountDocument } from '../../src/publication/discovery.ts';
import { billMessage } from '../../src/publication/messages.ts';
import { Topics } from '../../src/publication/topics.ts';
import { ACCOUNT, accountMessages, bodyOf, discoveryBelow } from '../support/inventedHome.ts';

const topics = new Topics('heat2mqtt');
const discovery = discoveryBelow('heat2mqtt');
const [INVOICE] = ACCOUNT.invoices?.all ?? [];
if (!INVOICE) throw new Error('the invented account has no invoice');
const NOTHING = {
  balance: null,
  credit: null,
  invoices: null,
  newestInvoice: null,
  checks: new Map(),
  nextBill: null,
};
const SENTENCE =
  '48.12 EUR billed; the days add up to 41.45; 6.67 more (16.1 %), which too few bills before it explain.';

const STATE = {
  schema: 1,
  currency: 'EUR',
  auth_state: 'ok',
  balance_due: 48.12,
  credit_balance: 0,
  invoice_amount: 48.12,
  invoice_due: '2025-06-19',
  invoice_payment: 'overdue',
  invoice_status: 'invoice',
  invoice_issued: '2025-06-01',
  invoice_overdue: true,
  overdue_invoices: ['880123'],
  invoice_difference: 6.673,
  invoice_verdict: 'unknown',
  invoice_unexplained: null,
  invoice_difference_explained_percent: null,
  invoice_difference_explained_amount: null,
  invoice_difference_rest: null,
  invoice_difference_from: '2025-05-01',
  invoice_difference_to: '2025-05-31',
  invoice_difference_days_missing: 0,
  invoice_difference_days_estimated: 0,
  invoice_difference_sum_of_days: 41.447,
  invoice_difference_sentence: SENTENCE,
  invoice_forecast: 46.12,
  invoice_forecast_low: 44,
  invoice_forecast_high: 48.24,
  invoice_forecast_from: '2025-06-01',
  invoice_forecast_to: '2025-06-30',
  invoice_forecast_energy: 157.5,
  invoice_forecast_energy_low: 150,
  invoice_forecast_energy_high: 165,
  requests_today: 3,
  logins_today: 1,
};

test('the state: session, balance, the newest invoice, in local days and units', () => {
  const [message] = accountMessages(topics);
  expect(message).toMatchObject({ topic: 'heat2mqtt/account/home/state', retain: true });
  expect(bodyOf(message)).toEqual(STATE);
});

test('what the provider has not given is null', () => {
  const money = Object.keys(STATE).filter((key) => /balance|invoice/.test(key));
  const unknown = Object.fromEntries(money.map((key) => [key, null]));
  const [state] = accountMessages(topics, { ...ACCOUNT, ...NOTHING });
  expect(bodyOf(state)).toEqual({ ...STATE, ...unknown });
});

test('the list of invoices is retained', () => {
  const [, list] = accountMessages(topics);
  expect(list).toMatchObject({ topic: 'heat2mqtt/account/home/invoices', retain: true });
  const invoice = {
    id: '880123',
    status: 'invoice',
    period_start: '2025-05-01',
    period_end: '2025-05-31',
    issued: '2025-06-01',
    due: '2025-06-19',
    amount: 48.12,
    amount_due: 48.12,
    check: {
      sum_of_days: 41.447,
      difference: 6.673,
      difference_percent: 16.1,
      explained_percent: null,
      explained_amount: null,
      rest: null,
      verdict: 'unknown',
      expected: null,
      unexplained: null,
      doubt: 0,
      days_missing: 0,
      days_estimated: 0,
      sentence: SENTENCE,
    },
  };
  expect(bodyOf(list)).toEqual({
    schema: 1,
    fetched_at: '2025-06-30T13:00:00+01:00',
    currency: 'EUR',
    invoices: [invoice],
  });
});

test('the newest 24 of many; an empty list is a list', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ ...INVOICE, id: String(at) }));
  const ids = (all: readonly Invoice[]) => {
    const invoices = { all, knownIds: [], profiles: [], notFoundAt: null, fetchedAt: 0 };
    const [, list] = accountMessages(topics, { ...ACCOUNT, invoices }, []);
    return (bodyOf(list).invoices as { id: string }[]).map(({ id }) => id);
  };
  expect(ids(many)).toEqual(many.slice(0, 24).map(({ id }) => id));
  expect(ids([])).toEqual([]);
});

test('an invoice of which only the id is known is all null, not zero', () => {
  const nothing = { startAt: null, endAt: null, dueAt: null, total: null, open: null, status: null };
  const invoice = { id: 'x', ...nothing };
  const at = '2025-06-30T13:00:00+01:00';
  const message = billMessage(topics, { ...ACCOUNT, currency: 'GBP' }, invoice, at);
  expect(message).toMatchObject({ topic: 'heat2mqtt/account/home/event', retain: false });
  expect(bodyOf(message)).toMatchObject({
    event_type: 'bill',
    currency: 'GBP',
    invoice: { id: 'x', status: null, issued: null, due: null, amount: null, amount_due: null, check: null },
  });
});

test('Home Assistant is shown what the provider gives, and no more', () => {
  const keys = (view: typeof ACCOUNT) =>
    Object.keys(accountDocument(discovery, view).components).filter((key) =>
      /invoice|balance|event/.test(key),
    );
  const fields = 'amount due payment status issued overdue unexplained verdict difference forecast'.split(
    ' ',
  );
  const invoice = fields.map((field) => `invoice_${field}`);
  expect(keys(ACCOUNT)).toEqual(['balance_due', 'credit_balance', ...invoice, 'event']);
  expect(keys({ ...ACCOUNT, balance: null, credit: null })).toEqual([...invoice, 'event']);
  expect(keys({ ...ACCOUNT, ...NOTHING })).toEqual([]);
});

test('money is in the currency of the account', () => {
  const { components } = accountDocument(discovery, { ...ACCOUNT, currency: 'SEK' });
  const units = Object.values(components).flatMap((body) => body.unit_of_measurement ?? []);
  expect(new Set(units)).toEqual(new Set(['SEK']));
});
