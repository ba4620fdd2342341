// The ledger of a meter: what is published is what a restart would find, and a history that comes back during a poll is gone on from.
import { expect, test } from 'vitest';
import { LedgerBook } from '../../src/accounts/ledgerBook.ts';
import { Meter } from '../../src/accounts/meter.ts';
import { fileSchema } from '../../src/config/schema.ts';
import { merge, openLedger } from '../../src/domain/ledger.ts';
import { addDays, zone } from '../../src/domain/period.ts';
import type { RetainedHistory } from '../../src/domain/recovery.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { ProviderRefused } from '../../src/provider/request.ts';
import { buckets, type Line, ledgerOf, row } from '../domain/ledgers.ts';
import { place } from '../store/directory.ts';
import { handClock } from '../support/clock.ts';

const { usage } = fileSchema.parse({});
const BEFORE = ledgerOf(row('2025-01-01', 10, 5, 1));
const AFTER = ledgerOf(row('2025-01-01', 11, 5, 1));

async function ledgerIn(
  { open, log }: Awaited<ReturnType<typeof place>>,
  clock = handClock('2025-02-01T12:00:00Z'),
  timezone = 'Europe/Dublin',
) {
  return LedgerBook.open('ledger', {
    config: { usage: { ...usage, timezone } },
    zone: zone(timezone),
    state: await open(),
    clock,
    log,
  });
}

test('publishes what is on the disk when a newer ledger is on its way there', async () => {
  const home = await place();
  const meterLedger = await ledgerIn(home);
  await meterLedger.update(BEFORE);
  const keeping = meterLedger.update(AFTER);
  expect(meterLedger.ledger.days.size).toBe(AFTER.days.size);
  expect(meterLedger.saved.days.size).toBe(BEFORE.days.size);
  await keeping;
  expect(meterLedger.saved.days.size).toBe(AFTER.days.size);
  expect((await ledgerIn(home)).saved.days).toEqual(AFTER.days);
});

test('remembers the newest hundred changes when no broker takes any', async () => {
  const home = await place();
  const book = await ledgerIn(home);
  const days = Array.from({ length: 130 }, (_, at) => addDays('2024-09-01', at));
  const changeOf = (day: string) =>
    ({ kind: 'new_day', day, before: null, after: { energy: 1, cost: 1 } }) as const;
  for (const day of days) await book.update(ledgerOf(row(day, 10, 5, 1)), [changeOf(day)]);
  const { untold } = await ledgerIn(home);
  expect(untold.map((change) => 'day' in change && change.day)).toEqual(days.slice(-100));
});

test('draws the origin again when the clock that stood in 1970 is set', async () => {
  const clock = handClock('1970-01-01T00:00:10Z');
  const meterLedger = await ledgerIn(await place(), clock);
  expect(meterLedger.ledger.origin).toBe('1968-01-01');
  clock.jump(Date.parse('2025-02-01T12:00:00Z'));
  meterLedger.begin();
  expect(meterLedger.ledger.origin).toBe('2023-01-01');
  meterLedger.begin();
  expect(meterLedger.ledger.origin).toBe('2023-01-01');
});

test.each([
  ['before the origin', '2021-07-01'],
  ['in the year before the last day', '2024-07-01'],
])('keeps origin and days when a later clock is %s', async (_, at) => {
  const home = await place();
  const read = buckets(...row('2025-01-01', 10, 5, 1));
  const { ledger } = merge(openLedger('2023-01-01'), read, Date.parse('2025-02-01T12:00:00Z'));
  await (await ledgerIn(home)).update(ledger);
  const behind = await ledgerIn(home, handClock(`${at}T12:00:00Z`));
  behind.begin();
  expect([behind.ledger.origin, behind.ledger.days.size]).toEqual(['2023-01-01', 10]);
});

test('keeps what was decided over a restart, and reads all of it again when the time zone is another', async () => {
  const home = await place();
  const first = await ledgerIn(home);
  await first.decide('previous_day');
  await first.update(BEFORE);
  const again = await ledgerIn(home);
  expect([again.readingCloses, again.isUndecided, again.ledger.days.size]).toEqual([
    'previous_day',
    false,
    10,
  ]);
  const elsewhere = await ledgerIn(home, undefined, 'Europe/Berlin');
  expect([elsewhere.isUndecided, elsewhere.ledger.days.size]).toEqual([true, 0]);
  expect(elsewhere.ledger).toMatchObject({ origin: BEFORE.origin, complete: false });
});

test('reads nothing again when the time zone has another name', async () => {
  const home = await place();
  const first = await ledgerIn(home, undefined, 'Asia/Calcutta');
  await first.decide('previous_day');
  await first.update(BEFORE);
  const renamed = await ledgerIn(home, undefined, 'Asia/Kolkata');
  expect([renamed.readingCloses, renamed.isUndecided, renamed.saved.days.size]).toEqual([
    'previous_day',
    false,
    10,
  ]);
});

test('tells a new tariff against the published one when the process has restarted between them', async () => {
  const billed = (rate: number, from: number, to: number): Line[] =>
    Array.from({ length: to - from }, (_, at) => {
      const kwh = 5 + (((from + at) * 7) % 11);
      return [addDays('2024-10-01', from + at), kwh, rate * kwh + 0.5];
    });
  const home = await place();
  const since = { origin: '2024-10-01' };
  const old = billed(0.12, 0, 60);
  expect(await (await ledgerIn(home)).update(ledgerOf(old, since))).toEqual([]);
  const again = await ledgerIn(home);
  expect(await again.update(ledgerOf([...old, ...billed(0.2, 60, 100)], since))).toMatchObject([
    { kind: 'tariff_changed', before: { unitRate: 0.12 }, after: { unitRate: 0.2 } },
  ]);
});

