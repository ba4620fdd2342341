// Daily means of the outdoor temperature: read from Home Assistant now and then, and kept on disk.
import type { AccountContext } from '../../accounts/context.ts';
import { dailyMeans, type Temperatures, type Weather } from '../../domain/insight/weather.ts';
import { compareText } from '../../domain/order.ts';
import { addDays, type Day } from '../../domain/period.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { checkTemperature, hourlyTemperatures } from '../../homeassistant/recorder.ts';
import { HomeAssistantTrouble, type TroubleKind } from '../../homeassistant/trouble.ts';
import { temperaturesCodec } from '../../store/documents.ts';
import { owned } from '../../store/stateStore.ts';

const ASK_EVERY_MS = 3 * 3_600_000;
const LONGEST_HISTORY_DAYS = 3 * 365 + 1;
/** The newest ones may not have been over when they were read. */
const READ_AGAIN_DAYS = 3;
/** Trouble that the temperatures have alone. */
const OWN: readonly TroubleKind[] = ['no_temperatures', 'not_a_temperature', 'refused', 'strange'];

export type OutdoorTemperatures = Awaited<ReturnType<typeof openOutdoorTemperatures>>;

/** The context is not complete without this one. */
export async function openOutdoorTemperatures({
  config,
  clock,
  zone,
  log,
  state,
}: Pick<AccountContext, 'config' | 'clock' | 'zone' | 'log' | 'state'>) {
  const { outdoor_temperature: sensor, degree_day_base: base = null } = config.home_assistant ?? {};
  const document = owned(state.document('outdoor-temperatures', temperaturesCodec), `${sensor} ${zone.name}`);
  /** `from`: the first day that was asked for. */
  let known: { readonly from: Day; readonly days: Temperatures } | null = null;
  let weather: Weather | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  let fault: HomeAssistantTrouble | null = null;
  const stored = sensor === undefined ? null : await document.read();
  if (stored !== null) know(stored.from, new Map(stored.days));

  function know(from: Day, days: Temperatures): void {
    const inOrder = new Map([...days].sort(([a], [b]) => compareText(a, b)));
    known = { from, days: inOrder };
    weather = days.size === 0 ? null : { temperatures: inOrder, base };
  }

  /** Resolves to whether anything has changed. */
  async function read(home: HomeAssistant, sensor: string, since: Day): Promise<boolean> {
    const before = known;
    const today = zone.dayAt(clock.now());
    const earliest = addDays(today, -LONGEST_HISTORY_DAYS);
    const first = since > earliest ? since : earliest;
    const isLongEnough = before !== null && before.from <= first;
    const newest = isLongEnough ? [...before.days.keys()].at(-1) : undefined;
    const from = newest === undefined ? first : addDays(newest < today ? newest : today, 1 - READ_AGAIN_DAYS);
    await checkTemperature(home, sensor);
    const until = zone.startOf(addDays(today, 1));
    const found = dailyMeans(await hourlyTemperatures(home, sensor, zone.startOf(from), until), zone);
    const days = new Map([...(before?.days ?? []), ...found]);
    const isSame =
      days.size === before?.days.size && [...found].every(([day, mean]) => before.days.get(day) === mean);
    if (isSame && isLongEnough) return false;
    const earliestAsked = isLongEnough ? before.from : first;
    know(earliestAsked, days);
    await document.write({ from: earliestAsked, days: [...(weather?.temperatures ?? [])] });
    return !isSame;
  }

  return {
    /** The same object until something else is known; `null`: not configured, or nothing known. */
    get weather(): Weather | null {
      return weather;
    },
    /** What keeps the temperatures from being read, though Home Assistant answers. */
    get fault(): HomeAssistantTrouble | null {
      return fault;
    },
    /**
     * Asks for what is missing since the day, unless that was done lately. Resolves to whether anything has changed.
     * Rejects with HomeAssistantTrouble that concerns everything.
     */
    async update(home: HomeAssistant, since: Day): Promise<boolean> {
      if (sensor === undefined || clock.monotonic() - askedAt < ASK_EVERY_MS) return false;
      const before = fault;
      try {
        const isNew = await read(home, sensor, since);
        fault = null;
        askedAt = clock.monotonic();
        if (before !== null) log.info('outdoor temperatures can be read again');
        return isNew;
      } catch (err) {
        if (!(err instanceof HomeAssistantTrouble) || !OWN.includes(err.kind)) throw err;
        fault = err;
        if (err.message !== before?.message) log.warn(safeWords(err), 'outdoor temperatures cannot be read');
        return false;
      }
    },
  };
}
