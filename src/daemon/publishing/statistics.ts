// Keeps Home Assistant's statistics equal to the ledgers, beside the polls: one run at a time, again until it works.
import type { Config } from '../../config/schema.ts';
import type { Reason, StatisticsStatus } from '../../domain/health.ts';
import type { Day } from '../../domain/period.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { backOffMs } from '../../foundation/retry.ts';
import { HomeAssistantTrouble } from '../../homeassistant/trouble.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import { openStatisticsRun, type Sent, type StatisticsRunParts, type Stored } from './statisticsRun.ts';

export interface Statistics {
  /** Compares and sends what differs, soon. */
  wake(): void;
  /** Sends again what the ledgers have from the day on. Rejects with what kept it from that. */
  resend(from: Day, onProgress: (progress: Stored) => void): Promise<readonly Sent[]>;
  reasons(): readonly Reason[];
  status(): StatisticsStatus;
  stop(): Promise<void>;
}

export interface StatisticsParts extends StatisticsRunParts {
  readonly publishNews: () => void;
  readonly random: () => number;
}

interface Wish {
  readonly from?: Day;
  readonly onProgress?: (progress: Stored) => void;
}

// Home Assistant tells its owner of every refused sign-in, and may ban who has too many.
const REFUSED_TOKEN_RESTS_MS = 6 * 3_600_000;
const LOOK_FOR_NEW_TOKEN_MS = 30_000;

export interface HouseParts extends Omit<StatisticsParts, 'homeAssistant' | 'baseTopic' | 'names'> {
  readonly config: Config;
  readonly accounts: readonly AccountRuntime[];
}

/** `null` when there is no Home Assistant to tell, or nothing to tell it. */
export function statisticsFor({ config, accounts, ...rest }: HouseParts): Statistics | null {
  const { home_assistant: homeAssistant, mqtt } = config;
  if (homeAssistant === undefined || accounts.length === 0) return null;
  const names = () => accounts.flatMap(({ meters }) => (meters ?? []).map(({ name }) => name));
  return startStatistics({
    ...rest,
    homeAssistant,
    baseTopic: mqtt.base_topic,
    names,
  });
}

export function startStatistics(parts: StatisticsParts): Statistics {
  const { homeAssistant, clock, log } = parts;
  const run = openStatisticsRun(parts);
  const stopping = new AbortController();
  let retry = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  let isQueued = false;
  let refused: { readonly token: string; readonly at: number } | null = null;
  let fault: unknown = null;
  let failures = 0;
  let underWay: Stored | null = null;
  let lastSuccessAt: number | null = null;
  let nextAttemptAt: number | null = null;

  function publishNews(): void {
    // The bridge is about to say that it is offline, and nothing comes after that.
    if (!stopping.signal.aborted) parts.publishNews();
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = running.then(work);
    running = turn.catch(() => undefined);
    return turn;
  }

  function wake(): void {
    if (isQueued || stopping.signal.aborted) return;
    isQueued = true;
    void inTurn(async () => {
      isQueued = false;
      await attempt({}).catch(() => undefined);
    });
  }

  function wakeIn(ms: number): void {
    retry.abort();
    const own = new AbortController();
    retry = own;
    void clock.sleep(ms, own.signal).then(() => {
      if (!own.signal.aborted) wake();
    });
  }

  async function isStillRefused(): Promise<boolean> {
    if (refused === null || clock.monotonic() - refused.at >= REFUSED_TOKEN_RESTS_MS) return false;
    return (await homeAssistant.token.read().catch(() => null)) === refused.token;
  }

  async function attempt(wish: Wish): Promise<readonly Sent[]> {
    if (await isStillRefused()) {
      wakeIn(LOOK_FOR_NEW_TOKEN_MS);
      throw fault;
    }
    retry.abort();
    nextAttemptAt = null;
    try {
      const sent = await sendTo(await homeAssistant.token.read(), wish);
      if (fault !== null) log.info('home assistant takes statistics again');
      fault = null;
      failures = 0;
      // Before the first history is complete there is nothing to be done well.
      if (sent.length > 0) lastSuccessAt = clock.now();
      return sent;
    } catch (err) {
      if (!stopping.signal.aborted) fail(err);
      throw err;
    } finally {
      underWay = null;
      publishNews();
    }
  }

  async function sendTo(token: string, { onProgress, ...wish }: Wish): Promise<readonly Sent[]> {
    const errand = {
      ...wish,
      onProgress(progress: Stored) {
        underWay = progress;
        onProgress?.(progress);
        publishNews();
      },
    };
    refused = null;
    return run(token, errand, stopping.signal).catch((err) => {
      const isRefused = err instanceof HomeAssistantTrouble && err.kind === 'token_refused';
      if (isRefused) refused = { token, at: clock.monotonic() };
      throw err;
    });
  }

  function fail(err: unknown): void {
    const words = safeWords(err);
    // Once for each kind of trouble: another attempt is no news, another reason is.
    if (fault === null || words.message !== safeWords(fault).message) {
      if (err instanceof Failure) log.warn(words, 'statistics could not be written');
      else log.error({ err }, 'statistics failed unexpectedly');
    }
    failures += 1;
    fault = err;
    const wait = refused === null ? backOffMs(err, failures, parts.random) : REFUSED_TOKEN_RESTS_MS;
    nextAttemptAt = clock.now() + wait;
    wakeIn(refused === null ? wait : LOOK_FOR_NEW_TOKEN_MS);
  }

  function state(): StatisticsStatus['state'] {
    if (underWay !== null) return 'importing';
    if (fault !== null) return 'failing';
    return lastSuccessAt === null ? 'waiting' : 'ok';
  }

  return {
    wake,
    resend: (from, onProgress) => inTurn(() => attempt({ from, onProgress })),
    reasons: () => (fault === null ? [] : [safeWords(fault)]),
    status: () => ({
      state: state(),
      series: underWay?.series ?? null,
      rowsStored: underWay?.stored ?? null,
      rowsTotal: underWay?.total ?? null,
      lastSuccessAt,
      nextAttemptAt,
    }),
    async stop() {
      stopping.abort();
      retry.abort();
      await running;
    },
  };
}
