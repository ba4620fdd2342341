// Bills against their days: on the account's topics, with the event of a new bill, and again when a day is corrected.
import { expect, test } from 'vitest';
import { ACCOUNT, INVOICES } from '../support/extras.ts';
import { home, METER, person } from '../support/homes.ts';
import { Household } from '../support/household.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';
import { environmentOf, typed } from '../support/typed.ts';

const DAY_MS = 24 * HOUR_MS;
const SINCE = { usage: { history_since: '2024-10-01' } };
const EVENT = 'heat2mqtt/account/home/event';

/** A household with a tax of 13.5 percent, and 12.40 too much on its bill of March. */
function household() {
  const house = new Household({ seed: 7, from: '2024-10-01', days: 190 });
  const bills = house.invoices({ vat: [{ from: '2000-01-01', percent: 13.5 }], wrong: { 5: 12.4 } });
  const given = bills.map(({ invoice }) => ({
    id: invoice.id,
    status: 'invoice',
    start_time: invoice.startAt,
    end_time: invoice.endAt,
    total_amount: (invoice.total ?? 0) / 1e6,
    due_amount: 0,
  }));
  return { events: house.events(), given, sums: bills.map(({ sum }) => sum / 1e6) };
}
const checksOf = (list: Record<string, unknown>) =>
  (list.invoices as { check: Record<string, unknown> }[]).map(({ check }) => check);

test('the tax is found, a wrong bill told with its event, and a corrected day compared anew', async () => {
  const { events, given, sums } = household();
  const invoices = given.slice(0, 5);
  const me = { ...person('me', [home(METER, { events })]), invoices };
  const { story, probe } = await firstPoll({ accounts: [me], at: '2025-04-04T12:00:00Z', config: SINCE });
  const list = await probe.until(INVOICES);
  expect(checksOf(list)).toHaveLength(5);
  const [newest, fourth, ...first] = checksOf(list);
  for (const check of [newest, fourth])
    expect(check).toMatchObject({ verdict: 'as_expected', explained_percent: 13.5, explained_amount: 0 });
  // Each is judged by those before it, and these are too few.
  for (const check of first) expect(check).toMatchObject({ verdict: 'unknown', unexplained: null });
  const before = await probe.until(ACCOUNT, (state) => state.invoice_difference !== null);
  expect(before).toMatchObject({
    invoice_difference: expect.closeTo((sums[4] ?? 0) * 0.135, 1),
    invoice_verdict: 'as_expected',
    invoice_unexplained: expect.closeTo(0, 1),
    invoice_difference_explained_percent: 13.5,
    invoice_difference_from: '2025-02-01',
    invoice_difference_to: '2025-02-28',
    invoice_difference_sum_of_days: expect.closeTo(sums[4] ?? 0, 2),
    invoice_difference_sentence: expect.stringMatching(/; 13\.5 % on top, as before\.$/),
  });

  invoices.push(...given.slice(5));
  await story.nextPoll(DAY_MS);
  const bill = await probe.until(EVENT);
  const { invoices: afterwards } = await probe.until(INVOICES, (now) => checksOf(now).length === 6);
  expect(bill.invoice).toEqual((afterwards as unknown[])[0]);
  expect(bill.invoice).toMatchObject({
    period_start: '2025-03-01',
    check: {
      rest: expect.closeTo(12.4, 1),
      sentence: expect.stringContaining('; 12.40 more than the days and 13.5 % on top make.'),
    },
  });

  const at = events.findIndex((one) => one.at > Date.parse('2025-03-30T12:00:00Z'));
  const last = events[at];
  if (!last) throw new Error('no reading of 30 March');
  events[at] = { ...last, eur: (last.eur ?? 0) + 12.4 / 1.135 };
  await story.nextPoll(DAY_MS);
  expect(await probe.until(ACCOUNT, (state) => state.invoice_difference_rest === 0)).toMatchObject({
    invoice_difference_explained_percent: 13.5,
  });
  await probe.until(INVOICES, (now) => checksOf(now)[0]?.rest === 0);
});

test('a meter that another account reads counts for the bills of both', async () => {
  const { events, given } = household();
  const couple = ['ann', 'bob'].map((name) => ({
    ...person(name, [home(METER, { events })]),
    invoices: given.slice(0, 5),
  }));
  const { probe } = await firstPoll({ accounts: couple, at: '2025-04-04T12:00:00Z', config: SINCE });
  for (const account of ['home', 'home2'])
    await probe.until(
      `heat2mqtt/account/${account}/state`,
      (state) => state.invoice_difference_explained_percent === 13.5,
    );
});

test('the command invoices compares with the days on disk', async () => {
  const { events, given } = household();
  const me = { ...person('me', [home(METER, { events })]), invoices: given };
  const { story, simulator, probe } = await firstPoll({
    accounts: [me],
    at: '2025-04-06T12:00:00Z',
    config: SINCE,
  });
  await probe.until(INVOICES);
  const env = environmentOf(simulator.urls, me, story.stateDir);
  const type = (format: string) => typed(['invoices', '--format', format], { env, clock: story.clock });
  const { out, err } = await type('table');
  expect(err).toBe('');
  expect(out.trimEnd().split('\n').slice(6, 10)).toEqual([
    expect.stringMatching(/INV-0001$/),
    '6 in all',
    '',
    expect.stringMatching(
      /^2025-03-01 to 2025-03-31: \d+\.\d\d EUR billed; .* 12\.40 more than the days and/,
    ),
  ]);
  const [newest] = JSON.parse((await type('json')).out);
  expect(newest.check).toMatchObject({ explained_percent: 13.5, rest: 12.4 });
  expect((await type('csv')).out).toMatch(
    /^INV-0006,.*,EUR,[\d.]+,[\d.]+,[\d.]+,13\.5,0,12\.4,differs,[\d.]+,12\.4,[\d.]+,0,0\r$/m,
  );
});
