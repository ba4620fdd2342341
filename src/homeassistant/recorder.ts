// The series of a meter in Home Assistant's recorder, how one of them is brought up to date, and the temperatures that are read there.
import { createHash } from 'node:crypto';
import type { Ledger } from '../domain/ledger.ts';
import {
  ledgerRows,
  notStored,
  type Placement,
  rowsToSend,
  type SeriesKind,
  type StatisticsRow,
  withStored,
} from '../domain/statistics.ts';
import type { Clock } from '../foundation/clock.ts';
import { allStoredHours, importStatistics, instant, statisticsMetadata, storedHours } from './commands.ts';
import type { HomeAssistant } from './connection.ts';
import { HomeAssistantTrouble } from './trouble.ts';

export interface Series {
  readonly kind: SeriesKind;
  readonly id: string;
  readonly name: string;
  readonly unit: string;
}

// Home Assistant's database has columns of this width.
const LONGEST_SOURCE = 32;
const LONGEST_NAME = 100;

/**
 * Energy and cost of one of the meters. `all`: every `meter`, since two may differ in what an id cannot hold.
 * `friendlyName`: what a person calls it.
 */
export function seriesOf(
  baseTopic: string,
  { meter, friendlyName, currency }: { meter: string; friendlyName: string | null; currency: string },
  all: readonly string[],
): readonly [energy: Series, cost: Series] {
  const source = slug(baseTopic, LONGEST_SOURCE) || 'heat2mqtt';
  const name = uniqueSlug(meter, all);
  const called = friendlyName ?? `Heat meter ${meter}`;
  const series = (kind: SeriesKind, unit: string): Series => {
    return { kind, id: `${source}:${name}_${kind}`, name: `${called} ${kind}`, unit };
  };
  return [series('energy', 'kWh'), series('cost', currency)];
}

/** Lower-case letters and digits, with single underscores between them. */
function slug(name: string, longest: number): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, '_');
  return plain.replace(/^_/, '').slice(0, longest).replace(/_$/, '');
}

/** The first by name of several meters with the same slug has it plain. */
function uniqueSlug(meter: string, meters: readonly string[]): string {
  const slugOf = (name: string) => slug(name, LONGEST_NAME) || 'meter';
  const [first = meter] = meters.filter((other) => slugOf(other) === slugOf(meter)).sort();
  if (first === meter) return slugOf(meter);
  return `${slugOf(meter)}_${createHash('sha256').update(meter).digest('hex').slice(0, 8)}`;
}

export interface ImportOptions {
  readonly ledger: Ledger;
  readonly placement: Placement;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Compare every row; otherwise those of the newest days, whose sums vouch for the days before them. */
  readonly thorough: boolean;
  /** Send again whatever starts at this instant or later, different or not. */
  readonly from?: number | undefined;
  /** Called before the first batch and after each that has been read back. */
  readonly onProgress: (stored: number, total: number) => void;
}

// Home Assistant takes seconds for this many on a Raspberry Pi; its messages end at 4 MiB, forty times as much.
const BATCH_ROWS = 1_000;
const HOUR_MS = 3_600_000;
const NEWEST_MS = 31 * 24 * HOUR_MS;
const AHEAD_MS = 48 * HOUR_MS;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const LONGEST_STORING_MS = 120_000;
const AMOUNTS = ['state', 'sum'] as const;

/** Resolves to how many rows were sent; all of them have been read back. Rejects with HomeAssistantTrouble. */
export async function bringUpToDate(
  home: HomeAssistant,
  series: Series,
  options: ImportOptions,
): Promise<number> {
  const rows = await rowsThatDiffer(home, series, options);
  if (rows.length > 0) options.onProgress(0, rows.length);
  for (let at = 0; at < rows.length; at += BATCH_ROWS) {
    const batch = rows.slice(at, at + BATCH_ROWS);
    await store(home, series, batch, options);
    options.onProgress(at + batch.length, rows.length);
  }
  return rows.length;
}

