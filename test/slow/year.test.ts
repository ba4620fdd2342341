// A simulated year: six polls a day through outages, jumps of the clock and restarts; at its end every figure is true.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toMicro, toUnits } from '../../src/domain/amount.ts';
import { HOUR_MS } from '../support/story.ts';
import { openDisturbances } from './disturbances.ts';
import { openYear, STEP_MS, type YearStory } from './yearStory.ts';

const SEED = Number(process.env.HEAT2MQTT_SEED ?? 1);
const FIRST = '2025-01-01';
const FIRST_NEWS = '2025-02-01';
const DAYS = 365;
const STEPS_A_DAY = (24 * HOUR_MS) / STEP_MS;
// No new daemon in between, so that the heap at both ends is the heap of one life.
const CALM = { from: 215, to: 330 };
const MOST_GROWTH_BYTES = 6 * 1024 * 1024;
const DISCOVERY = 'GET /api/v1/customers/:id';

type Days = readonly (readonly [date: string, energy: number, cost: number])[];

/** What the totals have to be made of, by local date, in millionths. */
function expected({ story }: YearStory, property: number, year: YearStory['meters'][number]['year']): Days {
  const told = [...story.simulator.truth(property)].filter(([, { readings }]) => readings > 0);
  const days = new Map([...told, ...year.withdrawn(story.clock.now())]);
  return [...days]
    .map(([date, { kwh, eur }]) => [date, toMicro(kwh), toMicro(eur)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function ledgerDays({ story }: YearStory, property: number): Promise<Days> {
  const file = join(story.stateDir, `accounts/home/ledger-${property}.json`);
  const { days } = JSON.parse(await readFile(file, 'utf8')) as { days: [string, number, number][] };
  return days
    .map(([date, energy, cost]) => [date, energy, cost] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

const sums = (days: Days) =>
  [1, 2].map((at) => toUnits(days.reduce((all, day) => all + Number(day[at]), 0))) as [number, number];

function heapAfterCollection(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (!gc) throw new Error('this test wants --expose-gc');
  gc();
  return process.memoryUsage().heapUsed;
}

test(`a year from seed ${SEED}`, async () => {
  const year = await openYear(SEED, FIRST, '2025-02-01T06:10:00Z');
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

  const told = {
    seed: SEED,
    ...disturbances.happened,
    events: Object.fromEntries(year.events),
    polls,
    logins: book.logins,
    refreshes: book.refreshes,
    discoveries: counters.requests[DISCOVERY],
    heapMiB: heap.map((bytes) => Math.round(bytes / 104_857.6) / 10),
  };
  process.stdout.write(`${JSON.stringify(told, null, 1)}\n`);

  const properties = story.simulator.properties();
  for (const [at, { meter, year: readings }] of year.meters.entries()) {
    const property = properties[at]?.id ?? 0;
    const days = expected(year, property, readings);
    expect(days.length).toBeGreaterThan(350);
    expect(await ledgerDays(year, property)).toEqual(days);
    const [energy_total, cost_total] = sums(days);
    expect(year.state(meter)).toMatchObject({ origin: FIRST, energy_total, cost_total, data_late: false });
    // Days of the first history are no news.
    const news = days.flatMap(([date]) =>
      date > FIRST_NEWS ? [[date, year.newDays.get(`${meter} ${date}`)]] : [],
    );
    expect(news.filter(([, times]) => times !== 1)).toEqual([]);
    const late = await story.listen();
    const { buckets } = await late.until(`heat2mqtt/meter/${meter}/usage/month`);
    const months = [...new Set(days.map(([date]) => date.slice(0, 7)))];
    expect(buckets).toMatchObject(
      months.map((month) => {
        const [energy_kwh, cost_eur] = sums(days.filter(([date]) => date.startsWith(month)));
        return { start: expect.stringMatching(`^${month}`), energy_kwh, cost_eur };
      }),
    );
  }

  // One question for each property and poll; the renumbered one was asked once in vain, and then both again.
  expect(polls.asked).toBeGreaterThanOrEqual(2 * polls.ok);
  expect(polls.asked - 2 * polls.ok - 3).toBeLessThanOrEqual(2 * polls.failed);
  expect(polls.ok).toBeGreaterThan(1_800);
  // The first, the renumbered one, one a week, and one where a register has stood still for days, which may be an exchange.
  expect(counters.requests[DISCOVERY]).toBeGreaterThan(45);
  expect(counters.requests[DISCOVERY]).toBeLessThanOrEqual(2 + 52 + 26);
  expect(counters.maxInFlight['POST /api/v1/reports/usage']).toBe(1);

  expect([book.needless, book.outOfTurn, alarms]).toEqual([[], [], []]);
  expect(counters.refreshGrants.maxInFlight).toBe(1);
  expect(book.logins).toBeLessThan(60);
  expect(year.events.get('late') ?? 0).toBeLessThan(20);
  expect(Number(heap[1]) - Number(heap[0])).toBeLessThan(MOST_GROWTH_BYTES);
});
