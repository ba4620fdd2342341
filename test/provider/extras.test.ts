// Balance, credit and site from the provider, with replies of every kind.
import { expect, test } from 'vitest';
import { readBalance, readCredit } from '../../src/provider/monetization/billing.ts';
import { readSite } from '../../src/provider/monetization/discovery.ts';
import { looseAmount, looseInstant } from '../../src/provider/reply.ts';
import { type Ask, UnexpectedReply } from '../../src/provider/request.ts';
import { refusalOf } from '../auth/account.ts';

const billingProfileIds = ['profile-a', 'profile-b'];
const READ = {
  balance: (ask: Ask) => readBalance(ask, { personCustomerId: '7/7' }),
  credit: (ask: Ask) => readCredit(ask, { personCustomerId: '77', billingProfileIds: [] }),
  credits: (ask: Ask) => readCredit(ask, { personCustomerId: '77', billingProfileIds }),
  site: (ask: Ask) => readSite(ask),
};
const REFUSED = 'unexpected_reply';
const dublin = { timezone: 'Europe/Dublin', currency: { code: 'EUR' } };

/** What is found, or the code of the refusal. A row with a profile is given for that one only. */
test.each<readonly [what: keyof typeof READ, body: unknown, expected: unknown]>([
  ['balance', { open_bill_due: '12.34' }, 12_340_000],
  ['balance', { open_bill_due: -3 }, -3_000_000],
  ['balance', { open_bill_due: null }, null],
  ...[{}, [], { open_bill_due: 'a lot' }, null].map((body) => ['balance', body, REFUSED] as const),
  ['credit', [], null],
  ['credit', [{ amount: 5 }, { amount: 'some' }], REFUSED],
  ['credit', [{ amount: 5 }, {}], REFUSED],
  ['credits', [{ amount: 5 }, { amount: '2.5' }, { amount: 1, profile: 'profile-b' }], 16_000_000],
  ['site', dublin, { ...dublin, currency: 'EUR' }],
  ['site', { timezone: 7, currency: { code: 'GBP' } }, { timezone: null, currency: 'GBP' }],
  ['site', { timezone: 'Atlantis', currency: { code: 'SEK' } }, { timezone: null, currency: 'SEK' }],
  ...[{}, { currency: { code: '€' } }, []].map((body) => ['site', body, REFUSED] as const),
])('reads or refuses %s when it is %j', async (what, body, expected) => {
  const asked: string[] = [];
  const found = READ[what](async ({ path, query }) => {
    asked.push(path);
    const profile = query?.get('billing-profile');
    return Array.isArray(body) ? body.filter((row) => (row.profile ?? profile) === profile) : body;
  }).catch(({ code }) => code);
  expect(await found).toEqual(expected);
  if (what === 'balance') expect(asked).toEqual(['/customers/7%2F7/open-bill-due']);
});

test.each<readonly [what: keyof typeof READ, body: unknown, words: string]>([
  [
    'site',
    { timezone: 'Atlantis', currency: { code: 7 } },
    'reply to the question for the site was not understood: expected a time zone such as Europe/Dublin at timezone, or a currency such as EUR at currency.code, found a string and a number',
  ],
  ['site', {}, 'found nothing and nothing'],
  [
    'balance',
    { open_bill_due: 'a lot' },
    'reply to the balance due was not understood: expected a number or null at open_bill_due, found a string',
  ],
  ['balance', {}, 'found nothing'],
  [
    'credit',
    [{ amount: [] }],
    'reply to the credit balance was not understood: expected a number or null at amount, found a list of 0',
  ],
])(
  'names what was asked for, what is allowed and the kind of what came when %s is %j',
  async (what, body, words) => {
    const err = await refusalOf(READ[what](async () => body));
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toContain(words);
  },
);

test.each([
  [looseAmount, '-12.5', -12_500_000],
  [looseAmount, -1_000_000_000, -1_000_000_000_000_000],
  [looseAmount, -1_000_000_001, null],
  [looseAmount, 1_000_000_001, null],
  [looseAmount, '1e3', null],
  [looseInstant, '1741608000000', 1_741_608_000_000],
  [looseInstant, 1_741_608_000_000.4, 1_741_608_000_000],
  [looseInstant, 0, null],
  [looseInstant, -1, null],
  [looseInstant, 1e15, null],
])('knows nothing when an amount or an instant cannot be, or cannot be kept (%#)', (schema, given, found) => {
  expect(schema.parse(given)).toBe(found);
});
