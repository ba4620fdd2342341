// Every command that Home Assistant is sent, with the shape of its reply. All reject with HomeAssistantTrouble.
import * as z from 'zod';
import { listOf } from '../domain/listOf.ts';
import type { Clock } from '../foundation/clock.ts';
import { type Address, type HomeAssistant, openHomeAssistant } from './connection.ts';
import { HomeAssistantTrouble } from './trouble.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Connects, makes sure that statistics can be written, and ends with the work, whatever comes of it. The work gets the time zone
 * of Home Assistant's days; `null`: it does not say. Rejects also with what the work rejects with.
 */
export async function visitHomeAssistant<T>(
  address: Address,
  clock: Clock,
  work: (home: HomeAssistant, timezone: string | null) => Promise<T>,
  signal = new AbortController().signal,
): Promise<T> {
  const home = await openHomeAssistant(address, clock, signal);
  try {
    const { state, time_zone: timezone } = await home.send({ type: 'get_config' }, configReply);
    if (state !== undefined && state !== 'RUNNING') throw new HomeAssistantTrouble('starting');
    const user = await home.send({ type: 'auth/current_user' }, userReply);
    if (!user.is_admin) throw new HomeAssistantTrouble('not_admin');
    const recorder = await home.send({ type: 'recorder/info' }, recorderReply);
    if (recorder.thread_running === false || recorder.migration_in_progress === true)
      throw new HomeAssistantTrouble('starting');
    return await work(home, timezone ?? null);
  } finally {
    home.close();
  }
}

const configReply = z.object({ state: z.string().optional(), time_zone: z.string().nullish() });
const userReply = z.object({ is_admin: z.boolean() });
const recorderReply = z.object({
  thread_running: z.boolean().nullish(),
  migration_in_progress: z.boolean().nullish(),
});

export const importStatistics = (home: HomeAssistant, metadata: Fields, stats: readonly Fields[]) =>
  home.send({ type: 'recorder/import_statistics', metadata, stats }, z.unknown());

const EARLIEST = Date.UTC(1990, 0, 1);
/** Home Assistant writes years with four digits. */
const LATEST = Date.UTC(9999, 11, 31);
/** October has an hour more than its days. */
const LONGEST_MONTH_MS = 32 * 24 * 3_600_000;
/** An answer has 900 kB for all hours of a year. */
const LONGEST_QUESTION_MS = 366 * 24 * 3_600_000;

type AmountType = 'state' | 'sum' | 'mean';

/** Epoch milliseconds, `to` exclusive. */
interface Period {
  readonly from: number;
  readonly to: number;
}

type StoredRow = z.infer<typeof row>;

/** The hourly rows that are stored, oldest first; a number that is missing is NaN. Times in epoch milliseconds. */
export async function storedHours(
  home: HomeAssistant,
  id: string,
  types: readonly AmountType[],
  { from, to }: Period,
): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  for (let at = from; at < to; at += LONGEST_QUESTION_MS) {
    const end_time = instant(Math.min(at + LONGEST_QUESTION_MS, to));
    rows.push(...(await readRows(home, id, { types, period: 'hour', start_time: instant(at), end_time })));
  }
  return rows;
}

/** `storedHours` of all times: of the months that have rows, which are asked for first. */
export async function allStoredHours(
  home: HomeAssistant,
  id: string,
  types: readonly AmountType[],
): Promise<StoredRow[]> {
  const months = await readRows(home, id, { types, period: 'month', start_time: instant(EARLIEST) });
  const rows: StoredRow[] = [];
  for (const period of inYears(months)) rows.push(...(await storedHours(home, id, types, period)));
  return rows;
}

/** Joins what makes one question together; what lies far apart stays so. */
function inYears(months: readonly StoredRow[]): Period[] {
  const years: Period[] = [];
  for (const { start, end } of months) {
    const last = years.at(-1);
    if (last && end - last.from <= LONGEST_QUESTION_MS) years[years.length - 1] = { ...last, to: end };
    else years.push({ from: start, to: end });
  }
  return years;
}

/** Oldest first. */
async function readRows(home: HomeAssistant, id: string, question: Fields): Promise<StoredRow[]> {
  const command = {
    ...question,
    type: 'recorder/statistics_during_period',
    statistic_ids: [id],
    // Without these it answers in the units that were chosen for the display.
    units: { energy: 'kWh', temperature: '°C' },
  };
  const { [id]: rows = [] } = await home.send(command, z.object({ [id]: listOf(row).optional() }));
  return rows.sort((a, b) => a.start - b.start);
}

