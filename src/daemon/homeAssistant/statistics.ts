// Keeps Home Assistant's statistics equal to the ledgers, beside the polls: one visit at a time, repeated until it works.
import type { HomeAssistant as Section } from '../../config/schema.ts';
import type { Reason } from '../../domain/health.ts';
import type { Day } from '../../domain/period.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit } from '../../foundation/limits.ts';
import { backOffMs } from '../../foundation/retry.ts';
import { visitHomeAssistant } from '../../homeassistant/commands.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import type { Health } from '../../publication/messages.ts';
import type { Context } from '../context.ts';
import type { OutdoorTemperatures } from './outdoorTemperatures.ts';
import { type SentSeries, type SeriesProgress, Visits } from './visits.ts';

/** No visit has gone well since. */
interface Trouble {
  readonly fault: unknown;
  readonly failures: number;
  /** ISO 8601; `null` while the next visit is under way. */
  readonly nextAttemptAt: string | null;
}

/** Not offered again before `until`, on the monotonic clock. */
interface RefusedToken {
  readonly token: string;
  readonly fault: unknown;
  readonly until: number;
}

// Home Assistant tells its owner of every refused sign-in, and may ban who has too many.
// A real Home Assistant has refused a good token while it restarted: one refusal is no proof.
const REFUSED_ONCE_RESTS_MS = 60_000;
const REFUSED_TOKEN_RESTS_MS = 6 * 3_600_000;
const LOOK_FOR_NEW_TOKEN_MS = 30_000;

/** `null` when Home Assistant is not configured, or there is nothing to tell it. */
export function openStatistics(outdoor: OutdoorTemperatures, context: Context): Statistics | null {
  const { accounts, config } = context;
  if (config.home_assistant === undefined || accounts.length === 0) return null;
  return new Statistics(config.home_assistant, outdoor, context);
}

export class Statistics {
  readonly #section: Section;
  readonly #context: Context;
  readonly #visits: Visits;
  readonly #stopping = new AbortController();
  readonly #oneAtATime = concurrencyLimit(1);
  #cancelRetry: () => void = () => undefined;
  #trouble: Trouble | null = null;
  #refusedToken: RefusedToken | null = null;
  /** It is there while a series is written. */
  #progress: SeriesProgress | null = null;
  /** ISO 8601. */
  #lastSuccessAt: string | null = null;

  constructor(section: Section, outdoor: OutdoorTemperatures, context: Context) {
    this.#section = section;
    this.#context = context;
    this.#visits = new Visits(section.hours, outdoor, context);
    context.signals.on('pollEnded', () => this.wake());
  }

