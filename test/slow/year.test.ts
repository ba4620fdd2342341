// A simulated year: four polls a day through outages, jumps of the clock and restarts; at its end every figure is true.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toMicro, toUnits } from '../../src/domain/amount.ts';
import { METER } from '../support/homes.ts';
import { HOUR_MS } from '../support/story.ts';
import { openDisturbances } from './disturbances.ts';
import { METERS, openYear, STEP_MS, type YearStory } from './yearStory.ts';

const SEED = Number(process.env.HEAT2MQTT_SEED ?? 1);
const FIRST = '2025-01-01';
const DAYS = 365;
const STEPS_A_DAY = (24 * HOUR_MS) / STEP_MS;
// No new daemon in between, so that the heap at both ends is the heap of one life.
const CALM = { from: 215, to: 330 };
const MOST_GROWTH_BYTES = 6 * 1024 * 1024;

/** What the totals have to be made of, by local date, in millionths. */
function expected({ story, years }: YearStory, at: 0 | 1): Map<string, [number | null, number | null]> {
  const property = story.simulator.properties()[at]?.id ?? 0;
  const gone = years[at].withdrawn(story.clock.now());
  const days = new Map<string, [number | null, number | null]>();
  for (const [date, { kwh, eur, readings }] of story.simulator.truth(property)) {
    if (readings > 0) days.set(date, [toMicro(kwh), toMicro(eur)]);
  }
  for (const [date, { kwh, eur }] of gone) days.set(date, [toMicro(kwh), eur === null ? null : toMicro(eur)]);
  return days;
}

async function ledgerDays({ story }: YearStory, at: 0 | 1): Promise<Map<string, [number, number]>> {
  const property = story.simulator.properties()[at]?.id;
  const file = join(story.stateDir, `accounts/home/ledger-${property}.json`);
  const { days } = JSON.parse(await readFile(file, 'utf8')) as { days: [string, number, number][] };
  return new Map(days.map(([date, energy, cost]) => [date, [energy, cost]]));
}

const inOrder = <T>(days: Map<string, T>) => [...days].sort(([a], [b]) => (a < b ? -1 : 1));
const sum = (amounts: Iterable<number | null>) =>
  [...amounts].reduce<number>((all, one) => all + (one ?? 0), 0);

function heapAfterCollection(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (!gc) throw new Error('this test wants --expose-gc');
  gc();
  return process.memoryUsage().heapUsed;
}

test(`a year from seed ${SEED}`, async () => {
  const year = await openYear(SEED, FIRST, '2025-02-01T06:10:00Z', '2026-01-10');
  const { story, book, polls, alarms } = year;
  const { counters } = story.simulator;
  const disturbances = openDisturbances(year, SEED);
  const heap: number[] = [];
  await year.start();
  await story.polled(0);
  for (let day = 1; day <= DAYS; day += 1) {
    const isOver = day > DAYS - 10;
    if (isOver) await disturbances.end();
    else await disturbances.draw(day, day >= CALM.from && day < CALM.to);
    for (let step = 0; step < STEPS_A_DAY; step += 1) {
      await disturbances.settle();
      await year.step();
    }
    if (day === CALM.from + 10 || day === CALM.to - 5) heap.push(heapAfterCollection());
    expect(story.clock.sleepers).toBeLessThan(20);
  }

  const { requests } = counters;
  const told = {
    seed: SEED,
    ...disturbances.happened,
    readings: year.years.map(({ counts }) => counts),
    events: Object.fromEntries(year.events),
    polls,
    logins: book.logins,
    refreshes: book.refreshes,
    discoveries: requests['GET /api/v1/customers/:id'],
    heapMiB: heap.map((bytes) => Math.round(bytes / 104_857.6) / 10),
  };
  process.stdout.write(`${JSON.stringify(told, null, 1)}\n`);

  for (const [at, [meter]] of METERS.entries()) {
    const days = expected(year, at as 0 | 1);
    expect(days.size).toBeGreaterThan(350);
    expect(inOrder(await ledgerDays(year, at as 0 | 1))).toEqual(inOrder(days));
    const amounts = [...days.values()];
    expect(year.state(meter)).toMatchObject({
      origin: FIRST,
      energy_total: toUnits(sum(amounts.map(([energy]) => energy))),
      cost_total: toUnits(sum(amounts.map(([, cost]) => cost))),
      data_late: false,
    });
    const late = await story.listen();
    const { buckets } = await late.until(`heat2mqtt/meter/${meter}/usage/month`);
    const months = (buckets as { start: string; energy_kwh: number; cost_eur: number }[]).map((month) => [
      month.start.slice(0, 7),
      month.energy_kwh,
      month.cost_eur,
    ]);
    const truth = [...new Set([...days.keys()].map((date) => date.slice(0, 7)))].sort().map((month) => {
      const within = inOrder(days).filter(([date]) => date.startsWith(month));
      return [
        month,
        toUnits(sum(within.map(([, [energy]]) => energy))),
        toUnits(sum(within.map(([, [, cost]]) => cost))),
      ];
    });
    expect(months).toEqual(truth);
  }

  // One question for each property and poll; the renumbered one was asked once in vain, and then both again.
  expect(polls.asked).toBeGreaterThanOrEqual(2 * polls.ok);
  expect(polls.asked - 2 * polls.ok - 3).toBeLessThanOrEqual(2 * polls.failed);
  expect(polls.ok).toBeGreaterThan(1_200);
  // The first, the renumbered one, and one a week.
  expect(requests['GET /api/v1/customers/:id']).toBeGreaterThan(45);
  expect(requests['GET /api/v1/customers/:id']).toBeLessThanOrEqual(2 + 52);
  expect(counters.maxInFlight['POST /api/v1/reports/usage']).toBe(1);

  expect(book.needless).toEqual([]);
  expect(book.outOfTurn).toEqual([]);
  expect(counters.refreshGrants.maxInFlight).toBe(1);
  expect(book.logins).toBeLessThan(60);
  expect(year.events.get('late') ?? 0).toBeLessThan(20);
  expect(alarms).toEqual([]);
  expect(Number(heap[1]) - Number(heap[0])).toBeLessThan(MOST_GROWTH_BYTES);
  expect(year.state(METER)).toBeDefined();
});
