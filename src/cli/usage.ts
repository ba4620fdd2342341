// heat2mqtt usage: asks the provider for a period, in the interval wanted, and prints it.
import type { Upstream } from '../daemon/accounts/upstream.ts';
import { sumKnown } from '../domain/amount.ts';
import { type Interval, intervalStart, piecesOf } from '../domain/interval.ts';
import { LONGEST_QUESTION_DAYS } from '../domain/ledger.ts';
import { addDays, type DaySpan, zone as zoneOf } from '../domain/period.ts';
import { type Bucket, type Property, seriesName } from '../domain/reading.ts';
import { fitTariff, type Tariff } from '../domain/tariff/tariff.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { findCurrency, pickAccount } from './accounts.ts';
import { openReadOnlyUpstream } from './borrow.ts';
import type { Command } from './command.ts';
import type { Io } from './io.ts';
import { formatFrom } from './printing.ts';
import { loadSettings } from './settings.ts';
import { type Period, periodOf, wishFrom } from './usagePeriod.ts';
import { type MeterUsage, printRecords, printTable, type UsageRow } from './usagePrinting.ts';

export const usage: Command = async ({ options }, io) => {
  const format = formatFrom(options.format, io);
  const wish = wishFrom(options);
  const settings = await loadSettings({ options, words: [] }, io);
  const zone = zoneOf(settings.config.usage.timezone);
  const period = periodOf(wish, zone.dayAt(Date.now()));
  const upstream = await openReadOnlyUpstream(settings, pickAccount(settings, options.account), io);
  const ask: AskDays = (property, span, interval) =>
    upstream.client.usage({
      propertyCustomerId: property.propertyCustomerId,
      span,
      interval,
      zone,
      readingCloses: settings.config.usage.reading_closes,
      signal: io.interrupted,
    });
  // A week or month can be moved by a day only when it is made of days.
  const isMoved = settings.config.usage.reading_closes === 'previous_day';
  const asked = isMoved ? 'day' : period.interval;
  const meters = await ofEachProperty(upstream, io, async (property): Promise<MeterUsage> => {
    const buckets = await askInTurn(ask, property, questions(period, asked), asked, io);
    const days =
      format === 'table' && asked !== 'day' ? await ask(property, newestYear(period), 'day') : buckets;
    return { meter: seriesName(property), rows: toRows(period, buckets), tariff: tariffOf(days) };
  });
  if (period.wasShortened) io.err(`Shown until today, ${addDays(period.span.to, -1)}.\n`);
  const words = { period, currency: await findCurrency(settings, upstream), timezone: zone.name };
  if (format === 'table') for (const meter of meters) printTable(meter, words, io);
  else printRecords(format, meters, words, io);
  return EXIT.fine;
};

type AskDays = (property: Property, span: DaySpan, interval: Interval) => Promise<Bucket[]>;

/** The properties that the daemon has found; or those found now, when it has not, or the provider knows them no more. */
async function ofEachProperty<T>(
  { client, context, identity }: Upstream,
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
  return visitAll((await client.discover(await identity(), io.interrupted)).properties);
}

/** The provider gives so many buckets for one question. */
function questions({ span }: Period, interval: Interval): DaySpan[] {
  const pieces = piecesOf(span, interval);
  const asked: DaySpan[] = [];
  for (let at = 0; at < pieces.length; at += LONGEST_QUESTION_DAYS) {
    const chunk = pieces.slice(at, at + LONGEST_QUESTION_DAYS);
    asked.push({ from: chunk[0]?.from ?? span.from, to: chunk.at(-1)?.to ?? span.to });
  }
  return asked;
}

async function askInTurn(
  ask: AskDays,
  property: Property,
  spans: readonly DaySpan[],
  interval: Interval,
  io: Io,
): Promise<Bucket[]> {
  const found: Bucket[] = [];
  for (const [at, span] of spans.entries()) {
    if (spans.length > 1) {
      io.err(`Asking the provider, ${at + 1} of ${spans.length}: ${span.from} to ${addDays(span.to, -1)}\n`);
    }
    found.push(...(await ask(property, span, interval)));
  }
  return found;
}

function newestYear({ span }: Period): DaySpan {
  const from = addDays(span.to, -LONGEST_QUESTION_DAYS);
  return { from: from > span.from ? from : span.from, to: span.to };
}

const tariffOf = (days: readonly Bucket[]): Tariff | null =>
  fitTariff(new Map(days.map((bucket) => [bucket.day, bucket])));

/** A row for each piece of the period, with or without a reading. */
function toRows({ span, interval }: Period, buckets: readonly Bucket[]): UsageRow[] {
  const byStart = new Map<string, Bucket[]>();
  for (const bucket of buckets) {
    const start = intervalStart(interval, bucket.day);
    byStart.set(start, [...(byStart.get(start) ?? []), bucket]);
  }
  return piecesOf(span, interval).map((piece) => {
    const within = byStart.get(piece.start) ?? [];
    return {
      ...piece,
      energy: sumKnown(within.map(({ energy }) => energy)),
      cost: sumKnown(within.map(({ cost }) => cost)),
    };
  });
}
