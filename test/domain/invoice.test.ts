// Which invoice is the newest, which is news, and what its days are, across a clock change and without dates.
import { describe, expect, test } from 'vitest';
import { type Extra, isDue, takeInvoices } from '../../src/domain/extras.ts';
import {
  type Invoice,
  invoiceRecord,
  newestFirst,
  newestOf,
  overdueInvoices,
} from '../../src/domain/invoice.ts';
import { zone } from '../../src/domain/period.ts';

const NOW = Date.parse('2025-06-30T12:00:00Z');
const DUBLIN = zone('Europe/Dublin');
const invoice = (id: string, from: string | null = null, more: Partial<Invoice> = {}): Invoice => ({
  id,
  status: null,
  startAt: from === null ? null : Date.parse(from),
  endAt: null,
  dueAt: null,
  total: null,
  open: null,
  ...more,
});
const ids = (invoices: readonly Invoice[]) => invoices.map(({ id }) => id);

test.each([
  ['2025-03-01T00:00:00Z', '2025-03-31T23:00:00Z', ['2025-03-01', '2025-03-31', '2025-04-01']],
  ['2025-03-01T00:00:00Z', '2025-03-31T22:59:59.999Z', ['2025-03-01', '2025-03-31', '2025-03-31']],
  ['2025-09-30T23:00:00Z', '2025-11-01T00:00:00Z', ['2025-10-01', '2025-10-31', '2025-11-01']],
])('the days of a period from %s to %s', (from, to, expected) => {
  const record = invoiceRecord(invoice('x', from, { endAt: Date.parse(to) }), DUBLIN);
  expect([record.period_start, record.period_end, record.issued]).toEqual(expected);
});

describe('the newest', () => {
  const march = (id: string, due: string) => invoice(id, '2025-03-01', { dueAt: Date.parse(due) });
  const dated = [invoice('1', '2025-05-01'), invoice('5', '2025-03-01'), invoice('3', '2025-06-01')];
  test.each([
    ['by period, those without a date last', [invoice('9'), ...dated], ['3', '1', '5', '9']],
    ['of one period by due day', [march('9', '2025-04-15'), march('8', '2025-05-15')], ['8', '9']],
    ['of one due day by number', [march('9', '2025-04-15'), march('10', '2025-04-15')], ['10', '9']],
  ])('%s', (_, given, expected) => expect(ids(newestFirst(given))).toEqual(expected));

  const june = invoice('june', '2025-06-01');
  const far = invoice('far', '2999-01-01');
  const open = invoice('open', '2025-01-01', { endAt: Date.parse('9999-12-31') });
  test.each([
    ['not the one dated in the year 2999', [far, june], 'june'],
    ['that one where there is no other', [far], 'far'],
    ['one dated some months ahead', [invoice('ahead', '2025-10-01'), june], 'ahead'],
    ['as new as its beginning where a period never ends', [open, june], 'june'],
    ['none of none', [], undefined],
  ])('is %s', (_, given, id) => {
    const all = newestFirst(given);
    expect(newestOf(all, NOW)?.id).toBe(id);
    expect(all).toHaveLength(given.length);
  });
});

