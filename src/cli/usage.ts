// heat2mqtt usage: asks the provider for a period, in the interval that was asked for, and prints it: for people a table with
// bars for each meter, for programs JSON or CSV.
import { friendlyNameOf } from '../accounts/names.ts';
import { knownUnits, type Micro, sumKnown, toMicro } from '../domain/amount.ts';
import { costAt, type Prices, pricesInWords } from '../domain/insight/anotherTariff.ts';
import { LONGEST_CARRIED_DAYS } from '../domain/insight/readings.ts';
import { LONGEST_QUESTION_DAYS } from '../domain/ledger.ts';
import {
  addDays,
  type Day,
  type DaySpan,
  INTERVALS,
  type Interval,
  intervalStart,
  piecesOf,
} from '../domain/period.ts';
import { type Bucket, type Property, seriesName } from '../domain/reading.ts';
import { fitTariff, type Tariff } from '../domain/tariff/tariff.ts';
import { sumAmounts } from '../domain/totals.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { closingWords, findClosing, findCurrency, type Opened, openAccount } from './account.ts';
import { type Arguments, type Command, choiceOf, type Io, wrongOption, wrongUsage } from './command.ts';
import {
  type Column,
  type Format,
  formatFrom,
  keyColumns,
  print,
  printJson,
  tableLines,
} from './printing.ts';

interface Period {
  readonly interval: Interval;
  readonly span: DaySpan;
  readonly today: Day;
  /** A tariff to compare with. */
  readonly prices: Prices | null;
}

type Row = ReturnType<typeof rowsOf>[number];
type MeterUsage = Awaited<ReturnType<typeof readMeter>>;

export const usage: Command = async (given, io) => {
  const { options } = given;
  const format = formatFrom(options.format, io);
  const wanted = periodOptions(options);
  const prices = pricesFrom(options.tariff);
  const opened = await openAccount(given, io);
  const today = opened.zone.dayAt(io.clock.now());
  const { wasShortened, ...asked } = periodOf(wanted, today);
  const period = { ...asked, today, prices };
  const meters = await ofEachProperty(opened, io, (property) =>
    readMeter(opened, property, period, format, io),
  );
  if (prices?.unitRate === 0)
    io.err('By this tariff a kWh costs nothing. Decimals have a point: 0.124,0.686, not 0,124.\n');
  if (wasShortened) io.err(`Shown until today, ${today}.\n`);
  printUsage(format, meters, { ...period, currency: await findCurrency(opened), zone: opened.zone.name }, io);
  return EXIT.fine;
};

/** How many intervals before the last one, when --from is not given. */
const DEFAULT_LENGTH = { day: 30, week: 12, month: 12, quarter: 8, year: 4 } as const;
/** No meter of this kind is older; a mistyped year would take a thousand requests. */
const EARLIEST = '2000-01-01';
const MOST_OF_A_PRICE = 1_000;

/** The values of --interval, --from and --to. Throws wrong_usage. */
export const periodOptions = (options: Arguments['options']) => ({
  interval: choiceOf('--interval', options.interval ?? 'day', INTERVALS),
  from: dayFrom('--from', options.from),
  to: dayFrom('--to', options.to),
});

/** What is asked for, at most until today. Throws wrong_usage. */
export function periodOf({ interval, from: first, to: until }: ReturnType<typeof periodOptions>, today: Day) {
  const to = until ?? today;
  const last = to > today ? today : to;
  const from = first ?? intervalStart(interval, last, -DEFAULT_LENGTH[interval]);
  if (from > to) throw wrongUsage(`--from ${from} is after --to ${to}.`);
  if (from > today) throw wrongUsage(`--from: found ${from}; allowed: a day not after today, ${today}.`);
  return { interval, span: { from, to: addDays(last, 1) }, wasShortened: to > today };
}

function dayFrom(name: string, option: unknown): Day | undefined {
  if (option === undefined) return undefined;
  const text = String(option);
  const isDay =
    /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text;
  if (isDay && text >= EARLIEST) return text;
  throw wrongOption(name, text, `a day as YYYY-MM-DD, from ${EARLIEST} on`);
}

function pricesFrom(option: unknown): Prices | null {
  if (option === undefined) return null;
  const text = String(option);
  const [, unitRate, standing] = /^ *(\d+(?:\.\d+)?) *, *(\d+(?:\.\d+)?) *$/.exec(text) ?? [];
  if (unitRate && standing && Math.max(Number(unitRate), Number(standing)) <= MOST_OF_A_PRICE)
    return { unitRate: Number(unitRate), standingCharge: toMicro(Number(standing)) };
  const allowed = `the price of a kWh and that of a day, each from 0 to ${MOST_OF_A_PRICE}, such as 0.124,0.686`;
  throw wrongOption('--tariff', text, allowed);
}

