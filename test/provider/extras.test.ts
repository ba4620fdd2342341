// Balance, credit and site from the provider, with replies of every kind.
import { describe, expect, test } from 'vitest';
import { readBalance, readCredit } from '../../src/provider/monetization/billing.ts';
import { readSite } from '../../src/provider/monetization/discovery.ts';
import { type Ask, UnexpectedReply } from '../../src/provider/request.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { home, person } from '../support/homes.ts';
import { openProvider } from './home.ts';

const ME = { ...person('me', [home()]), customerId: 77 };
const openHome = () => openProvider({ accounts: [ME] });
const reply = (body: unknown): Fault => ({ kind: 'reply', status: 200, body });
/** A provider that answers below a path with this. */
async function answering(path: string, body: unknown): Promise<Ask> {
  const { ask, simulator } = await openHome();
  simulator.switches.fault(path, reply(body));
  return ask;
}

describe('what is due', () => {
  test.each([
    [{ open_bill_due: 12.34 }, 12_340_000],
    [{ open_bill_due: '12.34' }, 12_340_000],
    [{ open_bill_due: -3 }, -3_000_000],
    [{ open_bill_due: 0 }, 0],
    [{ open_bill_due: null }, null],
  ])('%j', async (body, due) => {
    const ask = await answering('/api/v1/customers/77/open-bill-due', body);
    expect(await readBalance(ask, { personCustomerId: '77' })).toBe(due);
  });

  test.each([[{}], [[]], [{ open_bill_due: 'a lot' }], [{ open_bill_due: {} }], ['text'], [null]])(
    'not understood: %j',
    async (body) => {
      const ask = await answering('/api/v1/customers/', body);
      await expect(readBalance(ask, { personCustomerId: '77' })).rejects.toThrow(UnexpectedReply);
    },
  );

  test('credit is added up over billing profiles', async () => {
    const { ask, simulator } = await openHome();
    const rows = { 'profile-a': [5, '2.5'], 'profile-b': [1] };
    for (const [profile, amounts] of Object.entries(rows)) {
      const objects = amounts.map((amount, id) => ({ id, amount }));
      simulator.switches.fault('/api/v1/credit-balances', reply({ objects, total_num: objects.length }), {
        when: ({ query }) => query.get('billing-profile') === profile,
      });
    }
    const profiles = Object.keys(rows);
    expect(await readCredit(ask, { personCustomerId: '77', billingProfileIds: profiles })).toBe(8_500_000);
    simulator.switches.fault('/api/v1/credit-balances', reply({ objects: [], total_num: 0 }), {
      when: ({ query }) => !query.has('billing-profile'),
    });
    expect(await readCredit(ask, { personCustomerId: '77', billingProfileIds: [] })).toBeNull();
  });

  test('a credit that cannot be read is not left out of the sum', async () => {
    const objects = [5, 'some'].map((amount, id) => ({ id, amount }));
    const ask = await answering('/api/v1/credit-balances', { objects, total_num: 2 });
    const reading = readCredit(ask, { personCustomerId: '77', billingProfileIds: [] });
    await expect(reading).rejects.toThrow(UnexpectedReply);
  });
});

describe('the site', () => {
  test.each([
    [{ timezone: 'Europe/Dublin', currency: { code: 'EUR' } }, 'Europe/Dublin', 'EUR'],
    [{ timezone: 'GMT' }, 'GMT', null],
    [{ timezone: 7, currency: { code: 'GBP' } }, null, 'GBP'],
    [{ timezone: 'Atlantis', currency: { code: 'SEK' } }, null, 'SEK'],
  ])('%j', async (body, timezone, currency) => {
    expect(await readSite(await answering('/api/v1/site', body))).toEqual({ timezone, currency });
  });

  test.each([[{}], [{ currency: 'euro' }], [{ currency: { code: '€' } }], ['text'], [[]]])(
    'not understood: %j',
    async (body) => {
      await expect(readSite(await answering('/api/v1/site', body))).rejects.toThrow(UnexpectedReply);
    },
  );
});