/** All rows from the first one on that is to be sent. */
async function rowsThatDiffer(
  home: HomeAssistant,
  { id, kind, name, unit }: Series,
  { ledger, placement, clock, thorough, from }: ImportOptions,
): Promise<readonly StatisticsRow[]> {
  const rows = ledgerRows(ledger, kind, placement);
  const metadata = (await statisticsMetadata(home, [id])).get(id);
  const isDescribed = metadata?.statistics_unit_of_measurement === unit && metadata.name === name;
  if (isDescribed && !thorough && from === undefined) {
    const since = (rows.at(-1)?.start ?? 0) - NEWEST_MS;
    const newest = rows.filter(({ start }) => start >= since);
    const [first] = newest;
    if (first === undefined) return [];
    // Rows further ahead were written by a wrong clock: the thorough look finds them.
    const period = { from: first.start, to: clock.now() + AHEAD_MS };
    const stored = await storedHours(home, id, AMOUNTS, period);
    const different = rowsToSend(withStored(newest, stored, placement.zone), stored);
    // If the first one is right, so is everything before it.
    if (different[0]?.start !== first.start) return different;
  }
  const stored = await allStoredHours(home, id, AMOUNTS);
  const wanted = withStored(rows, stored, placement.zone);
  return isDescribed ? rowsToSend(wanted, stored, from) : wanted;
}

/** A result does not mean stored, because the recorder has a queue: waits until the batch is through it. */
async function store(
  home: HomeAssistant,
  { id, kind, name, unit }: Series,
  batch: readonly StatisticsRow[],
  { clock, signal }: ImportOptions,
): Promise<void> {
  const metadata = {
    // Up to 2025.10 `has_mean` was wanted; from 2026.11 on it may be refused.
    mean_type: 0,
    has_sum: true,
    name,
    // Home Assistant wants what stands before the colon.
    source: id.split(':')[0],
    statistic_id: id,
    // It makes the energy selectable in the Energy dashboard; money has none.
    unit_class: kind === 'energy' ? 'energy' : null,
    unit_of_measurement: unit,
  };
  const stats = batch.map(({ start, state, sum }) => ({ start: instant(start), state, sum }));
  await importStatistics(home, metadata, stats);
  const period = { from: batch[0]?.start ?? 0, to: (batch.at(-1)?.start ?? 0) + HOUR_MS };
  const began = clock.monotonic();
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const stored = await storedHours(home, id, AMOUNTS, period);
    const missing = notStored(batch, stored).length;
    if (missing === 0) return;
    if (clock.monotonic() - began >= LONGEST_STORING_MS)
      throw new HomeAssistantTrouble('not_stored', missing);
    await clock.sleep(wait, signal);
  }
}

const TEMPERATURE_UNITS = ['°C', '°F', 'K'];
/** The statistics hold temperatures. Rejects with HomeAssistantTrouble where they do not. */
export async function checkTemperature(home: HomeAssistant, sensor: string): Promise<void> {
  const metadata = (await statisticsMetadata(home, [sensor])).get(sensor);
  if (!metadata || metadata.has_mean === false) throw new HomeAssistantTrouble('no_temperatures');
  const unit = metadata.statistics_unit_of_measurement;
  if (unit == null || !TEMPERATURE_UNITS.includes(unit)) throw new HomeAssistantTrouble('not_a_temperature');
}

/**
 * Mean temperatures of hours, °C, by the epoch milliseconds at which the hour begins, from `from` until `to`
 * (exclusive, epoch milliseconds). Rejects with HomeAssistantTrouble.
 */
export async function hourlyTemperatures(
  home: HomeAssistant,
  sensor: string,
  from: number,
  to: number,
): Promise<Map<number, number>> {
  const means = new Map<number, number>();
  for (const { start, mean } of await storedHours(home, sensor, ['mean'], { from, to }))
    if (!Number.isNaN(mean)) means.set(start, mean);
  return means;
}