/** The properties that the daemon has found; those found now if there are none yet, or if the provider no longer knows them. */
async function ofEachProperty<T>(
  { upstream: { provider, context } }: Opened,
  { interrupted }: Io,
  read: (property: Property) => Promise<T>,
): Promise<T[]> {
  const readAll = async (properties: readonly Property[]) => {
    const all: T[] = [];
    for (const property of properties) all.push(await read(property));
    return all;
  };
  const readFound = async () => readAll((await provider.discover(interrupted)).properties);
  const known = await context.read();
  if (known === null) return readFound();
  return readAll(known.properties).catch((err) => {
    if (err instanceof Failure && err.code === 'provider_refused') return readFound();
    throw err;
  });
}

/** In as many questions as the provider gives answers for, told where these are several. */
async function readMeter(
  opened: Opened,
  property: Property,
  { interval, span, today, prices }: Period,
  format: Format,
  io: Io,
) {
  const { config, upstream, zone } = opened;
  const closing = await findClosing(opened, property, io);
  const { propertyCustomerId } = property;
  const fixed = { propertyCustomerId, zone, readingCloses: closing.closes, signal: io.interrupted };
  const ask = (asked: DaySpan, by: Interval) =>
    upstream.provider.usage({ ...fixed, span: asked, interval: by });
  // A week or month can be moved by a day only when it is made of days, and a tariff counts days.
  const by = closing.closes === 'previous_day' || prices ? 'day' : interval;
  const all: Bucket[] = [];
  const spans = requestSpans(prices ? withCarried(span, today) : span, by);
  for (const [at, asked] of spans.entries()) {
    const progress = `${at + 1} of ${spans.length}: ${asked.from} to ${addDays(asked.to, -1)}`;
    if (spans.length > 1) io.err(`Asking the provider, ${progress}\n`);
    all.push(...(await ask(asked, by)));
  }
  const buckets = prices ? all.filter(({ day }) => day >= span.from && day < span.to) : all;
  const days = format === 'table' && by !== 'day' ? await ask(newestYear(span), 'day') : buckets;
  const meter = seriesName(property);
  return {
    meter,
    friendlyName: friendlyNameOf(config.meters, property, meter),
    closing,
    rows: rowsOf(span, interval, buckets, prices && { prices, days: byDay(all) }),
    tariff: fitTariff(byDay(days)),
    /** In a period that ends today, the newest day that has been read: the days after it are not missing yet. */
    readTo: span.to > today ? (days.at(-1)?.day ?? null) : null,
  };
}

const byDay = (buckets: readonly Bucket[]) => new Map(buckets.map((bucket) => [bucket.day, bucket]));

/** With the days by which gaps at both ends are judged. */
const withCarried = ({ from, to }: DaySpan, today: Day): DaySpan => {
  const [end, tomorrow] = [addDays(to, LONGEST_CARRIED_DAYS), addDays(today, 1)];
  return { from: addDays(from, -LONGEST_CARRIED_DAYS), to: end < tomorrow ? end : tomorrow };
};

/** The provider gives only so many buckets for one request. */
function requestSpans(span: DaySpan, interval: Interval): DaySpan[] {
  const pieces = piecesOf(span, interval);
  const spans: DaySpan[] = [];
  for (let at = 0; at < pieces.length; at += LONGEST_QUESTION_DAYS) {
    const chunk = pieces.slice(at, at + LONGEST_QUESTION_DAYS);
    spans.push({ from: chunk[0]?.from ?? span.from, to: chunk.at(-1)?.to ?? span.to });
  }
  return spans;
}

function newestYear({ from: first, to }: DaySpan): DaySpan {
  const from = addDays(to, -LONGEST_QUESTION_DAYS);
  return { from: from > first ? from : first, to };
}

/** A row for each piece of the period, with or without a reading. */
function rowsOf(
  span: DaySpan,
  interval: Interval,
  buckets: readonly Bucket[],
  tariff: { readonly prices: Prices; readonly days: ReadonlyMap<Day, Bucket> } | null,
) {
  const byStart = new Map<Day, Bucket[]>();
  for (const bucket of buckets) {
    const start = intervalStart(interval, bucket.day);
    byStart.set(start, [...(byStart.get(start) ?? []), bucket]);
  }
  return piecesOf(span, interval).map((piece) => ({
    ...piece,
    ...sumAmounts(byStart.get(piece.start) ?? []),
    costAtTariff: tariff && costAt(tariff.prices, tariff.days, piece),
  }));
}

type Printed = Omit<Period, 'today'> & { readonly currency: string; readonly zone: string };

const totalOf = (rows: readonly Row[]) => ({
  ...sumAmounts(rows),
  costAtTariff: sumKnown(rows.map(({ costAtTariff }) => costAtTariff)),
});

const CSV = ['meter', 'start', 'energy_kwh', 'cost_eur', 'currency', 'from', 'to', 'partial'];