  /** Compares and sends what differs, soon. */
  wake(): void {
    // A visit that has not begun yet will see what is new.
    if (this.#oneAtATime.pendingCount > 0 || this.#stopping.signal.aborted) return;
    void this.#oneAtATime(() => this.#attempt().catch(() => undefined));
  }

  /** Home Assistant has restarted. */
  wakeAnew(): void {
    this.#visits.notices.forget();
    this.wake();
  }

  /** Sends again what the ledgers have from the day on. Rejects with what kept it from that. */
  resend(from: Day, onProgress: (progress: SeriesProgress) => void): Promise<SentSeries[]> {
    return this.#oneAtATime(() => this.#attempt(from, onProgress));
  }

  reasons(): readonly Reason[] {
    const faults = [this.#trouble?.fault ?? null, this.#visits.outdoor.fault];
    return faults.filter((fault) => fault !== null).map((fault) => safeWords(fault));
  }

  /** The part of bridge/health that is about statistics. */
  status(): Health['statistics'] {
    const { series = null, stored = null, total = null } = this.#progress ?? {};
    return {
      state: this.#state(),
      hours: this.#section.hours,
      series,
      rows_stored: stored,
      rows_total: total,
      last_success_at: this.#lastSuccessAt,
      next_attempt_at: this.#trouble?.nextAttemptAt ?? null,
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelRetry();
    await this.#oneAtATime(async () => undefined);
  }

  #state() {
    if (this.#progress !== null) return 'importing';
    if (this.#trouble !== null) return 'failing';
    return this.#lastSuccessAt === null ? 'waiting' : 'ok';
  }

  async #attempt(from?: Day, onProgress?: (progress: SeriesProgress) => void): Promise<SentSeries[]> {
    const { url, token: secret } = this.#section;
    const { signal } = this.#stopping;
    this.#cancelRetry();
    if (this.#trouble !== null) this.#trouble = { ...this.#trouble, nextAttemptAt: null };
    let token: string | null = null;
    try {
      token = await secret.read();
      this.#throwIfRefused(token);
      const tell = (progress: SeriesProgress) => {
        this.#progress = progress;
        onProgress?.(progress);
        this.#publish();
      };
      const sent = await visitHomeAssistant(
        { url, token },
        this.#context.clock,
        (home, timezone) => this.#visits.visit(home, timezone, { signal, from, onProgress: tell }),
        signal,
      );
      this.#succeed(sent);
      return sent;
    } catch (err) {
      if (!signal.aborted) this.#fail(err, token);
      throw err;
    } finally {
      this.#progress = null;
      this.#publish();
    }
  }

  /** Throws what it was refused for. */
  #throwIfRefused(token: string): void {
    const refused = this.#refusedToken;
    if (refused?.token === token && this.#context.clock.monotonic() < refused.until) throw refused.fault;
  }

  #succeed(sent: readonly SentSeries[]): void {
    const { clock, log, zone } = this.#context;
    if (this.#trouble !== null) log.info('home assistant takes statistics again');
    this.#trouble = null;
    this.#refusedToken = null;
    // Before the first history is complete nothing can have succeeded.
    if (sent.length > 0) this.#lastSuccessAt = zone.iso(clock.now());
  }

  /** `token`: `null` where it could not be read, which says nothing about it. */
  #fail(fault: unknown, token: string | null): void {
    const { clock, random, zone } = this.#context;
    const wasOffered = fault !== this.#refusedToken?.fault;
    if (wasOffered) this.#logOnce(fault);
    const failures = (this.#trouble?.failures ?? 0) + (wasOffered ? 1 : 0);
    const isRefused = fault instanceof HomeAssistantTrouble && fault.kind === 'token_refused';
    if (token !== null && wasOffered) this.#refusedToken = isRefused ? this.#resting(token, fault) : null;
    const restMs = (this.#refusedToken?.until ?? 0) - clock.monotonic();
    const waitMs = isRefused ? restMs : backOffMs(fault, failures, random);
    this.#trouble = { fault, failures, nextAttemptAt: zone.iso(clock.now() + waitMs) };
    // A new token may come at any time.
    this.#cancelRetry = clock.after(isRefused ? LOOK_FOR_NEW_TOKEN_MS : waitMs, () => this.wake());
  }

  #resting(token: string, fault: unknown): RefusedToken {
    const isAgain = this.#refusedToken?.token === token;
    const restMs = isAgain ? REFUSED_TOKEN_RESTS_MS : REFUSED_ONCE_RESTS_MS;
    return { token, fault, until: this.#context.clock.monotonic() + restMs };
  }

  /** Another attempt is no news, another reason is. */
  #logOnce(fault: unknown): void {
    const { log } = this.#context;
    const words = safeWords(fault);
    if (this.#trouble !== null && words.message === safeWords(this.#trouble.fault).message) return;
    if (fault instanceof Failure) log.warn(words, 'statistics could not be written');
    else log.error({ err: fault }, 'statistics failed unexpectedly');
  }

  #publish(): void {
    // The bridge is about to say that it is offline, and nothing comes after that.
    if (!this.#stopping.signal.aborted) this.#context.signals.emit('bridgeChanged');
  }
}
