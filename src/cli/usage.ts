// heat2mqtt usage: asks the provider for a period, in the interval that was asked for, and prints it.
import { friendlyNameOf } from '../accounts/friendlyNames.ts';
import type { Upstream } from '../accounts/upstream.ts';
import { toMicro } from '../domain/amount.ts';
import { costAt, type Prices } from '../domain/insight/anotherTariff.ts';
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
  zone as zoneOf,
} from '../domain/period.ts';
import { type Bucket, type Property, seriesName } from '../domain/reading.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { fitTariff } from '../domain/tariff/tariff.ts';
import { sumAmounts } from '../domain/totals.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { type Arguments, type Command, choiceOf, type Io, wrongOption, wrongUsage } from './command.ts';
import { formatFrom } from './printing.ts';
import { findClosing } from './readingCloses.ts';
import { findCurrency, loadWithAccount, openUpstreamBeside, pickAccount } from './upstream.ts';
import { type MeterUsage, printUsage, type UsageRow } from './usageTable.ts';

export const usage: Command = async ({ options }, io) => {
  const format = formatFrom(options.format, io);
  const wanted = periodOptions(options);
  const prices = pricesFrom(options.tariff);
  const settings = await loadWithAccount({ options, words: [] }, io);
  const zone = zoneOf(settings.config.usage.timezone);
  const today = zone.dayAt(Date.now());
  const { interval, span, wasShortened } = periodOf(wanted, today);
  const account = pickAccount(settings, options.account);
  const upstream = await openUpstreamBeside(settings, account, io);
  const ask = ({ propertyCustomerId }: Property, closes: ReadingCloses, asked: DaySpan, by: Interval) => {
    const signal = io.interrupted;
    const question = { propertyCustomerId, span: asked, interval: by, zone, readingCloses: closes, signal };
    return upstream.provider.usage(question);
  };
  const meters = await ofEachProperty(upstream, io, async (property): Promise<MeterUsage> => {
    const closing = await findClosing(settings, upstream, { account: account.id, property, zone });
    const { closes } = closing;
    // A week or month can be moved by a day only when it is made of days, and a tariff counts days.
    const by = closes === 'previous_day' || prices ? 'day' : interval;
    const all: Bucket[] = [];
    const spans = requestSpans(prices ? withCarried(span, today) : span, by);
    for (const [at, asked] of spans.entries()) {
      const progress = `${at + 1} of ${spans.length}: ${asked.from} to ${addDays(asked.to, -1)}`;
      if (spans.length > 1) io.err(`Asking the provider, ${progress}\n`);
      all.push(...(await ask(property, closes, asked, by)));
    }
    const isAsked = (day: Day) => !prices || (day >= span.from && day < span.to);
    const buckets = all.filter(({ day }) => isAsked(day));
    const byDay = new Map(all.map((bucket) => [bucket.day, bucket]));
    const needsDays = format === 'table' && by !== 'day';
    const days = needsDays ? await ask(property, closes, newestYear(span), 'day') : buckets;
    const tariff = fitTariff(new Map(days.map((bucket) => [bucket.day, bucket])));
    const friendlyName = friendlyNameOf(settings.config.meters, property, seriesName(property));
    return {
      meter: seriesName(property),
      friendlyName,
      closing,
      rows: toRows(span, interval, buckets).map((row) => ({
        ...row,
        costAtTariff: prices && costAt(prices, byDay, row),
      })),
      tariff,
      readTo: span.to > today ? (days.at(-1)?.day ?? null) : null,
    };
  });
  if (prices?.unitRate === 0)
    io.err('By this tariff a kWh costs nothing. Decimals have a point: 0.124,0.686, not 0,124.\n');
  if (wasShortened) io.err(`Shown until today, ${addDays(span.to, -1)}.\n`);
  const currency = await findCurrency(settings, upstream);
  printUsage(format, meters, { interval, span, currency, timezone: zone.name, prices }, io);
  return EXIT.fine;
};

/** How many intervals before the last one, when --from is not given. */
const DEFAULT_LENGTH = { day: 30, week: 12, month: 12, quarter: 8, year: 4 } as const;
/** No meter of this kind is older; a mistyped year would take a thousand requests. */
const EARLIEST = '2000-01-01';

/** The values of --interval, --from and --to. Throws wrong_usage. */
export const periodOptions = (options: Arguments['options']) => ({
  interval: choiceOf('--interval', options.interval ?? 'day', INTERVALS),
  from: dayFrom('--from', options.from),
  to: dayFrom('--to', options.to),
});

/** What is asked for, at most until today. Throws wrong_usage. */
export function periodOf(
  { interval, from: first, to: until }: ReturnType<typeof periodOptions>,
  today: Day,
): { interval: Interval; span: DaySpan; wasShortened: boolean } {
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

const MOST_OF_A_PRICE = 1_000;

function pricesFrom(option: unknown): Prices | null {
  if (option === undefined) return null;
  const text = String(option);
  const [unitRate, standing, ...others] = text
    .split(',')
    .map((part) => (/^\d+(\.\d+)?$/.test(part.trim()) ? Number(part) : Number.POSITIVE_INFINITY));
  if (unitRate === undefined || standing === undefined || others.length > 0) throw wrongTariff(text);
  if (Math.max(unitRate, standing) > MOST_OF_A_PRICE) throw wrongTariff(text);
  return { unitRate, standingCharge: toMicro(standing) };
}

const wrongTariff = (text: string) =>
  wrongOption(
    '--tariff',
    text,
    `the price of a kWh and that of a day, each from 0 to ${MOST_OF_A_PRICE}, such as 0.124,0.686`,
  );

/** With the days by which gaps at both ends are judged. */
const withCarried = ({ from, to }: DaySpan, today: Day): DaySpan => {
  const [end, tomorrow] = [addDays(to, LONGEST_CARRIED_DAYS), addDays(today, 1)];
  return { from: addDays(from, -LONGEST_CARRIED_DAYS), to: end < tomorrow ? end : tomorrow };
};

/** The properties that the daemon has found; those found now if there are none yet, or if the provider no longer knows them. */
async function ofEachProperty<T>(
  { provider, context }: Upstream,
  io: Io,
  visit: (property: Property) => Promise<T>,
): Promise<T[]> {
  const visitAll = async (properties: readonly Property[]) => {
    const visited: T[] = [];
    for (const property of properties) visited.push(await visit(property));
    return visited;
  };
  const known = await context.read();
  if (known) {
    const visited = await visitAll(known.properties).catch((err) => {
      if (err instanceof Failure && err.code === 'provider_refused') return null;
      throw err;
    });
    if (visited) return visited;
  }
  return visitAll((await provider.discover(io.interrupted)).properties);
}

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
function toRows(
  span: DaySpan,
  interval: Interval,
  buckets: readonly Bucket[],
): Omit<UsageRow, 'costAtTariff'>[] {
  const byStart = new Map<string, Bucket[]>();
  for (const bucket of buckets) {
    const start = intervalStart(interval, bucket.day);
    byStart.set(start, [...(byStart.get(start) ?? []), bucket]);
  }
  return piecesOf(span, interval).map((piece) => {
    const within = byStart.get(piece.start) ?? [];
    return { ...piece, ...sumAmounts(within) };
  });
}
