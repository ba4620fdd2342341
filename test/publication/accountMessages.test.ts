// An account on MQTT: its newest invoices, and one of which little is known. Whole payloads: docs/topics.md.
import { expect, test } from 'vitest';
import type { Invoice } from '../../src/domain/invoice.ts';
import { billMessage } from '../../src/publication/messages.ts';
import { Topics } from '../../src/publication/topics.ts';
import { ACCOUNT, accountMessages, bodyOf } from '../support/inventedHome.ts';

const topics = new Topics('heat2mqtt');
const [INVOICE] = ACCOUNT.invoices?.all ?? [];
if (!INVOICE) throw new Error('the invented account has no invoice');

test('publishes the newest 24 when there are more invoices, and a list when there is none', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ ...INVOICE, id: String(at) }));
  const ids = (all: readonly Invoice[]) => {
    const invoices = { all, knownIds: [], profiles: [], notFoundAt: null, fetchedAt: 0 };
    const [, list] = accountMessages(topics, { ...ACCOUNT, invoices }, []);
    return (bodyOf(list).invoices as { id: string }[]).map(({ id }) => id);
  };
  expect(ids(many)).toEqual(many.slice(0, 24).map(({ id }) => id));
  expect(ids([])).toEqual([]);
});

test('publishes null, not zero, when only the id of an invoice is known', () => {
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