export function printUsage(format: Format, meters: readonly MeterUsage[], period: Printed, io: Io): void {
  const { currency, prices } = period;
  const amounts = ({ energy, cost }: Pick<Row, 'energy' | 'cost'>) => ({
    energy_kwh: knownUnits(energy),
    cost_eur: knownUnits(cost),
    currency,
  });
  const atTariff = (cost: Micro | null) => (prices ? { cost_at_tariff: knownUnits(cost) } : {});
  const records = meters.flatMap(({ meter, closing, rows }) =>
    rows.map((row) => ({
      meter,
      start: row.start,
      ...amounts(row),
      from: row.from,
      to: addDays(row.to, -1),
      partial: row.isPartial,
      reading_closes: closing.closes,
      ...atTariff(row.costAtTariff),
    })),
  );
  if (format === 'json' && prices) {
    const total = totalOf(meters.flatMap(({ rows }) => rows));
    printJson({ rows: records, total: { ...amounts(total), ...atTariff(total.costAtTariff) } }, io);
    return;
  }
  const csv = keyColumns<string>(...CSV, ...(prices ? ['cost_at_tariff'] : []));
  const table = () => meters.flatMap((meter) => meterLines(meter, period, io));
  print(format, { records, csv, table }, io);
}

function meterLines(
  meter: MeterUsage,
  { interval, span, currency, zone, prices }: Printed,
  io: Io,
): string[] {
  const { friendlyName, closing, rows, readTo } = meter;
  const called = friendlyName === null ? `Meter ${meter.meter}` : `${friendlyName} (meter ${meter.meter})`;
  const columns: Column<Row>[] = [
    {
      head: interval === 'week' ? 'week of' : interval,
      value: ({ start, isPartial }) => `${nameOf(start, interval)}${isPartial ? ' *' : ''}`,
    },
    { head: 'kWh', value: ({ energy }) => knownUnits(energy), decimals: 2 },
    { head: currency, value: ({ cost }) => knownUnits(cost), decimals: 2 },
    { head: 'At tariff', value: ({ costAtTariff }) => knownUnits(costAtTariff), decimals: 2 },
  ];
  const { energy, cost, costAtTariff } = totalOf(rows);
  const most = Math.max(0, ...rows.map((row) => row.energy ?? 0));
  const words = closingWords(closing);
  return [
    `${called}, ${span.from} to ${addDays(span.to, -1)}, ${zone}`,
    '',
    ...tableLines(prices ? columns : columns.slice(0, 3), rows, {
      total: ['total', ...[energy, cost, costAtTariff].map(knownUnits)],
      remark: (row, room) => (isAwaited(row, readTo) ? 'no reading yet' : remarkOn(row, most, room)),
      width: io.isTerminal ? io.columns : 0,
    }),
    '',
    ...notes(rows, interval, readTo),
    `${words.charAt(0).toUpperCase()}${words.slice(1)}.`,
    tariffLine(meter.tariff, currency),
    ...(prices
      ? [
          `At tariff: ${pricesInWords(prices, currency)}, for each day with a reading and each that a later one carries.`,
        ]
      : []),
    '',
  ];
}

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
function remarkOn(row: Row, most: Micro, room: number): string {
  if (!isRead(row)) return 'no reading';
  if (row.energy === null || row.energy <= 0 || room < SHORTEST_ROOM) return '';
  const eighths = Math.max(1, Math.round((row.energy / most) * Math.min(room, LONGEST_BAR) * 8));
  return `${'█'.repeat(Math.floor(eighths / 8))}${EIGHTHS[eighths % 8]}`;
}

const isRead = ({ energy, cost }: Row): boolean => energy !== null || cost !== null;
const isAwaited = ({ from }: Row, readTo: Day | null): boolean => readTo !== null && from > readTo;

function notes(rows: readonly Row[], interval: Interval, readTo: Day | null): string[] {
  const lines = rows
    .filter(({ isPartial }) => isPartial)
    .map(({ start, from, to }) => {
      const last = addDays(to, -1);
      const isReadTo = readTo !== null && from <= readTo && readTo < last;
      return `* ${nameOf(start, interval)}: only ${from} to ${isReadTo ? readTo : last}.`;
    });
  const due = rows.filter((row) => !isAwaited(row, readTo));
  const unread = due.filter((row) => !isRead(row)).length;
  if (unread > 0)
    lines.push(`${unread} of ${due.length} ${interval}s without a reading: not known, which is not 0.`);
  return lines;
}

function tariffLine(tariff: Tariff | null, currency: string): string {
  if (tariff === null)
    return 'Tariff (derived): none explains these days; that takes more than a week of differing days.';
  const { daysExplained, daysSeen, from, to } = tariff;
  return `Tariff (derived): ${pricesInWords(tariff, currency)}, explains ${daysExplained} of ${daysSeen} days, ${from} to ${to}.`;
}
