// Home Assistant's recorder: the series of each meter, the commands, and how one series is brought up to date.

import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Ledger } from '../domain/ledger.ts';
import type { Zone } from '../domain/period.ts';
import {
  agree,
  rowsToSend,
  type SeriesKind,
  type StatisticsRow,
  statisticsRows,
} from '../domain/statistics.ts';
import type { Clock } from '../foundation/clock.ts';
import { type HomeAssistant, openHomeAssistant } from './connection.ts';
import { HomeAssistantTrouble } from './trouble.ts';

/** Stands for a missing number, so that the row differs from any that is wanted. */
const NOT_A_NUMBER = Number.NaN;
const EARLIEST = Date.UTC(1990, 0, 1);
const TEMPERATURE_UNITS = ['°C', '°F', 'K'];
/** Some 200 kB in one reply. */
const LONGEST_QUESTION_MS = 90 * 24 * 3_600_000;

/**
 * Connects, makes sure that statistics can be written, and ends with the work, whatever comes of it. Rejects with
 * HomeAssistantTrouble, or with what the work rejects with.
 */
export async function visitHomeAssistant<T>(
  address: { readonly url: string; readonly token: string },
  clock: Clock,
  work: (home: HomeAssistant, readiness: { readonly timezone: string | null }) => Promise<T>,
  signal = new AbortController().signal,
): Promise<T> {
  const home = await openHomeAssistant(address, clock, signal);
  try {
    return await work(home, await checkReadiness(home));
  } finally {
    home.close();
  }
}

async function importRows(
  home: HomeAssistant,
  series: Series,
  rows: readonly StatisticsRow[],
): Promise<void> {
  await home.send({
    type: 'recorder/import_statistics',
    metadata: {
      // Up to 2025.10 `has_mean` was wanted; from 2026.11 on it may be refused.
      mean_type: 0,
      has_sum: true,
      name: series.name,
      source: series.source,
      statistic_id: series.id,
      unit_class: series.unitClass,
      unit_of_measurement: series.unit,
    },
    stats: rows.map(({ start, state, sum }) => ({ start: instant(start), state, sum })),
  });
}

/** The rows that Home Assistant has stored, oldest first; `from` and `to` (exclusive) in epoch milliseconds. */
async function storedRows(
  home: HomeAssistant,
  { id }: Series,
  from = EARLIEST,
  to?: number,
): Promise<StatisticsRow[]> {
  const reply = await home.send({
    type: 'recorder/statistics_during_period',
    start_time: instant(from),
    ...(to === undefined ? {} : { end_time: instant(to) }),
    statistic_ids: [id],
    period: 'hour',
    types: ['state', 'sum'],
    // Without this it answers in the unit that was chosen for the display.
    units: { energy: 'kWh' },
  });
  return (understood(rowsReply, reply)[id] ?? [])
    .map(({ start, state, sum }) => ({ start, state: state ?? NOT_A_NUMBER, sum: sum ?? NOT_A_NUMBER }))
    .sort((a, b) => a.start - b.start);
}

/** The statistics hold temperatures. Rejects with HomeAssistantTrouble where they do not. */
export async function checkTemperature(home: HomeAssistant, sensor: string): Promise<void> {
  const reply = await home.send({ type: 'recorder/get_statistics_metadata', statistic_ids: [sensor] });
  const known = understood(metadataReply, reply).find(({ statistic_id }) => statistic_id === sensor);
  if (!known || known.has_mean === false) throw new HomeAssistantTrouble('no_temperatures');
  const unit = known.statistics_unit_of_measurement;
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
  for (let at = from; at < to; at += LONGEST_QUESTION_MS) {
    const reply = await home.send({
      type: 'recorder/statistics_during_period',
      start_time: instant(at),
      end_time: instant(Math.min(at + LONGEST_QUESTION_MS, to)),
      statistic_ids: [sensor],
      period: 'hour',
      types: ['mean'],
      // The sensor may measure in °F.
      units: { temperature: '°C' },
    });
    for (const { start, mean } of understood(meansReply, reply)[sensor] ?? [])
      if (mean != null) means.set(start, mean);
  }
  return means;
}

