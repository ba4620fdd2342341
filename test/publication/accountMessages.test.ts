// An account on MQTT: what is not known, the newest invoices, and what Home Assistant shows. Whole payloads: docs/topics.md.
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
test('what the provider has not given is null', () => {
  const stateOf = (view: typeof ACCOUNT) => bodyOf(accountMessages(topics, view)[0]);
  const given = stateOf(ACCOUNT);
  const money = Object.keys(given).filter((key) => /balance|invoice/.test(key));
  const unknown = Object.fromEntries(money.map((key) => [key, null]));
  expect(stateOf({ ...ACCOUNT, ...NOTHING })).toEqual({ ...given, ...unknown });
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
