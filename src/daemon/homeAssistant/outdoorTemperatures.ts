// Daily means of the outdoor temperature: read from Home Assistant now and then, and kept on disk.
import type { AccountContext } from '../../accounts/context.ts';
import type { Temperatures, Weather } from '../../domain/insight/weather.ts';
import { meanOf } from '../../domain/leastSquares.ts';
import { compareText } from '../../domain/order.ts';
import { addDays, type Day, isSameZone, type Zone } from '../../domain/period.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { checkTemperature, hourlyTemperatures } from '../../homeassistant/recorder.ts';
import { type HomeAssistantTrouble, ofOneQuestion } from '../../homeassistant/trouble.ts';
import { temperaturesCodec } from '../../store/documents.ts';
import { owned } from '../../store/stateStore.ts';

const ASK_EVERY_MS = 3 * 3_600_000;
const LONGEST_HISTORY_DAYS = 3 * 365 + 1;
/** The newest ones may not have been over when they were read. */
const READ_AGAIN_DAYS = 3;
/** A day with fewer has no mean: it is not over yet, or the sensor was away. */
const FEWEST_HOURS = 20;
/** °C. No place on earth is colder or warmer: the sensor is wrong. */
const PLAUSIBLE = { from: -60, to: 60 };

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
  const stateDocument = state.document('outdoor-temperatures', temperaturesCodec);
  const document = owned(stateDocument, `${sensor} ${zone.name}`, (owner) => {
    const [ofSensor, ofZone = ''] = owner.split(' ');
    return ofSensor === sensor && isSameZone(ofZone, zone.name);
  });
  const stored = sensor === undefined ? null : await document.read();
  /** The first day that was asked for. */
  let knownFrom = stored?.from ?? null;
  /** Its map has the order of the days. */
  let weather: Weather = { temperatures: new Map(stored?.days), base };
  let askedAt = Number.NEGATIVE_INFINITY;
  let fault: HomeAssistantTrouble | null = null;

  /** Resolves to whether anything has changed. */
  async function read(home: HomeAssistant, sensor: string, since: Day): Promise<boolean> {
    const { temperatures } = weather;
    const today = zone.dayAt(clock.now());
    const earliest = addDays(today, -LONGEST_HISTORY_DAYS);
    const first = since > earliest ? since : earliest;
    const begin = knownFrom === null || knownFrom > first ? first : knownFrom;
    const isLongEnough = begin === knownFrom;
    const newest = isLongEnough ? [...temperatures.keys()].at(-1) : undefined;
    const from = newest === undefined ? first : addDays(newest < today ? newest : today, 1 - READ_AGAIN_DAYS);
    await checkTemperature(home, sensor);
    const until = zone.startOf(addDays(today, 1));
    const means = dailyMeans(await hourlyTemperatures(home, sensor, zone.startOf(from), until), zone);
    const isNew = [...means].some(([day, mean]) => temperatures.get(day) !== mean);
    if (!isNew && isLongEnough) return false;
    const days = [...new Map([...temperatures, ...means])].sort(([a], [b]) => compareText(a, b));
    if (isNew) weather = { temperatures: new Map(days), base };
    knownFrom = begin;
    await document.write({ from: begin, days });
    return isNew;
  }

  return {
    /** The same object until something else is known; `null`: not configured, or nothing known. */
    get weather(): Weather | null {
      return weather.temperatures.size === 0 ? null : weather;
    },
    /** The reason why temperatures cannot be read, though Home Assistant answers. */
    get fault(): HomeAssistantTrouble | null {
      return fault;
    },
    /**
     * Asks for what is missing since the day, unless that was done lately. Resolves to whether anything has changed.
     * Rejects with HomeAssistantTrouble that concerns everything.
     */
    async update(home: HomeAssistant, since: Day): Promise<boolean> {
      if (sensor === undefined || clock.monotonic() - askedAt < ASK_EVERY_MS) return false;
      try {
        const isNew = await read(home, sensor, since);
        if (fault !== null) log.info('outdoor temperatures can be read again');
        fault = null;
        askedAt = clock.monotonic();
        return isNew;
      } catch (err) {
        const trouble = ofOneQuestion(err);
        if (trouble.message !== fault?.message)
          log.warn(safeWords(trouble), 'outdoor temperatures cannot be read');
        fault = trouble;
        return false;
      }
    },
  };
}

/** Means of local days, °C to two decimals, oldest first; `hours`: means in °C by the epoch milliseconds of their beginning. */
export function dailyMeans(hours: ReadonlyMap<number, number>, zone: Zone): Temperatures {
  const days = new Map<Day, number[]>();
  for (const [start, mean] of [...hours].sort(([a], [b]) => a - b)) {
    if (!(mean >= PLAUSIBLE.from && mean <= PLAUSIBLE.to)) continue;
    const day = zone.dayAt(start);
    days.set(day, [...(days.get(day) ?? []), mean]);
  }
  const whole = [...days].filter(([, means]) => means.length >= FEWEST_HOURS);
  return new Map(whole.map(([day, means]) => [day, Math.round(100 * meanOf(means, (mean) => mean)) / 100]));
}
