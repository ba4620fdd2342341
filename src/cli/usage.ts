// heat2mqtt usage: asks the provider for a period, in the interval that was asked for, and prints it: for people a table with
// bars for each meter, for programs JSON or CSV.
import { friendlyNameOf } from '../accounts/names.ts';
import { inFull, knownUnits, sumKnown, toMicro } from '../domain/amount.ts';
import { costAt, type Prices } from '../domain/insight/anotherTariff.ts';
import { LONGEST_CARRIED_DAYS, LONGEST_QUESTION_DAYS } from '../domain/ledger.ts';
import {
  addDays,
  type Day,
  type DaySpan,
  type Interval,
  intervalStart,
  isDay,
  piecesOf,
} from '../domain/period.ts';
import { type Bucket, type Property, seriesName, withFound } from '../domain/reading.ts';
import { fitTariff, type Tariff } from '../domain/tariff/tariff.ts';
import { sumAmounts } from '../domain/totals.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { closingWords, findClosing, findCurrency, type Opened, openAccount } from './account.ts';
import { type Io, wrongOption, wrongUsage } from './command.ts';
import type { Command, Given } from './commands.ts';
import { capital, type Format, formatFrom, type Lines, print, printJson, tableLines } from './printing.ts';

type Period = ReturnType<typeof periodOf>;
type UsageRow = ReturnType<typeof rowsOf>[number];
type MeterUsage = Awaited<ReturnType<typeof readMeter>>;

export const usage: Command<'usage'> = async (given, io) => {
  const format = formatFrom(given.options.format, io);
  const wanted = periodOptions(given.options);
  const opened = await openAccount(given, io);
  const { zone } = opened;
  const period = periodOf(wanted, zone.dayAt(io.clock.now()));
  const meters = await readMeters(opened, period, format, io);
  if (period.prices?.unitRate === 0)
    io.err('By this tariff a kWh costs nothing. Decimals have a point: 0.124,0.686, not 0,124.\n');
  if (wanted.until && wanted.until > period.today) io.err(`Shown until today, ${period.today}.\n`);
  printUsage(format, meters, { ...period, currency: await findCurrency(opened), zone: zone.name }, io);
  return EXIT.fine;
};

/** The intervals before the last one if --from is not given. */
const DEFAULT_LENGTH = { day: 30, week: 12, month: 12, quarter: 8, year: 4 } as const;
/** No meter of this kind is older; a mistyped year would take a thousand requests. */
const EARLIEST = '2000-01-01';
const MOST_OF_A_PRICE = 1_000;

/** `prices`: a tariff to compare with. Throws wrong_usage. */
export const periodOptions = (options: Given<'usage'>['options']) => ({
  interval: options.interval ?? 'day',
  first: dayFrom('--from', options.from),
  until: dayFrom('--to', options.to),
  prices: pricesFrom(options.tariff),
});

/** The days that are asked for, at most until today. Throws wrong_usage. */
export function periodOf({ first, until, ...rest }: ReturnType<typeof periodOptions>, today: Day) {
  const to = until ?? today;
  const last = to > today ? today : to;
  const from = first ?? intervalStart(rest.interval, last, -DEFAULT_LENGTH[rest.interval]);
  if (from > today) throw wrongOption('--from', from, `a day not after today, ${today}`);
  if (from > to) throw wrongUsage(`--from ${from} is after --to ${to}.`);
  return { ...rest, span: { from, to: addDays(last, 1) }, today };
}

function dayFrom(name: string, text: string | undefined): Day | undefined {
  if (text === undefined || (isDay(text) && text >= EARLIEST)) return text;
  throw wrongOption(name, text, `a day as YYYY-MM-DD, from ${EARLIEST} on`);
}

function pricesFrom(text: string | undefined): Prices | null {
  if (text === undefined) return null;
  const [, unitRate, standing] = /^ *(\d+(?:\.\d+)?) *, *(\d+(?:\.\d+)?) *$/.exec(text) ?? [];
  if (unitRate && standing && Math.max(Number(unitRate), Number(standing)) <= MOST_OF_A_PRICE)
    return { unitRate: Number(unitRate), standingCharge: toMicro(Number(standing)) };
  const allowed = `the price of a kWh and that of a day, each from 0 to ${MOST_OF_A_PRICE}, such as 0.124,0.686`;
  throw wrongOption('--tariff', text, allowed);
}

/** Asks for the properties that the daemon has found; for those found now if there are none yet, or if the provider no longer knows them. */
async function readMeters(opened: Opened, period: Period, format: Format, io: Io): Promise<MeterUsage[]> {
  const { provider, listed: context } = opened.upstream;
  const readAll = async (properties: readonly Property[]) => {
    const read: MeterUsage[] = [];
    for (const property of properties) read.push(await readMeter(opened, property, period, format, io));
    return read;
  };
  const stored = (await context.read())?.properties;
  try {
    if (stored !== undefined) return await readAll(stored);
  } catch (err) {
    if (!(err instanceof Failure) || err.code !== 'provider_refused') throw err;
  }
  const { properties } = await provider.discover(io.interrupted);
  return readAll(withFound(stored ?? [], properties, []));
}

