// heat2mqtt usage: asks the provider for a period, in the interval wanted, and prints it.
import { sumKnown, toUnits } from '../domain/amount.ts';
import { LONGEST_QUESTION_DAYS } from '../domain/ledger.ts';
import { addDays, addMonths, chunks, type Day, weekStart, zone as zoneOf } from '../domain/period.ts';
import { type Bucket, seriesName } from '../domain/reading.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Interval } from '../provider/usageReport.ts';
import { borrowUpstream } from './borrow.ts';
import { type Command, WrongUsage } from './command.ts';
import type { Io } from './io.ts';
import { type Format, formatFrom, printCsv, printTable } from './printing.ts';
import { loadSettings, type Settings } from './settings.ts';

const INTERVALS: readonly Interval[] = ['day', 'week', 'month', 'quarter', 'year'];
const DEFAULT_DAYS = 30;

interface Row {
  readonly meter: string;
  readonly start: Day;
  readonly energy_kwh: number | null;
  readonly cost_eur: number | null;
}

export const usage: Command = async ({ options, words: _ }, io) => {
  const format = formatFrom(options.format, io);
  const interval = intervalFrom(options.interval ?? 'day');
  const settings = await loadSettings({ options, words: [] }, io);
  const zone = zoneOf(settings.config.usage.timezone);
  const today = zone.dayAt(Date.now());
  const lastDay = dayFrom('--to', options.to) ?? today;
  const from = startOf(interval, dayFrom('--from', options.from) ?? addDays(lastDay, -DEFAULT_DAYS));
  if (from > lastDay) throw new WrongUsage(`--from ${from} is after --to ${lastDay}.`);

  const account = pickAccount(settings, options.account);
  const upstream = await borrowUpstream(settings, account, io);
  const context =
    (await upstream.context.read()) ?? (await upstream.client.discover(await upstream.identity()));
  const rows: Row[] = [];
  for (const property of context.properties) {
    const found: Bucket[] = [];
    for (const span of spans(from, addDays(lastDay, 1), interval)) {
      const { propertyCustomerId } = property;
      const readingCloses = settings.config.usage.reading_closes;
      found.push(
        ...(await upstream.client.usage({ propertyCustomerId, span, interval, zone, readingCloses })),
      );
    }
    rows.push(...found.map((bucket) => toRow(seriesName(property), bucket)));
    if (format === 'table') printMeter(seriesName(property), interval, found, io);
  }
  if (format !== 'table') printRows(format, rows, io);
  return EXIT.fine;
};

function printRows(format: Format, rows: readonly Row[], io: Io): void {
  if (format === 'json') io.out(`${JSON.stringify(rows, null, 2)}\n`);
  else {
    const cells = rows.map(({ meter, start, energy_kwh, cost_eur }) => [meter, start, energy_kwh, cost_eur]);
    printCsv(['meter', 'start', 'energy_kwh', 'cost_eur'], cells, io);
  }
}

const BAR_WIDTH = 40;

function printMeter(meter: string, interval: Interval, buckets: readonly Bucket[], io: Io): void {
  io.out(`Meter ${meter}\n`);
  const most = Math.max(1, ...buckets.map(({ energy }) => energy ?? 0));
  const bar = (energy: number | null) =>
    io.isTerminal ? ['█'.repeat(Math.round(((energy ?? 0) / most) * BAR_WIDTH))] : [];
  const rows = buckets.map((bucket) => {
    const { start, energy_kwh, cost_eur } = toRow(meter, bucket);
    return [start, energy_kwh, cost_eur, ...bar(bucket.energy)];
  });
  const energy = sumKnown(buckets.map((bucket) => bucket.energy));
  const cost = sumKnown(buckets.map((bucket) => bucket.cost));
  rows.push(['total', energy === null ? null : toUnits(energy), cost === null ? null : toUnits(cost)]);
  printTable([interval, 'kWh', 'EUR', ...(io.isTerminal ? [''] : [])], rows, io);
}

const toRow = (meter: string, { day, energy, cost }: Bucket): Row => ({
  meter,
  start: day,
  energy_kwh: energy === null ? null : toUnits(energy),
  cost_eur: cost === null ? null : toUnits(cost),
});

/** Long spans of days are asked in pieces; longer intervals have few buckets. */
const spans = (from: Day, to: Day, interval: Interval) =>
  interval === 'day' ? chunks({ from, to }, LONGEST_QUESTION_DAYS) : [{ from, to }];

function startOf(interval: Interval, day: Day): Day {
  if (interval === 'day') return day;
  if (interval === 'week') return weekStart(day);
  const month = Number(day.slice(5, 7)) - 1;
  if (interval === 'month') return addMonths(day, 0);
  return addMonths(day, interval === 'quarter' ? -(month % 3) : -month);
}

function intervalFrom(option: unknown): Interval {
  const found = INTERVALS.find((interval) => interval === option);
  if (found) return found;
  throw new WrongUsage(`--interval: found ${String(option).slice(0, 20)}; allowed: ${INTERVALS.join(', ')}.`);
}

function dayFrom(name: string, option: unknown): Day | undefined {
  if (option === undefined) return undefined;
  const text = String(option);
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text)
    return text;
  throw new WrongUsage(`${name}: found ${text.slice(0, 20)}; allowed: a day as YYYY-MM-DD.`);
}

function pickAccount({ config }: Settings, option: unknown) {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const known = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw new WrongUsage(`--account: found ${String(option ?? 'nothing').slice(0, 40)}; allowed: ${known}.`);
}
