// Balance, credit and site from the provider, with replies of every kind.
import { describe, expect, test } from 'vitest';
import { readBalance, readCredit } from '../../src/provider/monetization/billing.ts';
import { readSite } from '../../src/provider/monetization/discovery.ts';
import { type Ask, UnexpectedReply } from '../../src/provider/request.ts';

const answering =
  (body: unknown): Ask =>
  async () =>
    body;

describe('what is due', () => {
  test.each([
    [{ open_bill_due: '12.34' }, 12_340_000],
    [{ open_bill_due: -3 }, -3_000_000],
    [{ open_bill_due: null }, null],
  ])('%j', async (body, due) => {
    const asked: string[] = [];
    const ask: Ask = async ({ path }) => {
      asked.push(path);
      return body;
    };
    expect(await readBalance(ask, { personCustomerId: '7/7' })).toBe(due);
    expect(asked).toEqual(['/customers/7%2F7/open-bill-due']);
  });

  test.each([[{}], [[]], [{ open_bill_due: 'a lot' }], [null]])('not understood: %j', async (body) => {
    const reading = readBalance(answering(body), { personCustomerId: '77' });
    await expect(reading).rejects.toThrow(UnexpectedReply);
  });

  test('credit is added up over billing profiles', async () => {
    const rows: Record<string, unknown[]> = { 'profile-a': [5, '2.5'], 'profile-b': [1] };
    const ask: Ask = async ({ query }) =>
      (rows[query?.get('billing-profile') ?? ''] ?? []).map((amount, id) => ({ id, amount }));
    const profiles = Object.keys(rows);
    expect(await readCredit(ask, { personCustomerId: '77', billingProfileIds: profiles })).toBe(8_500_000);
    expect(await readCredit(ask, { personCustomerId: '77', billingProfileIds: [] })).toBeNull();
  });

  test('a credit that cannot be read is not left out of the sum', async () => {
    const objects = [5, 'some'].map((amount, id) => ({ id, amount }));
    const ask = answering({ objects, total_num: 2 });
    const reading = readCredit(ask, { personCustomerId: '77', billingProfileIds: [] });
    await expect(reading).rejects.toThrow(UnexpectedReply);
  });
});

describe('the site', () => {
  test.each([
    [{ timezone: 'Europe/Dublin', currency: { code: 'EUR' } }, 'Europe/Dublin', 'EUR'],
    [{ timezone: 7, currency: { code: 'GBP' } }, null, 'GBP'],
    [{ timezone: 'Atlantis', currency: { code: 'SEK' } }, null, 'SEK'],
  ])('%j', async (body, timezone, currency) => {
    expect(await readSite(answering(body))).toEqual({ timezone, currency });
  });

  test.each([[{}], [{ currency: { code: '€' } }], [[]]])('not understood: %j', async (body) => {
    await expect(readSite(answering(body))).rejects.toThrow(UnexpectedReply);
  });
});