type Ask = (span: DaySpan, interval: Interval) => Promise<readonly Bucket[]>;

async function readMeter(opened: Opened, property: Property, period: Period, format: Format, io: Io) {
  const { span, today, prices } = period;
  const { config, upstream, zone } = opened;
  const { propertyCustomerId } = property;
  const closing = await findClosing(opened, property, io);
  const fixed = { propertyCustomerId, zone, readingCloses: closing.closes, signal: io.interrupted };
  const ask: Ask = (asked, interval) => upstream.provider.usage({ ...fixed, span: asked, interval });
  // A week or month can be moved by a day only when it is made of days, and a tariff counts days.
  const interval = closing.closes === 'previous_day' || prices ? 'day' : period.interval;
  const received = await askInPieces(ask, prices ? withCarried(span, today) : span, interval, io);
  const buckets = prices ? received.filter(({ day }) => day >= span.from && day < span.to) : received;
  // The tariff in the table is found in days.
  const days = format === 'table' && interval !== 'day' ? await ask(newestYear(span), 'day') : buckets;
  const meter = seriesName(property);
  return {
    meter,
    friendlyName: friendlyNameOf(config.meters, property, meter),
    closing,
    rows: rowsOf(period, buckets, byDay(received)),
    tariff: fitTariff(byDay(days)),
    /** The newest day that has been read, for a period that ends today: the days after it are not missing yet. */
    readTo: span.to > today ? (days.at(-1)?.day ?? null) : null,
  };
}

/** The provider limits its answers, so that a long span takes several questions. Their progress is told. */
async function askInPieces(ask: Ask, span: DaySpan, interval: Interval, io: Io): Promise<Bucket[]> {
  const spans = requestSpans(span, interval);
  const buckets: Bucket[] = [];
  for (const [at, asked] of spans.entries()) {
    const progress = `${at + 1} of ${spans.length}: ${asked.from} to ${addDays(asked.to, -1)}`;
    if (spans.length > 1) io.err(`Asking the provider, ${progress}\n`);
    buckets.push(...(await ask(asked, interval)));
  }
  return buckets;
}

/** One question takes so much of the end of the span. */
function newestYear({ from, to }: DaySpan): DaySpan {
  const earliest = addDays(to, -LONGEST_QUESTION_DAYS);
  return { from: from > earliest ? from : earliest, to };
}

const byDay = (buckets: readonly Bucket[]) => new Map(buckets.map((bucket) => [bucket.day, bucket]));

/** The days around the span judge the gaps at both its ends. */
const withCarried = ({ from, to }: DaySpan, today: Day): DaySpan => {
  const [end, tomorrow] = [addDays(to, LONGEST_CARRIED_DAYS), addDays(today, 1)];
  return { from: addDays(from, -LONGEST_CARRIED_DAYS), to: end < tomorrow ? end : tomorrow };
};

/** The provider gives only so many buckets for one request. */
function requestSpans(span: DaySpan, interval: Interval): DaySpan[] {
  const pieces = piecesOf(span, interval);
  const starts = pieces.filter((_, at) => at % LONGEST_QUESTION_DAYS === 0).map(({ from }) => from);
  return starts.map((from, at) => ({ from, to: starts[at + 1] ?? span.to }));
}

/** A row for each piece of the period, with or without a reading. `days`: also around it, for the tariff. */
function rowsOf(
  { span, interval, prices }: Pick<Period, 'span' | 'interval' | 'prices'>,
  buckets: readonly Bucket[],
  days: ReadonlyMap<Day, Bucket>,
) {
  const byStart = new Map<Day, Bucket[]>();
  for (const bucket of buckets) {
    const start = intervalStart(interval, bucket.day);
    byStart.set(start, [...(byStart.get(start) ?? []), bucket]);
  }
  return piecesOf(span, interval).map((piece) => ({
    ...piece,
    ...sumAmounts(byStart.get(piece.start) ?? []),
    costAtTariff: prices && costAt(prices, days, piece),
  }));
}

type Printed = Omit<Period, 'today'> & { readonly currency: string; readonly zone: string };
type Sums = Pick<UsageRow, 'energy' | 'cost' | 'costAtTariff'>;

const totalOf = (rows: readonly UsageRow[]): Sums => ({
  ...sumAmounts(rows),
  costAtTariff: sumKnown(rows.map(({ costAtTariff }) => costAtTariff)),
});

const amountsOf = ({ energy, cost, costAtTariff }: Sums, { currency, prices }: Printed) => ({
  energy_kwh: knownUnits(energy),
  cost_eur: knownUnits(cost),
  currency,
  ...(prices && { cost_at_tariff: knownUnits(costAtTariff) }),
});

type UsageRecord = ReturnType<typeof recordsOf>[number];

const recordsOf = ({ meter, closing, rows }: MeterUsage, period: Printed) =>
  rows.map((row) => ({
    meter,
    start: row.start,
    ...amountsOf(row, period),
    from: row.from,
    to: addDays(row.to, -1),
    partial: row.isPartial,
    reading_closes: closing.closes,
  }));

