// Every command that Home Assistant is sent, with the shape of its reply. All reject with HomeAssistantTrouble.
import * as z from 'zod';
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

/** The hourly rows that are stored, oldest first; a number that is missing is NaN. Times in epoch milliseconds, `to` exclusive. */
export async function storedHours(
  home: HomeAssistant,
  id: string,
  types: readonly ('state' | 'sum' | 'mean')[],
  { from = EARLIEST, to }: { readonly from?: number; readonly to?: number } = {},
): Promise<z.infer<typeof hour>[]> {
  const question = {
    type: 'recorder/statistics_during_period',
    start_time: instant(from),
    ...(to === undefined ? {} : { end_time: instant(to) }),
    statistic_ids: [id],
    period: 'hour',
    types,
    // Without these it answers in the units that were chosen for the display.
    units: { energy: 'kWh', temperature: '°C' },
  };
  const reply = await home.send(question, z.record(z.string(), z.array(hour)));
  return (reply[id] ?? []).sort((a, b) => a.start - b.start);
}

const amount = z
  .number()
  .nullish()
  .transform((value) => value ?? Number.NaN);
const hour = z.object({ start: z.number(), state: amount, sum: amount, mean: amount });

/** To the second, with the offset that Home Assistant insists on. */
export const instant = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}+00:00`;

/** What is known of each of these statistics, by id. */
export async function statisticsMetadata(home: HomeAssistant, ids: readonly string[]) {
  const all = await home.send(
    { type: 'recorder/get_statistics_metadata', statistic_ids: ids },
    z.array(metadata),
  );
  return new Map(all.map((one) => [one.statistic_id, one]));
}

const metadata = z.object({
  statistic_id: z.string(),
  has_mean: z.boolean().nullish(),
  name: z.string().nullish(),
  statistics_unit_of_measurement: z.string().nullish(),
  unit_class: z.string().nullish(),
});

const fields = z.record(z.string(), z.unknown());
const preferences = z.looseObject({ energy_sources: z.array(fields).readonly() });

/** Home Assistant's own shape. */
export type Preferences = z.infer<typeof preferences>;

/** Without preferences yet there are no sources. */
export const readPreferences = (home: HomeAssistant): Promise<Preferences> =>
  home.send({ type: 'energy/get_prefs' }, preferences).catch((err: unknown) => {
    if (err instanceof HomeAssistantTrouble && err.detail === 'not_found') return { energy_sources: [] };
    throw err;
  });

/** What is not named stays as it is: the lists of devices. */
export const saveSources = (home: HomeAssistant, energy_sources: readonly Fields[]) =>
  home.send({ type: 'energy/save_prefs', energy_sources }, z.unknown());

/** The entities of MQTT that are not disabled, by unique id: a person may have given them other ids. */
export async function mqttEntities(home: HomeAssistant): Promise<ReadonlyMap<string, string>> {
  const entries = await home.send({ type: 'config/entity_registry/list' }, z.array(fields));
  const ours = entries.filter(({ platform, disabled_by: disabled }) => platform === 'mqtt' && !disabled);
  return new Map(ours.map(({ unique_id, entity_id }) => [String(unique_id), String(entity_id)]));
}

/** The messages below the bell of the sidebar, by id. They stand there until they are dismissed, or a restart. */
export async function standingNotifications(home: HomeAssistant): Promise<ReadonlyMap<string, string>> {
  const all = await home.send({ type: 'persistent_notification/get' }, z.array(fields));
  return new Map(all.map(({ notification_id, message }) => [String(notification_id), String(message)]));
}

/** `create`: one with the same id takes its place. */
export const callNotification = (home: HomeAssistant, service: 'create' | 'dismiss', service_data: Fields) =>
  home.send({ type: 'call_service', domain: 'persistent_notification', service, service_data }, z.unknown());
