// The ledger of a meter: what is published is what a restart would find, and a history that comes back during a poll is gone on from.
import { expect, test } from 'vitest';
import { openMeter, openMeterLedger } from '../../src/accounts/meter.ts';
import { fileSchema } from '../../src/config/schema.ts';
import { zone } from '../../src/domain/period.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { ProviderRefused } from '../../src/provider/request.ts';
import { ledgerOf, row } from '../domain/ledgers.ts';
import { place } from '../store/directory.ts';
import { handClock } from '../support/clock.ts';

const { usage } = fileSchema.parse({});
const BEFORE = ledgerOf(row('2025-01-01', 10, 5, 1));
const AFTER = ledgerOf(row('2025-01-01', 11, 5, 1));

async function ledgerIn(
  { open, log }: Awaited<ReturnType<typeof place>>,
  clock = handClock('2025-02-01T12:00:00Z'),
) {
  return openMeterLedger('ledger', {
    config: { usage },
    zone: zone('Europe/Dublin'),
    state: await open(),
    clock,
    log,
  });
}

test('a ledger on its way to the disk is not published yet', async () => {
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

test('an origin drawn while the clock stood in 1970 is drawn again once the clock is set', async () => {
  const clock = handClock('1970-01-01T00:00:10Z');
  const meterLedger = await ledgerIn(await place(), clock);
  expect(meterLedger.ledger.origin).toBe('1968-01-01');
  clock.jump(Date.parse('2025-02-01T12:00:00Z'));
  meterLedger.begin();
  expect(meterLedger.ledger.origin).toBe('2023-01-01');
  meterLedger.begin();
  expect(meterLedger.ledger.origin).toBe('2023-01-01');
});

async function meterOf(usage: object) {
  const { open, log } = await place();
  const own = { subscriptionId: null, balanceGroupId: null };
  const property = { propertyCustomerId: '600001', meterIdentifiers: ['70418235'], ...own };
  const meter = await openMeter(
    { account: 'home', property, name: '70418235' },
    () => ({ currency: 'EUR', register: null, lastSuccessAt: null }),
    {
      config: fileSchema.parse({ usage: { history_since: '2025-01-01', ...usage } }),
      zone: zone('Europe/Dublin'),
      state: await open(),
      clock: handClock('2025-02-01T12:00:00Z'),
      log,
      changed: () => undefined,
      outdoor: { weather: null },
    },
  );
  const poll = (provider: Partial<Provider>) =>
    meter.poll(provider as Provider, new AbortController().signal);
  return { meter, poll };
}

test('a history that comes back from the broker while the provider is asked: all is asked again, from its origin on', async () => {
  const { meter, poll } = await meterOf({ reading_closes: 'same_day' });
  const asked: string[] = [];
  const retained = { timezone: 'Europe/Dublin', readingCloses: 'same_day', origin: '2024-11-01' } as const;
  await poll({
    async usage({ span }) {
      asked.push(span.from);
      if (asked.length === 1) await meter.store.restore({ ...retained, days: new Map() });
      return [];
    },
  });
  expect(asked).toEqual(['2025-01-01', '2024-11-01']);
});

test('a provider that refuses to tell the hours of readings is asked for them once', async () => {
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