const amount = z
  .number()
  .nullish()
  .transform((value) => value ?? Number.NaN);
// What is asked for next begins and ends at such times, and one question is asked for each year between them.
const time = z.number().min(0).max(LATEST);
const row = z
  .object({ start: time, end: time, state: amount, sum: amount, mean: amount })
  .refine(({ start, end }) => start < end && end - start <= LONGEST_MONTH_MS);

/** Home Assistant insists on an offset. Seconds are enough. */
export const instant = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}+00:00`;

/** The metadata of those of these statistics that Home Assistant has, by id. */
export async function statisticsMetadata(home: HomeAssistant, ids: readonly string[]) {
  const command = { type: 'recorder/get_statistics_metadata', statistic_ids: ids };
  const described = await home.send(command, listOf(metadata));
  return new Map(described.map((statistic) => [statistic.statistic_id, statistic]));
}

const metadata = z.object({
  statistic_id: z.string(),
  has_mean: z.boolean().nullish(),
  name: z.string().nullish(),
  statistics_unit_of_measurement: z.string().nullish(),
  unit_class: z.string().nullish(),
});

const fields = z.record(z.string(), z.unknown());
const preferences = z.looseObject({ energy_sources: listOf(fields).readonly() });

/** Home Assistant's own shape. */
export type Preferences = z.infer<typeof preferences>;

/** Without preferences yet there are no sources. */
export const readPreferences = (home: HomeAssistant): Promise<Preferences> =>
  home.send({ type: 'energy/get_prefs' }, preferences).catch((err: unknown) => {
    if (err instanceof HomeAssistantTrouble && err.detail === 'not_found') return { energy_sources: [] };
    throw err;
  });

/** Lists that are not named stay as they are: those of devices. */
export const saveSources = (home: HomeAssistant, energy_sources: readonly Fields[]) =>
  home.send({ type: 'energy/save_prefs', energy_sources }, z.unknown());

// An entry has a kilobyte, and a large home has thousands of entities.
const ENTRIES_AT_ONCE = 200;

/** The entities of MQTT that are not disabled, by unique id: a person may have given them other ids. */
export async function mqttEntities(home: HomeAssistant): Promise<ReadonlyMap<string, string>> {
  // This list is short and leaves out those that are disabled; unique ids are in the entries only.
  const { entities } = await home.send({ type: 'config/entity_registry/list_for_display' }, shortEntries);
  const ids = entities.filter(({ pl }) => pl === 'mqtt').map(({ ei }) => ei);
  const byUniqueId = new Map<string, string>();
  for (let at = 0; at < ids.length; at += ENTRIES_AT_ONCE) {
    const command = {
      type: 'config/entity_registry/get_entries',
      entity_ids: ids.slice(at, at + ENTRIES_AT_ONCE),
    };
    for (const entity of await home.send(command, entries))
      if (entity) byUniqueId.set(String(entity.unique_id), entity.entity_id);
  }
  return byUniqueId;
}

const shortEntries = z.object({
  entities: listOf(z.object({ ei: z.string(), pl: z.string().nullish() })),
});
const entry = z.object({ unique_id: z.union([z.string(), z.number()]), entity_id: z.string() });
/** The keys are entity ids. */
const entries = z.record(z.string(), z.unknown()).transform(Object.values).pipe(listOf(entry.nullable()));

/** The messages below the bell of the sidebar, by id. They stand there until they are dismissed, or a restart. */
export async function standingNotifications(home: HomeAssistant): Promise<ReadonlyMap<string, string>> {
  const notifications = await home.send({ type: 'persistent_notification/get' }, listOf(notification));
  return new Map(notifications.map(({ notification_id, message }) => [notification_id, message]));
}

/** Other integrations may have given theirs no text. */
const notification = z.object({ notification_id: z.string().catch(''), message: z.string().catch('') });

/** `create`: one with the same id takes its place. */
export const callNotification = (home: HomeAssistant, service: 'create' | 'dismiss', service_data: Fields) =>
  home.send({ type: 'call_service', domain: 'persistent_notification', service, service_data }, z.unknown());