/** The series is there, with the name and the unit that it should have. */
async function isDescribed(home: HomeAssistant, { id, name, unit }: Series): Promise<boolean> {
  const reply = await home.send({ type: 'recorder/get_statistics_metadata', statistic_ids: [id] });
  const known = understood(metadataReply, reply).find(({ statistic_id }) => statistic_id === id);
  return known?.statistics_unit_of_measurement === unit && known.name === name;
}

/** What kind of unit each of these statistics has, by id; an id that is not there is unknown. */
export async function unitClasses(
  home: HomeAssistant,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const reply = await home.send({ type: 'recorder/get_statistics_metadata', statistic_ids: ids });
  return new Map(understood(metadataReply, reply).map((one) => [one.statistic_id, one.unit_class ?? null]));
}

/** Rejects when statistics cannot be written now. Resolves to the time zone of its days; `null`: it does not say. */
async function checkReadiness(home: HomeAssistant): Promise<{ readonly timezone: string | null }> {
  const { state, time_zone } = understood(configReply, await home.send({ type: 'get_config' }));
  if (state !== undefined && state !== 'RUNNING') throw new HomeAssistantTrouble('starting');
  const user = understood(userReply, await home.send({ type: 'auth/current_user' }));
  if (!user.is_admin) throw new HomeAssistantTrouble('not_admin');
  const recorder = understood(recorderReply, await home.send({ type: 'recorder/info' }));
  if (recorder.thread_running === false || recorder.migration_in_progress === true) {
    throw new HomeAssistantTrouble('starting');
  }
  return { timezone: time_zone ?? null };
}

