// Keeps Home Assistant's statistics equal to the ledgers, beside the polls: one run at a time, repeated until it works.

import type { Account } from '../../accounts/account.ts';
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Reason, StatisticsStatus } from '../../domain/health.ts';
import type { Ledger } from '../../domain/ledger.ts';
import type { Day } from '../../domain/period.ts';
import { statisticsHour } from '../../domain/statistics.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit } from '../../foundation/limits.ts';
import { backOffMs } from '../../foundation/retry.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { bringUpToDate } from '../../homeassistant/importer.ts';
import { visitHomeAssistant } from '../../homeassistant/recorder.ts';
import { type Series, seriesOf } from '../../homeassistant/series.ts';
import { HomeAssistantTrouble, type TroubleKind } from '../../homeassistant/trouble.ts';
import type { Context } from '../context.ts';
import type { OutdoorTemperatures } from './outdoorTemperatures.ts';
import { type SignInNotices, signInNotices } from './signInNotices.ts';

/** How many rows of a series have been stored and read back, of those that are to be sent. */
interface SeriesProgress {
  readonly series: string;
  readonly stored: number;
  readonly total: number;
}

interface SeriesSent {
  readonly series: string;
  readonly rows: number;
}

interface RunOptions {
  /** Send again what starts on this day or later, different or not. */
  readonly from?: Day;
  readonly onProgress?: (progress: SeriesProgress) => void;
}

// Home Assistant tells its owner of every refused sign-in, and may ban who has too many.
// A real Home Assistant has refused a good token while it restarted: one refusal is no proof.
const REFUSED_ONCE_RESTS_MS = 60_000;
const REFUSED_TOKEN_RESTS_MS = 6 * 3_600_000;
const LOOK_FOR_NEW_TOKEN_MS = 30_000;
const COMPARE_ALL_EVERY_MS = 24 * 3_600_000;
/** Trouble with one series, which leaves the others to be tried. */
const OF_ONE_SERIES: readonly TroubleKind[] = ['refused', 'not_stored', 'strange'];

export class Statistics {
  readonly #section: Section;
  readonly #accounts: readonly Account[];
  readonly #outdoor: OutdoorTemperatures;
  readonly #context: Context;
  readonly #notices: SignInNotices;
  readonly #stopping = new AbortController();
  readonly #oneAtATime = concurrencyLimit(1);
  #cancelRetry: () => void = () => undefined;
  #isQueued = false;
  #refused: { readonly token: string; readonly at: number; readonly restsMs: number } | null = null;
  #fault: unknown = null;
  #failures = 0;
  #progress: SeriesProgress | null = null;
  #lastSuccessAt: number | null = null;
  #nextAttemptAt: number | null = null;
  /** By series, when all its rows were compared last; on the monotonic clock. */
  readonly #comparedAt = new Map<string, number>();
  #warnedOfZone: string | null = null;

  /** `null` when Home Assistant is not configured, or there is nothing to tell it. */
  static of(accounts: readonly Account[], outdoor: OutdoorTemperatures, context: Context): Statistics | null {
    const { home_assistant: section } = context.config;
    if (section === undefined || accounts.length === 0) return null;
    return new Statistics(section, accounts, outdoor, context);
  }

  private constructor(
    section: Section,
    accounts: readonly Account[],
    outdoor: OutdoorTemperatures,
    context: Context,
  ) {
    this.#outdoor = outdoor;
    this.#section = section;
    this.#accounts = accounts;
    this.#context = context;
    this.#notices = signInNotices(accounts, context);
  }

