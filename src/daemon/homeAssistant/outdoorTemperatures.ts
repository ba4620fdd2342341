// Daily means of the outdoor temperature: read from Home Assistant now and then, and kept on disk.
import type { Config } from '../../config/schema.ts';
import { dailyMeans } from '../../domain/insight/dailyMeans.ts';
import type { Temperatures, Weather } from '../../domain/insight/degreeDays.ts';
import { compareText } from '../../domain/order.ts';
import { addDays, type Day, type Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { checkTemperature, hourlyTemperatures } from '../../homeassistant/recorder.ts';
import { HomeAssistantTrouble, type TroubleKind } from '../../homeassistant/trouble.ts';
import { temperaturesCodec } from '../../store/documents.ts';
import { type Document, owned, type StateStore } from '../../store/stateStore.ts';

/** A part of the context, which is not complete without this one. */
interface Needs {
  readonly config: Config;
  readonly clock: Clock;
  readonly zone: Zone;
  readonly log: Log;
  readonly state: StateStore;
}

interface Known {
  /** The first day that was asked for. */
  readonly from: Day;
  readonly days: Temperatures;
}

const ASK_EVERY_MS = 3 * 3_600_000;
const LONGEST_HISTORY_DAYS = 3 * 365 + 1;
/** The newest ones may not have been over when they were read. */
const READ_AGAIN_DAYS = 3;
/** Trouble that the temperatures have alone. */
const OWN: readonly TroubleKind[] = ['no_temperatures', 'not_a_temperature', 'refused', 'strange'];

export class OutdoorTemperatures {
  readonly #needs: Needs;
  readonly #document: Document<{ from: Day; days: [Day, number][] }>;
  readonly #section: { readonly sensor: string; readonly base: number | null } | null;
  #known: Known | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #weather: Weather | null = null;
  #fault: HomeAssistantTrouble | null = null;

  static async open(needs: Needs): Promise<OutdoorTemperatures> {
    const opened = new OutdoorTemperatures(needs);
    const stored = opened.#section === null ? null : await opened.#document.read();
    if (stored !== null) opened.#know({ from: stored.from, days: new Map(stored.days) });
    return opened;
  }

  private constructor(needs: Needs) {
    const { outdoor_temperature: sensor, degree_day_base: base = null } = needs.config.home_assistant ?? {};
    const document = needs.state.document('outdoor-temperatures', temperaturesCodec);
    this.#section = sensor === undefined ? null : { sensor, base };
    this.#document = owned(document, `${sensor} ${needs.zone.name}`);
    this.#needs = needs;
  }

  /** The same object until something else is known; `null`: not configured, or nothing known. */
  get weather(): Weather | null {
    return this.#weather;
  }

  /** What keeps the temperatures from being read, though Home Assistant answers. */
  get fault(): HomeAssistantTrouble | null {
    return this.#fault;
  }

  /**
   * Asks for what is missing since the day, unless that was done lately. Resolves to whether anything has changed.
   * Rejects with HomeAssistantTrouble that concerns everything.
   */
  async update(home: HomeAssistant, since: Day): Promise<boolean> {
    const { clock, log } = this.#needs;
    if (this.#section === null || clock.monotonic() - this.#askedAt < ASK_EVERY_MS) return false;
    const before = this.#fault;
    try {
      const isNew = await this.#read(home, this.#section.sensor, since);
      this.#fault = null;
      this.#askedAt = clock.monotonic();
      if (before !== null) log.info('outdoor temperatures can be read again');
      return isNew;
    } catch (err) {
      if (!(err instanceof HomeAssistantTrouble) || !OWN.includes(err.kind)) throw err;
      this.#fault = err;
      if (err.message !== before?.message) log.warn(safeWords(err), 'outdoor temperatures cannot be read');
      return false;
    }
  }

  async #read(home: HomeAssistant, sensor: string, since: Day): Promise<boolean> {
    const { clock, zone, log } = this.#needs;
    const today = zone.dayAt(clock.now());
    const earliest = addDays(today, -LONGEST_HISTORY_DAYS);
    const first = since > earliest ? since : earliest;
    const known = this.#known !== null && this.#known.from <= first ? this.#known : null;
    const newest = [...(known?.days.keys() ?? [])].at(-1);
    const from = newest === undefined ? first : addDays(newest < today ? newest : today, 1 - READ_AGAIN_DAYS);
    await checkTemperature(home, sensor);
    const until = zone.startOf(addDays(today, 1));
    const found = dailyMeans(await hourlyTemperatures(home, sensor, zone.startOf(from), until), zone);
    const days = new Map([...(this.#known?.days ?? []), ...found]);
    const isSame =
      days.size === this.#known?.days.size &&
      [...found].every(([day, mean]) => this.#known?.days.get(day) === mean);
    if (isSame && known !== null) return false;
    this.#know({ from: known?.from ?? first, days });
    await this.#document
      .write({ from: known?.from ?? first, days: [...(this.#known?.days ?? [])] })
      // The state directory tells of it.
      .catch((err: unknown) => log.error({ err }, 'outdoor temperatures could not be saved'));
    return !isSame;
  }

  #know({ from, days }: Known): void {
    const inOrder = new Map([...days].sort(([a], [b]) => compareText(a, b)));
    this.#known = { from, days: inOrder };
    this.#weather =
      this.#section === null || days.size === 0 ? null : { temperatures: inOrder, base: this.#section.base };
  }
}
