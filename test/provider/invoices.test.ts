// The list of invoices: what is asked, and how a strange one loses no other.
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/foundation/clock.ts';
import { readInvoices } from '../../src/provider/monetization/billing.ts';
import { type Ask, ProviderRefused, UnexpectedReply } from '../../src/provider/request.ts';
import { FAULTS } from '../support/faults.ts';
import { home, person } from '../support/homes.ts';
import { openProvider, type Provider } from './home.ts';

const PERSON = '77';
const START = Date.parse('2026-02-01T00:00:00Z');

const withInvoices = (invoices: readonly Record<string, unknown>[]) =>
  openProvider({ accounts: [{ ...person('me', [home()]), customerId: Number(PERSON), invoices }] });

const question = { personCustomerId: PERSON, billingProfileIds: [] };
const read = async (
  { ask, clock }: { readonly ask: Ask; readonly clock: Pick<Clock, 'now'> },
  billingProfileIds: string[] = [],
) => {
  const { byProfile } = await readInvoices(ask, { ...question, billingProfileIds, now: clock.now() });
  return [...byProfile.values()].flat();
};

/** The rows that a provider gives, whatever is asked. */
const given = (...objects: unknown[]) => ({
  ask: async () => objects,
  clock: { now: () => Date.parse('2026-03-10T12:00:00Z') },
});

const whole = (more: Record<string, unknown> = {}) => ({
  id: 1,
  status: 'invoice',
  start_time: START,
  end_time: START + 28 * 86_400_000,
  payment_due: START + 46 * 86_400_000,
  total_amount: 48.12,
  due_amount: 0,
  customer: { name: 'Nobody of Nowhere' },
  ...more,
});

test('is asked for three years, in pages, for one person and billing profile', async () => {
  const invoices = Array.from({ length: 23 }, (_, at) =>
    whole({ id: at, start_time: START - at * 30 * 86_400_000 }),
  );
  const provider = await withInvoices(invoices);
  expect((await read(provider)).map(({ id }) => id)).toEqual(invoices.map(({ id }) => String(id)));
  const asked = provider.simulator.requests.filter(({ path }) => path.endsWith('/invoices'));
  expect(asked.map(({ query }) => query.page)).toEqual(['1', '2', '3']);
  expect(asked[0]?.query).toEqual({
    customerId: PERSON,
    'time-from': String(provider.clock.now() - 3 * 366 * 86_400_000),
    'time-to': String(provider.clock.now() + 366 * 86_400_000),
    'invoice-status': 'invoice',
    page: '1',
    count: '50',
  });
  expect(await read(provider, ['999'])).toEqual([]);
});

test('an invoice in full, and nothing of it that is not needed', async () => {
  expect(await read(await withInvoices([whole()]))).toEqual([
    {
      id: '1',
      status: 'invoice',
      startAt: START,
      endAt: START + 28 * 86_400_000,
      dueAt: START + 46 * 86_400_000,
      total: 48_120_000,
      open: 0,
    },
  ]);
});