/** To the second, with the offset that Home Assistant insists on. */
const instant = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}+00:00`;

const amount = z.number().nullish();
const rowsReply = z.record(z.string(), z.array(z.object({ start: z.number(), state: amount, sum: amount })));
const meansReply = z.record(z.string(), z.array(z.object({ start: z.number(), mean: amount })));
const metadataReply = z.array(
  z.object({
    statistic_id: z.string(),
    has_mean: z.boolean().nullish(),
    name: z.string().nullish(),
    statistics_unit_of_measurement: z.string().nullish(),
    unit_class: z.string().nullish(),
  }),
);
const configReply = z.object({ state: z.string().optional(), time_zone: z.string().nullish() });
const userReply = z.object({ is_admin: z.boolean() });
const recorderReply = z.object({
  thread_running: z.boolean().nullish(),
  migration_in_progress: z.boolean().nullish(),
});

function understood<T>(shape: z.ZodType<T>, reply: unknown): T {
  const parsed = shape.safeParse(reply);
  if (parsed.success) return parsed.data;
  const place = parsed.error.issues[0]?.path.filter((step) => typeof step === 'string').at(-1);
  // Only names from our shapes: a path may also lead through keys of the reply.
  const isOurs = typeof place === 'string' && /^(start|state|sum|mean|is_admin|name|time_zone)$/.test(place);
  throw new HomeAssistantTrouble('strange', isOurs ? `about ${place}` : 'of another shape');
}

export interface Series {
  readonly kind: SeriesKind;
  readonly id: string;
  /** Home Assistant wants it equal to what stands before the colon of the id. */
  readonly source: string;
  readonly name: string;
  readonly unit: string;
  /** What makes the energy selectable in the Energy dashboard; money has none. */
  readonly unitClass: 'energy' | null;
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
): readonly Series[] {
  const source = slug(baseTopic, LONGEST_SOURCE) || 'heat2mqtt';
  const name = uniqueSlug(meter, all);
  const called = friendlyName ?? `Heat meter ${meter}`;
  return [
    {
      kind: 'energy',
      id: `${source}:${name}_energy`,
      source,
      name: `${called} energy`,
      unit: 'kWh',
      unitClass: 'energy',
    },
    {
      kind: 'cost',
      id: `${source}:${name}_cost`,
      source,
      name: `${called} cost`,
      unit: currency,
      unitClass: null,
    },
  ];
}

/** Lower-case letters and digits, with single underscores between them. */
function slug(name: string, longest: number): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, '_');
  return plain.replace(/^_/, '').slice(0, longest).replace(/_$/, '');
}

/** Where several meters have the same slug, the first by name has it plain. */
function uniqueSlug(meter: string, all: readonly string[]): string {
  const plain = slug(meter, LONGEST_NAME) || 'meter';
  const rivals = all.filter((other) => (slug(other, LONGEST_NAME) || 'meter') === plain).sort();
  if (rivals.length === 0 || rivals[0] === meter) return plain;
  return `${plain}_${createHash('sha256').update(meter).digest('hex').slice(0, 8)}`;
}

export interface ImportOptions {
  readonly ledger: Ledger;
  readonly zone: Zone;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Compare every row; otherwise the newest ones, whose sums vouch for those before them. */
  readonly thorough: boolean;
  /** Send again whatever starts at this instant or later, different or not. */
  readonly from?: number | undefined;
  /** Called before the first batch and after each that has been read back. */
  readonly onProgress: (stored: number, total: number) => void;
}

const NEWEST_ROWS = 62;
// Home Assistant takes seconds for this many on a Raspberry Pi; its messages end at 4 MiB, forty times as much.
const BATCH_ROWS = 1_000;
const HOUR_MS = 3_600_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const LONGEST_STORING_MS = 120_000;

/** Resolves to how many rows were sent; all of them have been read back. Rejects with HomeAssistantTrouble. */
export async function bringUpToDate(
  home: HomeAssistant,
  series: Series,
  options: ImportOptions,
): Promise<number> {
  const { ledger, zone } = options;
  const isWell = await isDescribed(home, series);
  if (isWell && !options.thorough && options.from === undefined) {
    const newest = statisticsRows(ledger, series.kind, zone).slice(-NEWEST_ROWS);
    const [first] = newest;
    if (!first || agree(newest, await storedRows(home, series, first.start))) return 0;
  }
  const stored = await storedRows(home, series);
  const wanted = statisticsRows(ledger, series.kind, zone, stored);
  const rows = isWell ? rowsToSend(wanted, stored, options.from) : wanted;
  if (rows.length > 0) await send(home, series, rows, options);
  return rows.length;
}

async function send(
  home: HomeAssistant,
  series: Series,
  rows: readonly StatisticsRow[],
  { clock, signal, onProgress }: ImportOptions,
): Promise<void> {
  onProgress(0, rows.length);
  for (let at = 0; at < rows.length; at += BATCH_ROWS) {
    const batch = rows.slice(at, at + BATCH_ROWS);
    await importRows(home, series, batch);
    await readBack(home, series, batch, clock, signal);
    onProgress(at + batch.length, rows.length);
  }
}

/** A result does not mean stored, because the recorder has a queue: waits until the batch is through it. */
async function readBack(
  home: HomeAssistant,
  series: Series,
  batch: readonly StatisticsRow[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const from = batch[0]?.start ?? 0;
  const to = (batch.at(-1)?.start ?? 0) + HOUR_MS;
  const began = clock.monotonic();
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const stored = await storedRows(home, series, from, to);
    if (agree(batch, stored)) return;
    if (clock.monotonic() - began >= LONGEST_STORING_MS) {
      const missing = batch.filter((row) => rowsToSend([row], stored).length > 0).length;
      throw new HomeAssistantTrouble('not_stored', missing);
    }
    await clock.sleep(wait, signal);
    if (signal.aborted) throw new HomeAssistantTrouble('cut');
  }
}
