// Honest numbers: the report of a living household against what the simulator knows, in winter, summer and between.
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { addDays, type Interval, zone } from '../../src/domain/period.ts';
import type { UsageQuestion } from '../../src/provider/provider.ts';
import { wideAccounts } from '../../src/simulator/accounts.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { openProvider, type Provider } from './home.ts';
import { expectedDays, openHome, readUsageOf } from './readings.ts';

const micro = (units: number) => Math.round(units * 1e6);

describe('a household of two years', () => {
  let provider: Provider;
  let property: number;
  beforeEach(async () => {
    provider = await openProvider({ at: '2026-03-10T12:00:00Z', accounts: wideAccounts(5) });
    property = provider.simulator.properties('me@example.org')[0]?.id ?? 0;
  });

  const ask = (question: Partial<UsageQuestion>) =>
    readUsageOf(provider.ask, {
      propertyCustomerId: String(property),
      span: { from: '2025-01-01', to: '2026-01-01' },
      ...question,
    });
  const truth = (from: string, to: string) =>
    [...provider.simulator.truth(property)]
      .map(([day, { kwh, eur }]) => ({ day, energy: micro(kwh), cost: micro(eur) }))
      .filter(({ day }) => day >= from && day < to);

  test.each<[Interval, (day: string) => string]>([
    ['week', (day) => addDays(day, -((new Date(day).getUTCDay() + 6) % 7))],
    ['month', (day) => `${day.slice(0, 7)}-01`],
    [
      'quarter',
      (day) =>
        `${day.slice(0, 5)}${['01', '04', '07', '10'][Math.floor((Number(day.slice(5, 7)) - 1) / 3)]}-01`,
    ],
    ['year', (day) => `${day.slice(0, 4)}-01-01`],
  ])('a %s is the sum of its days, and named after the first', async (interval, startOf) => {
    const sums = new Map<string, { energy: number; cost: number }>();
    for (const { day, energy, cost } of truth('2025-01-01', '2026-01-01')) {
      const sum = sums.get(startOf(day)) ?? { energy: 0, cost: 0 };
      sums.set(startOf(day), { energy: sum.energy + energy, cost: sum.cost + cost });
    }
    const expected = [...sums].map(([day, sum]) => ({ day, ...sum }));
    expect(await ask({ interval })).toEqual(expected);
  });

  test('two heat meters in one property are one sum', async () => {
    const services = [{ meter: { seed: 3 } }, { meter: { seed: 4, meanKwhPerDay: 30 } }];
    const groups = [{ properties: [{ services }] }];
    provider = await openProvider({ accounts: [{ username: 'me@example.org', password: 'p', groups }] });
    property = provider.simulator.properties()[0]?.id ?? 0;
    expect(await ask({})).toEqual(truth('2025-01-01', '2026-01-01'));
  });

  test('neither the water meter nor another property nor the neighbour adds anything', async () => {
    const [first, second] = await Promise.all(
      provider.simulator
        .properties('me@example.org')
        .filter(({ groupType, identifiers }) => groupType === 'payment' && identifiers.length > 0)
        .map(({ id }) => ask({ propertyCustomerId: String(id) })),
    );
    expect(first).toEqual(truth('2025-01-01', '2026-01-01'));
    expect(second?.length).toBeGreaterThan(300);
    expect(second).not.toEqual(first);
  });
});

describe('whatever is read whenever, in any time zone', () => {
  const ZONES = [
    'Europe/Dublin',
    'UTC',
    'America/St_Johns',
    'America/Los_Angeles',
    'Asia/Kathmandu',
    'Pacific/Auckland',
    'Pacific/Kiritimati',
    // Their clocks change at midnight.
    'America/Santiago',
    'Asia/Beirut',
  ] as const;
  const decimal = (most: number) => fc.integer({ min: 0, max: most * 1000 }).map((milli) => milli / 1000);
  const FIRST = Date.parse('2025-01-01T00:00:00Z');
  const LAST = Date.parse('2025-12-30T00:00:00Z');
  const event: fc.Arbitrary<ExplicitEvent> = fc.record({
    at: fc.integer({ min: FIRST / 1000, max: LAST / 1000 }).map((seconds) => seconds * 1000),
    kwh: fc.option(decimal(400)),
    eur: fc.option(decimal(90)),
  });
  const told = ({ kwh, eur }: ExplicitEvent) => kwh !== null || eur !== null;

  test('every day holds what was read on it', async () => {
    const home = await openHome();
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 30 }),
        fc.constantFrom(...ZONES),
        fc.boolean(),
        async (events, timezone, before) => {
          home.events.splice(0, home.events.length, ...events.filter(told));
          const buckets = await home.report({
            zone: zone(timezone),
            span: { from: '2024-12-30', to: '2025-12-31' },
            readingCloses: before ? 'previous_day' : 'same_day',
          });
          expect(buckets).toEqual(expectedDays(home.events, timezone, before ? -1 : 0));
        },
      ),
      { numRuns: 40 },
    );
  });
});