describe('overdue on 30 June', () => {
  const bill = (id: string, due: string | null, open: number | null, status: string | null = 'invoice') =>
    invoice(id, '2025-05-01', { dueAt: due === null ? null : Date.parse(due), open, status });
  const PAST = '2025-06-29T12:00:00Z';
  const LATER = '2025-07-20T12:00:00Z';
  const PAID = bill('b', LATER, null, 'paid');

  test.each<[what: string, invoices: Invoice[], balance: number | null, overdue: string[] | null]>([
    ['past its day, something left', [bill('a', PAST, 40)], null, ['a']],
    ['past its day, nothing left', [bill('a', PAST, 0)], null, []],
    ['past its day, a credit', [bill('a', PAST, -5)], null, []],
    ['due today', [bill('a', '2025-06-29T23:00:00Z', 40)], null, []],
    ['due yesterday, to the last second', [bill('a', '2025-06-29T22:59:59Z', 40)], null, ['a']],
    ['not due yet', [bill('a', LATER, 40)], null, []],
    ['paid by its status, whatever is left', [bill('a', PAST, 40, 'PAID')], null, []],
    ['cancelled', [bill('a', PAST, 40, 'Cancelled')], null, []],
    ['unpaid by its status, no amount', [bill('a', PAST, null, 'past_due')], null, ['a']],
    ['paid in part, no amount', [bill('a', PAST, null, 'partially-paid')], null, ['a']],
    ['of unknown status, no amount', [bill('a', PAST, null)], null, null],
    ['without a due day', [bill('a', null, 40)], null, null],
    ['without a due day, overdue by its status', [bill('a', null, 40, 'Overdue')], null, ['a']],
    ['a closed bill, which may be unpaid', [bill('a', null, 40, 'closed')], null, null],
    ['not due yet, no amount', [bill('a', LATER, null)], null, []],
    ['an older one beside a new one', [bill('b', LATER, 50), bill('a', PAST, 40)], null, ['a']],
    ['the same, and the balance is that of both', [bill('b', LATER, 50), bill('a', PAST, 40)], 90, ['a']],
    ['the same, and the balance is that of the new one', [bill('b', LATER, 50), bill('a', PAST, 40)], 50, []],
    ['the same, and the new one is paid', [{ ...PAID, total: 50 }, bill('a', PAST, 40)], 40, ['a']],
    ['a new one is paid in part', [{ ...bill('b', LATER, 20), total: 50 }, bill('a', PAST, 25)], 45, ['a']],
    ['nothing to be paid', [bill('a', PAST, 40)], 0, []],
    ['a credit on the account, no amount', [bill('a', PAST, null)], -3, []],
    ['one for certain, another perhaps', [bill('b', PAST, null), bill('a', PAST, 40)], 80, ['a']],
  ])('%s', (_, invoices, balance, expected) => {
    const found = overdueInvoices(invoices, balance, '2025-06-30', DUBLIN);
    expect(found && ids(found)).toEqual(expected);
  });
});

describe('news', () => {
  const take = (known: Parameters<typeof takeInvoices>[0], read: Record<string, Invoice[]>) =>
    takeInvoices(known, { byProfile: new Map(Object.entries(read)), notFoundAt: null }, NOW);
  const may = invoice('may', '2025-05-01');
  const june = invoice('june', '2025-06-01');

  test('one that was away for a while is no news, an empty list no forgetting', () => {
    const { invoices } = take(take(null, { '': [may] }).invoices, { '': [] });
    expect(invoices.all).toEqual([]);
    expect(take(invoices, { '': [may] }).bills).toEqual([]);
    // Read first, it makes the first invoice news.
    expect(ids(take(take(null, { '': [] }).invoices, { '': [may] }).bills)).toEqual(['may']);
  });

  test('a billing profile read for the first time brings history, not news', () => {
    const { invoices } = take(null, { a: [may] });
    const second = take(invoices, { a: [june, may], b: [invoice('b1', '2025-05-01')] });
    expect(ids(second.bills)).toEqual(['june']);
    expect(ids(take(second.invoices, { a: [june, may], b: [invoice('b2', '2025-06-01')] }).bills)).toEqual([
      'b2',
    ]);
    // One that was left out for once is not read for the first time again.
    const third = take(second.invoices, { a: [may] });
    expect(ids(take(third.invoices, { b: [invoice('b3', '2025-06-01')] }).bills)).toEqual(['b3']);
  });

  test('a list beyond all bounds is cut to its newest, and none of it becomes news by being forgotten', () => {
    const daily = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) =>
        invoice(`n${to - at}`, new Date(NOW + (to - at) * 86_400_000).toISOString()),
      );
    const many = daily(-3_000, 0);
    let { invoices } = take(null, { '': many });
    expect(ids(invoices.all)).toEqual(ids(many.slice(0, 200)));
    for (let day = -100; day < 1_500; day += 100) {
      const next = day < 0 ? [] : daily(day, day + 100);
      const taken = take(invoices, { '': [...next, ...(day < 0 ? many.toReversed() : invoices.all)] });
      expect(ids(taken.bills)).toEqual(ids(next).toReversed());
      invoices = taken.invoices;
    }
    expect(invoices.knownIds).toHaveLength(1_000);
    expect(take(invoices, { '': [...invoices.all] }).bills).toEqual([]);
  });
});

test.each([
  [null, false, true],
  ['2025-06-30', false, false],
  ['2025-06-29', false, true],
  ['2025-06-25', true, false],
  ['2025-06-23', true, true],
  ['2025-07-01', false, true],
  ['2031-01-01', true, true],
] as const)('last asked on %s, switched off %s: due %s', (askedOn, off, due) => {
  const extra: Extra<never> = { askedOn, off, found: null };
  expect(isDue(extra, '2025-06-30', 1)).toBe(due);
});
