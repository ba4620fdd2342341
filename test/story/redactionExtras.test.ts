// Canaries in invoices, readings, balance and site: the topics carry ids and amounts, and no canary reaches the log.
import { expect, test } from 'vitest';
import { ABOUT_THEM, CANARY, expectSilence, THEM } from '../support/canaries.ts';
import { ACCOUNT, INVOICES, spoil } from '../support/extras.ts';
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

const EVERYWHERE: readonly (readonly [string, unknown])[] = [
  ['in ids', { objects: [CANARY.email, ABOUT_THEM].map((id) => ({ ...ROW, id })) }],
  [
    'in what should be a number or a code',
    { open_bill_due: ABOUT_THEM, timezone: ABOUT_THEM, currency: { code: ABOUT_THEM } },
  ],
  ['instead of everything', ABOUT_THEM],
];

async function answered(body: unknown) {
  const { story, probe } = await firstPoll({
    accounts: [THEM],
    prepare: (one) => void spoil(one, { kind: 'reply', status: 200, body }),
  });
  expect(probe.json(ACCOUNT)).toBeDefined();
  const heard = probe.heard.flatMap(({ topic, payload }) => [topic, payload]);
  expectSilence([...heard, ...story.log.map((line) => JSON.stringify(line))]);
  return probe;
}

test('canaries in fields that nobody needs', async () => {
  const currency = { code: 'EUR', name: CANARY.name };
  const body = { objects: [{ ...ROW, id: 1 }], total_num: 1, open_bill_due: 3, currency };
  expect((await (await answered(body)).until(INVOICES)).invoices).toMatchObject([
    { id: '1', status: null, amount: 12.5, amount_due: null },
  ]);
});

test.each(EVERYWHERE)('canaries %s', async (_, body) => {
  await answered(body);
});
