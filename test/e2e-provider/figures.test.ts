// Figures over both changes of the clock, from a real search engine: equal to an independent sum in whole millionths.
import { expect, test } from 'vitest';
import { DAILY, HALF_HOURLY, readingsOf, SINCE, type Sum, sums, ZONE } from './readings.ts';
import { openRealm } from './realm.ts';
import { openStory } from './story.ts';

interface Bucket {
  readonly start: string;
  readonly energy_kwh: number;
  readonly cost_eur: number;
}

const inUnits = (micro: bigint): number => Number(micro) / 1e6;
/** As published: three decimals, halves away from zero. */
const rounded = (micro: bigint): number => {
  const milli = (micro < 0n ? -micro : micro) + 500n;
  return ((micro < 0n ? -1 : 1) * Number(milli / 1000n)) / 1000;
};
const roundedBoth = ({ kwh, eur }: Sum) => [rounded(kwh), rounded(eur)];

const weekOf = (day: string): string => {
  const at = new Date(`${day}T12:00:00Z`);
  at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
  return at.toISOString().slice(0, 10);
};
const monthOf = (day: string): string => `${day.slice(0, 7)}-01`;
const quarterOf = (day: string): string => {
  const first = Math.floor((Number(day.slice(5, 7)) - 1) / 3) * 3 + 1;
  return `${day.slice(0, 5)}${String(first).padStart(2, '0')}-01`;
};
const yearOf = (day: string): string => `${day.slice(0, 4)}-01-01`;

test.each([HALF_HOURLY, DAILY])('every figure of a home with readings every $every', async (home) => {
  const realm = await openRealm();
  const story = await openStory(realm, { home });
  const program = story.start();
  await story.untilWell();

  const topic = `heat2mqtt/meter/${home.meter}`;
  const days = sums(home);
  const info = await story.probe.until('heat2mqtt/bridge/info', ({ meters }) => (meters as []).length > 0);
  const closes = home.every === 'day' ? 'previous_day' : 'same_day';
  expect(info.meters).toEqual([expect.objectContaining({ reading_closes: closes })]);

  const { days: history } = await story.probe.until(`${topic}/history`, () => true);
  const expected = [...days].sort(([a], [b]) => (a < b ? -1 : 1));
  expect(history).toEqual(expected.map(([day, { kwh, eur }]) => [day, inUnits(kwh), inUnits(eur)]));

  const all = sums(home, () => 'total').get('total') ?? { kwh: 0n, eur: 0n };
  const state = await story.probe.until(`${topic}/state`, () => true);
  expect([state.energy_total, state.cost_total]).toEqual(roundedBoth(all));
  const newest = Math.max(...readingsOf(home).map(({ at }) => at));
  expect(Date.parse(String(state.reading_at))).toBe(newest);

  for (const [interval, periodOf] of [
    ['day', (day: string) => day],
    ['week', weekOf],
    ['month', monthOf],
  ] as const) {
    const { buckets } = await story.probe.until(`${topic}/usage/${interval}`, () => true);
    const found = (buckets as Bucket[]).map((one) => [one.start.slice(0, 10), one.energy_kwh, one.cost_eur]);
    const wanted = [...sums(home, periodOf)].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(found.length, interval).toBeGreaterThan(10);
    expect(found, interval).toEqual(
      wanted.slice(-found.length).map(([start, sum]) => [start, ...roundedBoth(sum)]),
    );
  }
  await program.end('SIGTERM');
  expect(await realm.counts()).toMatchObject({ LOGIN: 1 });
});

test.each([
  ['week', weekOf],
  ['month', monthOf],
  ['quarter', quarterOf],
  ['year', yearOf],
] as const)('`usage --interval %s`, cut by the engine', async (interval, periodOf) => {
  const story = await openStory(await openRealm(), { home: HALF_HOURLY });
  const printed = await story.command('usage', '--from', SINCE, '--interval', interval, '--format', 'json');
  expect(printed).toMatchObject({ code: 0 });
  const wanted = [...sums(HALF_HOURLY, periodOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = JSON.parse(printed.output) as { start: string; energy_kwh: number; cost_eur: number }[];
  const figures: unknown[] = wanted.map(([start, sum]) => [start, ...roundedBoth(sum)]);
  // In its first days a period has no reading yet.
  const newest = periodOf(new Intl.DateTimeFormat('en-CA', { timeZone: ZONE }).format());
  if (wanted.at(-1)?.[0] !== newest) figures.push([newest, null, null]);
  expect(rows.map((row) => [row.start, row.energy_kwh, row.cost_eur])).toEqual(figures);
});
