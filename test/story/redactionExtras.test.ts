// Canaries in invoices, readings, balance and site: the topics carry ids and amounts, and no canary reaches the log.
import { expect, test } from 'vitest';
import { ABOUT_THEM, CANARY, expectSilence, THEM } from '../support/canaries.ts';
import { ACCOUNT, EXTRAS, INVOICES, spoil } from '../support/extras.ts';
import { firstPoll } from '../support/story.ts';

const ROW = {
  status: ABOUT_THEM,
  number: CANARY.customerId,
  customer: { id: CANARY.customerId, name: CANARY.name, address: CANARY.address, email: CANARY.email },
  [CANARY.email]: CANARY.phone,
  amount: 1,
  total_amount: 12.5,
  due_amount: ABOUT_THEM,
  fields: { meter_value: ABOUT_THEM, time_of_read: '1741564800000', identifier: CANARY.name },
};

test.each([
  [
    'in fields that nobody needs',
    {
      objects: [{ ...ROW, id: 1 }],
      total_num: 1,
      open_bill_due: 3,
      currency: { code: 'EUR', name: CANARY.name },
    },
  ],
  [
    'in ids',
    {
      objects: [
        { ...ROW, id: CANARY.email },
        { ...ROW, id: ABOUT_THEM },
      ],
    },
  ],
  [
    'in what should be a number or a code',
    { open_bill_due: ABOUT_THEM, timezone: ABOUT_THEM, currency: { code: ABOUT_THEM } },
  ],
  ['instead of everything', ABOUT_THEM],
])('canaries %s', async (where, body) => {
  const { story, probe } = await firstPoll({
    accounts: [THEM],
    prepare(one) {
      for (const name of EXTRAS) spoil(one, name, { kind: 'reply', status: 200, body });
    },
  });
  await probe.until(ACCOUNT);
  const heard = probe.heard.flatMap(({ topic, payload }) => [topic, payload]);
  expectSilence([...heard, ...story.log.map((line) => JSON.stringify(line))]);
  if (where !== 'in fields that nobody needs') return;
  expect((await probe.until(INVOICES)).invoices).toMatchObject([
    { id: '1', status: null, amount: 12.5, amount_due: null },
  ]);
});