const RETAINED: RetainedHistory = {
  timezone: 'Europe/Dublin',
  readingCloses: 'previous_day',
  origin: '2024-11-01',
  days: new Map([['2024-11-01', { energy: 1, cost: 2 }]]),
};
test.each([
  ['of the same days: with what was decided', RETAINED, ['previous_day', false, 1]],
  ['without a day, which decides nothing', { ...RETAINED, days: new Map() }, ['same_day', true, 10]],
  [
    'of another name of the time zone: as of the same days',
    { ...RETAINED, timezone: 'Eire' },
    ['previous_day', false, 1],
  ],
  [
    'of what is no time zone: its origin only',
    { ...RETAINED, timezone: 'Europe/Atlantis' },
    ['same_day', true, 10],
  ],
  [
    'of another time zone: its origin only',
    { ...RETAINED, timezone: 'Europe/Berlin' },
    ['same_day', true, 10],
  ],
])('goes on from a history of the broker when it is %s', async (_, found, expected) => {
  const ledger = await ledgerIn(await place());
  const keeping = ledger.update(BEFORE);
  const restoring = ledger.restore(found);
  await keeping;
  // What is on its way to the disk knows less.
  expect(ledger.saved.origin).toBe(RETAINED.origin);
  await restoring;
  expect([ledger.readingCloses, ledger.isUndecided, ledger.saved.days.size]).toEqual(expected);
  await ledger.restore({ ...RETAINED, origin: '2020-01-01' });
  expect(ledger.ledger.origin).toBe(RETAINED.origin);
});

test.each<[string, Partial<RetainedHistory>, [string, number]]>([
  [
    'days after today',
    { days: new Map([...RETAINED.days, ['2099-01-01', { energy: 1, cost: 1 }]]) },
    ['2024-11-01', 1],
  ],
  ['an origin after today', { origin: '2099-01-01', days: new Map() }, ['2023-01-01', 0]],
])('takes the rest of a history when somebody has forged %s', async (_, forged, expected) => {
  const book = await ledgerIn(await place());
  await book.restore({ ...RETAINED, ...forged });
  expect([book.ledger.origin, book.ledger.days.size]).toEqual(expected);
});

async function meterOf(usage: object) {
  const { open, log } = await place();
  const clock = handClock('2025-02-01T12:00:00Z');
  const own = { subscriptionId: null, balanceGroupId: null };
  const property = { propertyCustomerId: '600001', meterIdentifiers: ['70418235'], ...own };
  const meter = await Meter.open(
    { account: 'home', property, name: '70418235' },
    { extras: { currency: 'EUR', register: () => null }, journal: { record: { lastSuccessAt: null } } },
    {
      config: fileSchema.parse({ usage: { history_since: '2025-01-01', ...usage } }),
      zone: zone('Europe/Dublin'),
      state: await open(),
      clock,
      log,
      changed: () => undefined,
      outdoor: { weather: null },
    },
  );
  const poll = (provider: Partial<Provider>) =>
    meter.poll(provider as Provider, new AbortController().signal);
  return { meter, poll, clock };
}

test('asks again from its origin on when a history comes back from the broker during a poll', async () => {
  const { meter, poll } = await meterOf({ reading_closes: 'same_day' });
  const asked: string[] = [];
  const retained = { timezone: 'Europe/Dublin', readingCloses: 'same_day', origin: '2024-11-01' } as const;
  await poll({
    async usage({ span }) {
      asked.push(span.from);
      if (asked.length === 1) await meter.book.restore({ ...retained, days: new Map() });
      return [];
    },
  });
  expect(asked).toEqual(['2025-01-01', '2024-11-01']);
});

test('tells no progress of a first history when the clock is before its origin', async () => {
  const { meter, clock } = await meterOf({});
  expect(meter.progress()).toMatchObject({ days_read: 0, days_total: 32 });
  clock.jump(-365 * 24 * 3_600_000);
  expect(meter.progress()).toBeNull();
});

test('asks for the hours of readings once when the provider does not understand that', async () => {
  const { poll } = await meterOf({});
  let asked = 0;
  const provider: Partial<Provider> = {
    usage: async () => [{ day: '2025-01-31', energy: 5_000_000, cost: 1_000_000 }],
    async readingHours() {
      asked += 1;
      throw new ProviderRefused(400, { message: 'No.', hint: '' });
    },
  };
  await poll(provider);
  await poll(provider);
  expect(asked).toBe(1);
});

test('fails when the hours of readings are refused for another reason', async () => {
  const { poll, meter } = await meterOf({});
  const refused = new ProviderRefused(403, { message: 'No.', hint: '' });
  await expect(poll({ readingHours: () => Promise.reject(refused) })).rejects.toBe(refused);
  expect(meter.ledger.complete).toBe(false);
});

test('takes the arrival for the time of a reading when its day is not over', async () => {
  const { poll, meter, clock } = await meterOf({ reading_closes: 'same_day' });
  const arrivedAt = clock.now();
  await poll({ usage: async () => [{ day: '2025-02-01', energy: 5_000_000, cost: null }] });
  clock.advance(3 * 3_600_000);
  expect(meter.reading()?.readingAt).toBe(arrivedAt);
});