  /** Compares and sends what differs, soon. */
  wake(): void {
    if (this.#isQueued || this.#stopping.signal.aborted) return;
    this.#isQueued = true;
    void this.#oneAtATime(async () => {
      this.#isQueued = false;
      await this.#attempt({}).catch(() => undefined);
    });
  }

  /** Home Assistant has started anew. */
  wakeAnew(): void {
    this.#notices.forget();
    this.wake();
  }

  /** Sends again what the ledgers have from the day on. Rejects with what kept it from that. */
  resend(from: Day, onProgress: (progress: SeriesProgress) => void): Promise<readonly SeriesSent[]> {
    return this.#oneAtATime(() => this.#attempt({ from, onProgress }));
  }

  reasons(): readonly Reason[] {
    const faults = [this.#fault, this.#outdoor.fault].filter((fault) => fault !== null);
    return faults.map((fault) => safeWords(fault));
  }

  status(): StatisticsStatus {
    return {
      state: this.#state(),
      series: this.#progress?.series ?? null,
      rowsStored: this.#progress?.stored ?? null,
      rowsTotal: this.#progress?.total ?? null,
      lastSuccessAt: this.#lastSuccessAt,
      nextAttemptAt: this.#nextAttemptAt,
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelRetry();
    await this.#oneAtATime(async () => undefined);
  }

  async #attempt(options: RunOptions): Promise<readonly SeriesSent[]> {
    const { clock, log } = this.#context;
    if (await this.#isStillRefused()) {
      this.#wakeIn(LOOK_FOR_NEW_TOKEN_MS);
      throw this.#fault;
    }
    this.#cancelRetry();
    this.#nextAttemptAt = null;
    try {
      const sent = await this.#send(await this.#section.token.read(), options);
      if (this.#fault !== null) log.info('home assistant takes statistics again');
      this.#fault = null;
      this.#failures = 0;
      // Before the first history is complete nothing can have succeeded.
      if (sent.length > 0) this.#lastSuccessAt = clock.now();
      return sent;
    } catch (err) {
      if (!this.#stopping.signal.aborted) this.#fail(err);
      throw err;
    } finally {
      this.#progress = null;
      this.#publish();
    }
  }

  async #send(token: string, options: RunOptions): Promise<readonly SeriesSent[]> {
    const { clock } = this.#context;
    const before = this.#refused;
    this.#refused = null;
    try {
      return await visitHomeAssistant(
        { url: this.#section.url, token },
        clock,
        async (home, { timezone }) => {
          this.#compareZone(timezone);
          await this.#notices.deliver(home);
          await this.#readTemperatures(home);
          return this.#sendEvery(home, options);
        },
        this.#stopping.signal,
      );
    } catch (err) {
      const isRefused = err instanceof HomeAssistantTrouble && err.kind === 'token_refused';
      const restsMs = before?.token === token ? REFUSED_TOKEN_RESTS_MS : REFUSED_ONCE_RESTS_MS;
      if (isRefused) this.#refused = { token, at: clock.monotonic(), restsMs };
      throw err;
    }
  }

  async #readTemperatures(home: HomeAssistant): Promise<void> {
    const outdoor = this.#outdoor;
    const { signals } = this.#context;
    const origins = this.#accounts.flatMap(({ meters }) => meters ?? []).map(({ ledger }) => ledger.origin);
    const [oldest] = origins.sort();
    if (oldest === undefined || !(await outdoor.update(home, oldest))) return;
    for (const { id } of this.#accounts) signals.emit('accountChanged', id);
  }

  async #sendEvery(home: HomeAssistant, options: RunOptions): Promise<SeriesSent[]> {
    const meters = this.#accounts.flatMap((account) => account.meters ?? []);
    const names = meters.map(({ name }) => name);
    const sent: SeriesSent[] = [];
    let trouble: unknown = null;
    for (const view of meters.flatMap((each) => each.view() ?? [])) {
      for (const series of seriesOf(this.#context.config.mqtt.base_topic, view, names)) {
        try {
          sent.push({ series: series.id, rows: await this.#sendOne(home, series, view.ledger, options) });
        } catch (err) {
          if (!(err instanceof HomeAssistantTrouble) || !OF_ONE_SERIES.includes(err.kind)) throw err;
          trouble ??= err;
        }
      }
    }
    if (trouble !== null) throw trouble;
    return sent;
  }

  /** Resolves to how many rows were sent. */
  async #sendOne(
    home: HomeAssistant,
    series: Series,
    ledger: Ledger,
    { from, onProgress }: RunOptions,
  ): Promise<number> {
    const { zone, clock, log } = this.#context;
    const last = this.#comparedAt.get(series.id);
    const thorough = last === undefined || clock.monotonic() - last >= COMPARE_ALL_EVERY_MS;
    // Not known to be equal until this run has come to its end.
    this.#comparedAt.delete(series.id);
    const rows = await bringUpToDate(home, series, {
      ledger,
      zone,
      clock,
      signal: this.#stopping.signal,
      thorough,
      from: from === undefined ? undefined : statisticsHour(from, zone),
      onProgress: (stored, total) => {
        const progress = { series: series.id, stored, total };
        if (stored > 0) log.info(progress, 'statistics stored and read back');
        this.#progress = progress;
        onProgress?.(progress);
        this.#publish();
      },
    });
    this.#comparedAt.set(series.id, thorough ? clock.monotonic() : last);
    return rows;
  }

  #compareZone(timezone: string | null): void {
    const { zone, log } = this.#context;
    if (timezone === null || timezone === zone.name || timezone === this.#warnedOfZone) return;
    this.#warnedOfZone = timezone;
    log.warn('home assistant cuts its days in another time zone than usage.timezone');
  }

  async #isStillRefused(): Promise<boolean> {
    const refused = this.#refused;
    if (refused === null || this.#context.clock.monotonic() - refused.at >= refused.restsMs) return false;
    return (await this.#section.token.read().catch(() => null)) === refused.token;
  }

  #fail(err: unknown): void {
    const { clock, log, random } = this.#context;
    const words = safeWords(err);
    // Once for each kind of trouble: another attempt is no news, another reason is.
    if (this.#fault === null || words.message !== safeWords(this.#fault).message) {
      if (err instanceof Failure) log.warn(words, 'statistics could not be written');
      else log.error({ err }, 'statistics failed unexpectedly');
    }
    this.#failures += 1;
    this.#fault = err;
    const waitMs = this.#refused?.restsMs ?? backOffMs(err, this.#failures, random);
    this.#nextAttemptAt = clock.now() + waitMs;
    this.#wakeIn(this.#refused === null ? waitMs : LOOK_FOR_NEW_TOKEN_MS);
  }

  #wakeIn(ms: number): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#context.clock.after(ms, () => this.wake());
  }

  #publish(): void {
    // The bridge is about to say that it is offline, and nothing comes after that.
    if (!this.#stopping.signal.aborted) this.#context.signals.emit('bridgeChanged');
  }

  #state(): StatisticsStatus['state'] {
    if (this.#progress !== null) return 'importing';
    if (this.#fault !== null) return 'failing';
    return this.#lastSuccessAt === null ? 'waiting' : 'ok';
  }
}