describe('bills', () => {
  const BILLS = `/api/v1/customers/${PERSON}/bills`;
  const refuse = ({ simulator }: Provider, status: number, path = '/api/v1/invoices') =>
    simulator.switches.fault(path, { kind: 'reply', status });
  const asked = ({ simulator }: Provider) =>
    simulator.requests.flatMap(({ path }) => /(invoices|bills)$/.exec(path)?.[0] ?? []);

  test.each([403, 410])('take the place of invoices answered with %i', async (status) => {
    const provider = await withInvoices([
      whole({ id: 3, status: 'inactive', start_time: START + 28 * 86_400_000 }),
      whole({ id: 2, due_amount: 48.12 }),
      whole({ id: 1, start_time: START - 31 * 86_400_000, end_time: START }),
    ]);
    refuse(provider, status);
    const [newest, older, ...more] = await read(provider, ['901', '902']);
    const period = { startAt: START, endAt: START + 28 * 86_400_000, dueAt: null };
    expect(newest).toEqual({ id: '2', status: 'billing', ...period, total: 48_120_000, open: 48_120_000 });
    expect(older).toMatchObject({ id: '1', status: 'closed', endAt: START, open: 0 });
    // Neither the bill that still grows nor the one after it.
    expect(more).toEqual([]);
    expect(asked(provider)).toEqual(['invoices', 'bills']);
    expect(provider.simulator.requests.at(-1)?.query).not.toHaveProperty('billing-profile');
  });

  test.each([400, 401, 500])('are not asked for after a %i', async (status) => {
    const provider = await withInvoices([whole()]);
    refuse(provider, status);
    await expect(
      readInvoices(provider.open({ acceptsErrors: true }), { ...question, now: 0 }),
    ).rejects.toThrow(`HTTP ${status}`);
    expect(asked(provider)).toEqual(['invoices']);
  });

  test('are known for a week; then there may be invoices', async () => {
    const provider = await withInvoices([whole()]);
    const now = provider.clock.now();
    const daysAfter = async (days: number) => {
      const given = { ...question, notFoundAt: now - days * 86_400_000, now };
      const { notFoundAt } = await readInvoices(provider.ask, given);
      return notFoundAt === null ? null : (now - notFoundAt) / 86_400_000;
    };
    expect([await daysAfter(6), await daysAfter(7)]).toEqual([6, null]);
    refuse(provider, 404);
    expect(await daysAfter(8)).toBe(0);
    expect(asked(provider)).toEqual(['bills', 'invoices', 'invoices', 'bills']);
  });

  test('a bill whose period goes on has no final amount, whatever its status is called', async () => {
    const provider = await withInvoices([]);
    refuse(provider, 404);
    const bill = { valid_from: START, valid_to: provider.clock.now(), total_amount: '7' };
    const objects = [
      { ...bill, id: 1, status: 'settled' },
      { ...bill, id: 2, status: 'Active' },
      { ...bill, id: 3, valid_to: provider.clock.now() + 1 },
      { id: 4 },
    ];
    provider.simulator.switches.fault(BILLS, { kind: 'reply', status: 200, body: objects });
    expect((await read(provider)).map(({ id, total }) => [id, total])).toEqual([
      ['1', 7_000_000],
      ['4', null],
    ]);
  });

  test('neither is a refusal, and strange bills are told', async () => {
    const provider = await withInvoices([]);
    refuse(provider, 404);
    const fault = refuse(provider, 404, BILLS);
    await expect(read(provider)).rejects.toThrow(ProviderRefused);
    fault.remove();
    provider.simulator.switches.fault(BILLS, FAULTS.captivePage);
    await expect(read(provider)).rejects.toThrow(UnexpectedReply);
  });
});

describe('strange ones', () => {
  test('unknown statuses pass, others are not known', async () => {
    const statuses = ['past_due', 'in dispute', 'ÜBERFÄLLIG', '', 7, null, 'me@example.org', 'x'.repeat(41)];
    const rows = statuses.map((status, at) => whole({ id: `i${at}`, status }));
    const found = new Map((await read(given(...rows))).map(({ id, status }) => [id, status]));
    const passed = ['past_due', 'in dispute', 'ÜBERFÄLLIG', ...Array(5).fill(null)];
    expect(statuses.map((_, at) => found.get(`i${at}`))).toEqual(passed);
  });

  test.each<[string, Record<string, unknown>, object]>([
    ['no amounts', { total_amount: null, due_amount: null }, { total: null, open: null }],
    ['as text', { total_amount: '48.12', due_amount: '-1' }, { total: 48_120_000, open: -1_000_000 }],
    ['no numbers', { total_amount: 'much', due_amount: 1e12 }, { total: null, open: null }],
    ['no times', { payment_due: null, end_time: undefined }, { dueAt: null, endAt: null }],
    ['no calendar', { payment_due: 9e15, start_time: -1 }, { dueAt: null, startAt: null }],
    ['9999', { payment_due: Date.UTC(9999, 11, 31) }, { dueAt: Date.UTC(9999, 11, 31) }],
    ['a time as text', { start_time: String(START) }, { startAt: START }],
  ])('%s', async (_, strange, expected) => {
    const found = await read(given(whole({ id: 'a', ...strange }), whole({ id: 'b' })));
    expect(found.map(({ id }) => id).sort()).toEqual(['a', 'b']);
    expect(found.find(({ id }) => id === 'a')).toMatchObject(expected);
  });

  test('one without an id, or with one that is none, and one that is no object, is left out alone', async () => {
    const ids = [undefined, null, '', {}, 'me@example.org', 'two\nlines', 'x'.repeat(65), 'INV/2026-02.1'];
    const rows = [null, 7, 'text', [], ...ids.map((id) => whole({ id }))];
    expect((await read(given(...rows))).map(({ id }) => id)).toEqual(['INV/2026-02.1']);
    await expect(read(given({ number: 7 }))).rejects.toThrow(UnexpectedReply);
  });

  test('a list without end ends', async () => {
    let id = 0;
    const endless = { ...given(), ask: async () => ({ objects: [whole({ id: id++ })], total_num: 1e9 }) };
    expect(await read(endless)).toHaveLength(100);
  });
});
