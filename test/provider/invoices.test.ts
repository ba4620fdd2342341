// The list of invoices: what is asked, and how a strange one loses no other.
import { describe, expect, test } from 'vitest';
import { readInvoices } from '../../src/provider/monetization/billing.ts';
import { type Ask, ProviderRefused, UnexpectedReply } from '../../src/provider/request.ts';
import { refusalOf } from '../auth/account.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');
const START = Date.parse('2026-02-01T00:00:00Z');
const DAY = 86_400_000;
const PERIOD = { 'time-from': String(NOW - 3 * 366 * DAY), 'time-to': String(NOW + 366 * DAY) };
const INVOICES = '/invoices';
const BILLS = '/customers/77/bills';

type Row = unknown;
/** Rows, or the status of a refusal. */
type Given = readonly Row[] | number;

/** A provider that gives these, whatever is asked of a list. */
function openProvider(invoices: Given, bills: Given = 404) {
  const asked: object[] = [];
  const ask: Ask = async ({ path, query }) => {
    asked.push({ path, ...Object.fromEntries(query ?? []) });
    const given = path === INVOICES ? invoices : bills;
    if (typeof given === 'number') throw new ProviderRefused(given, { message: 'No.', hint: '' });
    return { objects: given, total_num: given.length };
  };
  const read = async (billingProfileIds: string[] = [], notFoundAt: number | null = null) => {
    const question = { personCustomerId: '77', billingProfileIds, notFoundAt, now: NOW };
    const found = await readInvoices(ask, question);
    return { ...found, all: [...found.byProfile.values()].flat() };
  };
  return { asked, read };
}

const whole = (more: Record<string, unknown> = {}) => ({
  id: 1,
  status: 'invoice',
  start_time: START,
  end_time: START + 28 * DAY,
  payment_due: START + 46 * DAY,
  total_amount: 48.12,
  due_amount: 0,
  customer: { name: 'Nobody of Nowhere' },
  ...more,
});
const READ = {
  id: '1',
  status: 'invoice',
  startAt: START,
  endAt: START + 28 * DAY,
  dueAt: START + 46 * DAY,
  total: 48_120_000,
  open: 0,
};

test('are asked for three years, for each billing profile; each in full, and nothing of it that is not needed', async () => {
  const { asked, read } = openProvider([whole()]);
  expect(await read()).toMatchObject({ notFoundAt: null, all: [READ] });
  const page = { page: '1', count: '50' };
  const question = { path: INVOICES, customerId: '77', ...PERIOD, 'invoice-status': 'invoice', ...page };
  expect(asked).toEqual([question]);
  const { byProfile } = await read(['901', '902']);
  expect(byProfile).toEqual(
    new Map([
      ['901', [READ]],
      ['902', [READ]],
    ]),
  );
  expect(asked.slice(1)).toEqual(['901', '902'].map((id) => ({ ...question, 'billing-profile': id })));
});

describe('bills', () => {
  test.each([403, 404, 405, 410])('take the place of invoices answered with %i', async (status) => {
    const period = { valid_from: START, valid_to: NOW, total_amount: '7', due_amount: 7 };
    const growing = ['active', 'Inactive'].map((status, at) => ({ ...period, id: `g${at}`, status }));
    const { asked, read } = openProvider(status, [
      { id: 4 },
      { ...period, id: 2, status: 'settled' },
      // Neither the bill that still grows nor the one after it, whatever its status is called.
      ...growing,
      { ...period, id: 3, valid_to: NOW + 1 },
    ]);
    const { all, byProfile, notFoundAt } = await read(['901', '902']);
    const bill = { id: '2', status: 'settled', startAt: START, endAt: NOW, dueAt: null };
    const nothing = { status: null, startAt: null, endAt: null, dueAt: null, total: null, open: null };
    expect(all).toEqual([
      { ...bill, total: 7_000_000, open: 7_000_000 },
      { ...nothing, id: '4' },
    ]);
    expect([[...byProfile.keys()], notFoundAt]).toEqual([['bills'], NOW]);
    expect(asked).toMatchObject([{ path: INVOICES }, { path: BILLS, ...PERIOD }]);
    expect(asked[1]).not.toHaveProperty('billing-profile');
  });

  test.each([400, 401, 500])('are not asked for after a %i', async (status) => {
    const { asked, read } = openProvider(status, [whole()]);
    expect(await refusalOf(read())).toMatchObject({ status });
    expect(asked).toHaveLength(1);
  });

  test('are known for a week; then there may be invoices', async () => {
    const { asked, read } = openProvider([whole()], [whole({ id: 9 })]);
    const idAfter = async (days: number) => (await read([], NOW - days * DAY)).all.map(({ id }) => id);
    expect([await idAfter(6), await idAfter(7)]).toEqual([['9'], ['1']]);
    // Found by a clock that was far ahead.
    expect(await idAfter(-8)).toEqual(['1']);
    expect((await read([], NOW - 6 * DAY)).notFoundAt).toBe(NOW - 6 * DAY);
    expect(asked).toMatchObject([{ path: BILLS }, { path: INVOICES }, { path: INVOICES }, { path: BILLS }]);
  });

  test('neither is a refusal, and strange bills are told', async () => {
    expect(await refusalOf(openProvider(404).read())).toBeInstanceOf(ProviderRefused);
    expect(await refusalOf(openProvider(404, [{ number: 7 }]).read())).toBeInstanceOf(UnexpectedReply);
  });
});

describe('strange ones', () => {
  const statuses = ['past_due', 'in dispute', 'ÜBERFÄLLIG', '', 7, null, 'me@example.org', 'x'.repeat(41)];
  test.each<[object, object]>([
    [
      { total_amount: null, due_amount: null },
      { total: null, open: null },
    ],
    [
      { total_amount: '48.12', due_amount: '-1' },
      { total: 48_120_000, open: -1_000_000 },
    ],
    [
      { total_amount: 'much', due_amount: 1e12 },
      { total: null, open: null },
    ],
    [
      { payment_due: null, end_time: undefined },
      { dueAt: null, endAt: null },
    ],
    [
      { payment_due: 9e15, start_time: -1 },
      { dueAt: null, startAt: null },
    ],
    [{ payment_due: Date.UTC(9999, 11, 31) }, { dueAt: Date.UTC(9999, 11, 31) }],
    // In some zone it is a day of five digits.
    [{ payment_due: Date.UTC(9999, 11, 31) + 1 }, { dueAt: null }],
    [{ start_time: START + 0.4 }, { startAt: START }],
    [{ start_time: String(START) }, { startAt: START }],
    ...statuses.map((status, at): [object, object] => [{ status }, { status: at < 3 ? status : null }]),
  ])('%j', async (strange, expected) => {
    const { all } = await openProvider([whole({ id: 'a', ...strange }), whole({ id: 'b' })]).read();
    expect(all.map(({ id }) => id).sort()).toEqual(['a', 'b']);
    expect(all.find(({ id }) => id === 'a')).toMatchObject(expected);
  });

  test('one without an id, or with one that is none, and one that is no object, is left out alone', async () => {
    const ids = [undefined, null, '', {}, 'me@example.org', 'two\nlines', 'x'.repeat(65), 'INV/2026-02.1'];
    const { all } = await openProvider([null, 7, 'text', [], ...ids.map((id) => whole({ id }))]).read();
    expect(all.map(({ id }) => id)).toEqual(['INV/2026-02.1']);
    expect(await refusalOf(openProvider([{ number: 7 }]).read())).toBeInstanceOf(UnexpectedReply);
  });
});