const CSV = ['meter', 'start', 'energy_kwh', 'cost_eur', 'currency', 'from', 'to', 'partial'];

export function printUsage(format: Format, meters: readonly MeterUsage[], period: Printed, io: Io): void {
  const records = meters.flatMap((meter) => recordsOf(meter, period));
  if (format === 'json' && period.prices) {
    const total = amountsOf(totalOf(meters.flatMap(({ rows }) => rows)), period);
    printJson({ rows: records, total }, io);
    return;
  }
  const csv = [...CSV, ...(period.prices ? ['cost_at_tariff'] : [])];
  const table = () => meters.flatMap((meter) => meterLines(meter, period, io));
  print(format, { records, csv, table }, io);
}

function meterLines(usage: MeterUsage, period: Printed, io: Io): Lines {
  const { interval, span, currency, zone, prices } = period;
  const { meter, friendlyName, readTo, rows, tariff, closing } = usage;
  const called = friendlyName === null ? `Meter ${meter}` : `${friendlyName} (meter ${meter})`;
  const columns = {
    [interval === 'week' ? 'week of' : interval]: 'name',
    kWh: 'energy_kwh',
    [currency]: 'cost_eur',
    ...(prices && { 'At tariff': 'cost_at_tariff' }),
  } as const;
  const records = recordsOf(usage, period).map((record) => ({
    ...record,
    name: `${nameOf(record.start, interval)}${record.partial ? ' *' : ''}`,
  }));
  const most = Math.max(0, ...records.map(({ energy_kwh }) => energy_kwh ?? 0));
  return [
    `${called}, ${span.from} to ${addDays(span.to, -1)}, ${zone}`,
    '',
    ...tableLines(columns, records, {
      amounts: ['energy_kwh', 'cost_eur', 'cost_at_tariff'],
      total: { name: 'total', ...amountsOf(totalOf(rows), period) },
      remark: (record, room) => (isAwaited(record, readTo) ? 'no reading yet' : remarkOn(record, most, room)),
      width: io.isTerminal ? io.columns : 0,
    }),
    '',
    ...notes(records, interval, readTo),
    `${capital(closingWords(closing))}.`,
    tariffLine(tariff, currency),
    prices && `At tariff: ${pricesInWords(prices, currency)}, ${COUNTED_DAYS}`,
    '',
  ];
}

const COUNTED_DAYS = 'for each day with a reading and each that a later one carries.';

function nameOf(start: string, interval: Interval): string {
  if (interval === 'year') return start.slice(0, 4);
  if (interval === 'month') return start.slice(0, 7);
  if (interval === 'quarter') return `${start.slice(0, 4)}-Q${(Number(start.slice(5, 7)) + 2) / 3}`;
  return start;
}

const LONGEST_BAR = 40;
const SHORTEST_ROOM = 10;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar where there is room for one. */
function remarkOn(record: UsageRecord, most: number, room: number): string {
  const { energy_kwh: energy } = record;
  if (!isRead(record)) return 'no reading';
  if (energy === null || energy <= 0 || room < SHORTEST_ROOM) return '';
  const eighths = Math.max(1, Math.round((energy / most) * Math.min(room, LONGEST_BAR) * 8));
  return `${'█'.repeat(Math.floor(eighths / 8))}${EIGHTHS[eighths % 8]}`;
}

const isRead = ({ energy_kwh, cost_eur }: UsageRecord): boolean => energy_kwh !== null || cost_eur !== null;
const isAwaited = ({ from }: UsageRecord, readTo: Day | null): boolean => readTo !== null && from > readTo;

function notes(records: readonly UsageRecord[], interval: Interval, readTo: Day | null): Lines {
  const due = records.filter((record) => !isAwaited(record, readTo));
  const unread = due.filter((record) => !isRead(record)).length;
  return [
    ...records
      .filter(({ partial }) => partial)
      .map((record) => {
        const isReadTo = readTo !== null && !isAwaited(record, readTo) && readTo < record.to;
        return `* ${nameOf(record.start, interval)}: only ${record.from} to ${isReadTo ? readTo : record.to}.`;
      }),
    unread > 0 && `${unread} of ${due.length} ${interval}s without a reading: not known, which is not 0.`,
  ];
}

function tariffLine(tariff: Tariff | null, currency: string): string {
  if (tariff === null)
    return 'Tariff (derived): none explains these days; that takes more than a week of differing days.';
  const { daysExplained, daysSeen, from, to } = tariff;
  return `Tariff (derived): ${pricesInWords(tariff, currency)}, explains ${daysExplained} of ${daysSeen} days, ${from} to ${to}.`;
}

/** `0.124 EUR/kWh + 0.686 EUR/day` */
const pricesInWords = ({ unitRate, standingCharge }: Prices, currency: string): string =>
  `${unitRate} ${currency}/kWh + ${inFull(standingCharge)} ${currency}/day`;
