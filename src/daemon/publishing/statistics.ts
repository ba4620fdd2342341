// Keeps Home Assistant's statistics equal to the ledgers, beside the polls: one run at a time, repeated until it works.
import type { Reason, StatisticsStatus } from '../../domain/health.ts';
import type { Day } from '../../domain/period.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit } from '../../foundation/limits.ts';
import { backOffMs } from '../../foundation/retry.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import { type RunOptions, type SeriesProgress, type SeriesSent, StatisticsRun } from './statisticsRun.ts';

// Home Assistant tells its owner of every refused sign-in, and may ban who has too many.
const REFUSED_TOKEN_RESTS_MS = 6 * 3_600_000;
const LOOK_FOR_NEW_TOKEN_MS = 30_000;

export class Statistics {
  readonly #run: StatisticsRun;
  readonly #readToken: () => Promise<string>;
  readonly #context: Context;
  readonly #stopping = new AbortController();
  readonly #oneAtATime = concurrencyLimit(1);
  #cancelRetry: () => void = () => undefined;
  #isQueued = false;
  #refused: { readonly token: string; readonly at: number } | null = null;
  #fault: unknown = null;
  #failures = 0;
  #progress: SeriesProgress | null = null;
  #lastSuccessAt: number | null = null;
  #nextAttemptAt: number | null = null;

  /** `null` when Home Assistant is not configured, or there is nothing to tell it. */
  static of(accounts: readonly Account[], context: Context): Statistics | null {
    const { home_assistant: section } = context.config;
    if (section === undefined || accounts.length === 0) return null;
    return new Statistics(new StatisticsRun(section, accounts, context), () => section.token.read(), context);
  }

  private constructor(run: StatisticsRun, readToken: () => Promise<string>, context: Context) {
    this.#run = run;
    this.#readToken = readToken;
    this.#context = context;
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

  /** Sends again what the ledgers have from the day on. Rejects with what kept it from that. */
  resend(from: Day, onProgress: (progress: SeriesProgress) => void): Promise<readonly SeriesSent[]> {
    return this.#oneAtATime(() => this.#attempt({ from, onProgress }));
  }

  reasons(): readonly Reason[] {
    return this.#fault === null ? [] : [safeWords(this.#fault)];
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

  async #attempt({ from, onProgress }: RunOptions): Promise<readonly SeriesSent[]> {
    const { clock, log } = this.#context;
    if (await this.#isStillRefused()) {
      this.#wakeIn(LOOK_FOR_NEW_TOKEN_MS);
      throw this.#fault;
    }
    this.#cancelRetry();
    this.#nextAttemptAt = null;
    try {
      const token = await this.#readToken();
      const sent = await this.#send(token, {
        ...(from === undefined ? {} : { from }),
        onProgress: (progress) => {
          this.#progress = progress;
          onProgress?.(progress);
          this.#publish();
        },
      });
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
    this.#refused = null;
    return this.#run.run(token, options, this.#stopping.signal).catch((err) => {
      const isRefused = err instanceof HomeAssistantTrouble && err.kind === 'token_refused';
      if (isRefused) this.#refused = { token, at: this.#context.clock.monotonic() };
      throw err;
    });
  }

  async #isStillRefused(): Promise<boolean> {
    const refused = this.#refused;
    if (refused === null || this.#context.clock.monotonic() - refused.at >= REFUSED_TOKEN_RESTS_MS)
      return false;
    return (await this.#readToken().catch(() => null)) === refused.token;
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
    const isRefused = this.#refused !== null;
    const waitMs = isRefused ? REFUSED_TOKEN_RESTS_MS : backOffMs(err, this.#failures, random);
    this.#nextAttemptAt = clock.now() + waitMs;
    this.#wakeIn(isRefused ? LOOK_FOR_NEW_TOKEN_MS : waitMs);
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
