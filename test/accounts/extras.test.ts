// What an account has beside its usage: when each is asked for, what a refusal leaves of it, and what the provider's site says.
import { expect, test } from 'vitest';
import type { AccountContext } from '../../src/accounts/context.ts';
import { AccountExtras } from '../../src/accounts/extras.ts';
import { fileSchema } from '../../src/config/schema.ts';
import type { Extras } from '../../src/domain/extras.ts';
import type { Invoice } from '../../src/domain/invoice.ts';
import { zone } from '../../src/domain/period.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { concurrencyLimit } from '../../src/foundation/limits.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { ProviderRefused, UnexpectedReply } from '../../src/provider/request.ts';
import { handClock } from '../support/clock.ts';
import { property } from '../support/keptMeters.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';

const DAY_MS = 24 * 3_600_000;
const { signal } = new AbortController();

/** `currency`: of the provider, as configured. */
async function openHome(provider: Partial<Provider>, currency?: string) {
  const clock = handClock('2025-03-10T12:00:00Z');
  const store = memoryStore<Extras>(null);
  const config = { ...fileSchema.parse({}), provider: { currency } };
  const context = {
    ...{ config, clock, log: logLines().log, zone: zone('Europe/Dublin'), limit: concurrencyLimit(1) },
    changed: () => undefined,
  } as unknown as AccountContext;
  const parts = { upstream: { provider, extras: store }, history: { save: () => undefined } };
  const opened = await AccountExtras.open('home', { ...parts, queue: concurrencyLimit(1) } as never, context);
  const properties = [property('1'), property('2', 'A'), property('3', 'B', 'C')];
  const entities = { personCustomerId: '7', siteCodes: [], billingProfileIds: [], properties };
  return {
    ...{ clock, store, opened },
    async round(): Promise<void> {
      opened.begin(entities, signal);
      await opened.settled();
    },
  };
}

test('writes down that it has asked before the question is sent', async () => {
  const seen: unknown[] = [];
  const home = await openHome({
    async balance() {
      seen.push(home.store.kept?.balance.askedOn);
      return 5;
    },
  });
  await home.round();
  expect(seen).toEqual(['2025-03-10']);
});

test('asks again when a day has begun, which is at four', async () => {
  let asked = 0;
  const home = await openHome({ balance: async () => (asked += 1) });
  for (const [hours, times] of [
    [0, 1],
    [15, 1],
    [1, 2],
  ] as const) {
    home.clock.advance(hours * 3_600_000);
    await home.round();
    expect(asked).toBe(times);
  }
});

const words = { message: 'No.', hint: '' };
const tooLarge = failure('reply_too_large', 'No.', { exit: EXIT.provider, retry: 'later' });

test.each([
  ['a refusal', new ProviderRefused(404, words), true],
  ['a strange reply', new UnexpectedReply('balance', 'a number', 'text'), true],
  ['a reply that is too large', tooLarge, true],
  ['a refused access token', new ProviderRefused(401, words), false],
])('keeps what it has when the answer is %s, and stops asking for a week: %s', async (_, fault, off) => {
  let answer: () => Promise<number> = async () => 5;
  const home = await openHome({ balance: () => answer() });
  await home.round();
  answer = () => Promise.reject(fault);
  home.clock.advance(DAY_MS);
  await home.round();
  expect(home.opened.known.balance).toEqual({ askedOn: '2025-03-11', off, found: { amount: 5 } });
});

test('asks for a register when the property has one meter, named or not', async () => {
  const asked: string[] = [];
  const home = await openHome({
    async register(question) {
      asked.push(question.property.propertyCustomerId);
      return [];
    },
  });
  await home.round();
  expect(asked).toEqual(['1', '2']);
});

test('gives each new invoice once when its news are taken', async () => {
  const bills: Invoice[] = [];
  const home = await openHome({
    invoices: async () => ({ byProfile: new Map([['', [...bills]]]), notFoundAt: null }),
  });
  const dates = { startAt: null, endAt: null, dueAt: null };
  for (const id of ['old', 'one', 'other']) {
    bills.push({ id, status: null, ...dates, total: 1, open: 1 });
    await home.round();
    home.clock.advance(DAY_MS);
  }
  const told = () => home.opened.takeNews().map(({ id }) => id);
  expect([told(), told()]).toEqual([['one', 'other'], []]);
});

test.each([
  ['an answer', () => undefined],
  ['a refusal', () => Promise.reject(new ProviderRefused(404, words))],
])('keeps what the broker has taken while invoices are asked for when it ends with %s', async (_, end) => {
  const dates = { startAt: null, endAt: null, dueAt: null };
  const bills: Invoice[] = [];
  let meanwhile: () => unknown = () => undefined;
  const home = await openHome({
    async invoices() {
      await meanwhile();
      return { byProfile: new Map([['', [...bills]]]), notFoundAt: null };
    },
  });
  const untold = () => home.opened.known.invoices.found?.untoldIds;
  for (const id of ['old', 'new']) {
    bills.push({ id, status: null, ...dates, total: 1, open: 1 });
    await home.round();
    home.clock.advance(DAY_MS);
  }
  expect(untold()).toEqual(['new']);
  meanwhile = () => home.opened.told(['new']).then(end);
  await home.round();
  expect(untold()).toEqual([]);
});

test.each([
  ['Eire', 'EUR', undefined, [], 'EUR'],
  ['Europe/Berlin', null, undefined, ['timezone_differs'], 'EUR'],
  ['Europe/Dublin', 'GBP', undefined, [], 'GBP'],
  ['Europe/Dublin', 'GBP', 'SEK', ['currency_differs'], 'SEK'],
])(
  'compares with the configuration when the site is in %s and counts in %s, with %s configured',
  async (timezone, currency, own, codes, counted) => {
    const home = await openHome({ site: async () => ({ timezone, currency }) }, own);
    await home.opened.askSite(signal);
    expect(home.opened.reasons().map(({ code }) => code)).toEqual(codes);
    expect(home.opened.currency).toBe(counted);
  },
);
