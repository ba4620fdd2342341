// Keeps Home Assistant's statistics equal to the ledgers, beside the polls: one run at a time, repeated until it works.
import type { Reason } from '../../domain/health.ts';
import type { Ledger } from '../../domain/ledger.ts';
import { type Day, isSameZone } from '../../domain/period.ts';
import { statisticsHour } from '../../domain/statistics.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import { concurrencyLimit } from '../../foundation/limits.ts';
import { backOffMs } from '../../foundation/retry.ts';
import { visitHomeAssistant } from '../../homeassistant/commands.ts';
import type { HomeAssistant } from '../../homeassistant/connection.ts';
import { bringUpToDate, type Series, seriesOf } from '../../homeassistant/recorder.ts';
import { HomeAssistantTrouble, ofOneQuestion } from '../../homeassistant/trouble.ts';
import type { Health } from '../../publication/messages.ts';
import { type Context, metersOf } from '../context.ts';
import type { OutdoorTemperatures } from './outdoorTemperatures.ts';
import { signInNotices } from './signInNotices.ts';

/** How many rows of a series have been stored and read back, of those that are to be sent. */
interface SeriesProgress {
  readonly series: string;
  readonly stored: number;
  readonly total: number;
}

/** `from`: send again what starts on this day or later, different or not. */
interface RunOptions {
  readonly from?: Day;
  readonly onProgress?: (progress: SeriesProgress) => void;
}

// Home Assistant tells its owner of every refused sign-in, and may ban who has too many.
// A real Home Assistant has refused a good token while it restarted: one refusal is no proof.
const REFUSED_ONCE_RESTS_MS = 60_000;
const REFUSED_TOKEN_RESTS_MS = 6 * 3_600_000;
const LOOK_FOR_NEW_TOKEN_MS = 30_000;
const COMPARE_ALL_EVERY_MS = 24 * 3_600_000;

export type Statistics = NonNullable<ReturnType<typeof openStatistics>>;

/** `null` when Home Assistant is not configured, or there is nothing to tell it. */
export function openStatistics(outdoor: OutdoorTemperatures, context: Context) {
  const { accounts, config, zone, clock, log, random, signals } = context;
  const { home_assistant: section } = config;
  if (section === undefined || accounts.length === 0) return null;
  const { url, token: secret } = section;
  const notices = signInNotices(context);
  const stopping = new AbortController();
  const oneAtATime = concurrencyLimit(1);
  let cancelRetry: () => void = () => undefined;
  /** Not offered again until then, on the monotonic clock. */
  let refused: { readonly token: string; readonly until: number; readonly why: unknown } | null = null;
  let fault: unknown = null;
  let failures = 0;
  let progress: SeriesProgress | null = null;
  /** ISO 8601, as the next. */
  let lastSuccessAt: string | null = null;
  let nextAttemptAt: string | null = null;
  let warnedOfZone: string | null = null;
  /** When all rows of a series were compared last; on the monotonic clock. */
  const comparedAt = new Map<string, number>();

  /** Compares and sends what differs, soon. */
  function wake(): void {
    // A run that has not begun yet will see what is new.
    if (oneAtATime.pendingCount > 0 || stopping.signal.aborted) return;
    void oneAtATime(() => attempt({}).catch(() => undefined));
  }

  function wakeIn(ms: number): void {
    cancelRetry();
    cancelRetry = clock.after(ms, wake);
  }

  /** Resolves to how many rows of which series were sent. */
  async function attempt(options: RunOptions) {
    const rest = await stillRefused();
    if (rest !== null) {
      wakeIn(LOOK_FOR_NEW_TOKEN_MS);
      // Told again after a file that could not be read for a while.
      if (fault !== rest.why) {
        fault = rest.why;
        nextAttemptAt = zone.iso(clock.now() + rest.until - clock.monotonic());
        publish();
      }
      throw fault;
    }
    cancelRetry();
    nextAttemptAt = null;
    let token = '';
    try {
      token = await secret.read();
      const visit = (home: HomeAssistant, timezone: string | null) => work(home, timezone, options);
      const sent = await visitHomeAssistant({ url, token }, clock, visit, stopping.signal);
      if (fault !== null) log.info('home assistant takes statistics again');
      fault = null;
      refused = null;
      failures = 0;
      // Before the first history is complete nothing can have succeeded.
      if (sent.length > 0) lastSuccessAt = zone.iso(clock.now());
      return sent;
    } catch (err) {
      if (!stopping.signal.aborted) fail(err, token);
      throw err;
    } finally {
      progress = null;
      publish();
    }
  }

  async function stillRefused(): Promise<typeof refused> {
    if (refused === null || clock.monotonic() >= refused.until) return null;
    return (await secret.read().catch(() => null)) === refused.token ? refused : null;
  }

  function fail(err: unknown, token: string): void {
    const words = safeWords(err);
    // Once for each kind of trouble: another attempt is no news, another reason is.
    if (fault === null || words.message !== safeWords(fault).message) {
      if (err instanceof Failure) log.warn(words, 'statistics could not be written');
      else log.error({ err }, 'statistics failed unexpectedly');
    }
    failures += 1;
    fault = err;
    const isRefused = err instanceof HomeAssistantTrouble && err.kind === 'token_refused';
    const restMs = refused?.token === token ? REFUSED_TOKEN_RESTS_MS : REFUSED_ONCE_RESTS_MS;
    const waitMs = isRefused ? restMs : backOffMs(err, failures, random);
    // A file that could not be read says nothing about the token.
    if (token !== '') refused = isRefused ? { token, until: clock.monotonic() + restMs, why: err } : null;
    nextAttemptAt = zone.iso(clock.now() + waitMs);
    wakeIn(isRefused ? LOOK_FOR_NEW_TOKEN_MS : waitMs);
  }

  async function work(home: HomeAssistant, timezone: string | null, options: RunOptions) {
    const isSame = timezone === null || isSameZone(timezone, zone.name);
    if (!isSame && timezone !== warnedOfZone) {
      warnedOfZone = timezone;
      log.warn('home assistant cuts its days in another time zone than usage.timezone');
    }
    await notices.deliver(home);
    const meters = metersOf(context);
    const [oldest] = meters.map(({ ledger }) => ledger.origin).sort();
    if (oldest !== undefined && (await outdoor.update(home, oldest)))
      for (const { id } of accounts) signals.emit('accountChanged', id);
    const names = meters.map(({ name }) => name);
    const sent: { readonly series: string; readonly rows: number }[] = [];
    let trouble: HomeAssistantTrouble | null = null;
    for (const view of meters.flatMap((each) => each.view() ?? [])) {
      for (const series of seriesOf(config.mqtt.base_topic, view, names)) {
        try {
          sent.push({ series: series.id, rows: await sendOne(home, series, view.ledger, options) });
        } catch (err) {
          trouble ??= ofOneQuestion(err);
        }
      }
    }
    if (trouble !== null) throw trouble;
    return sent;
  }

  /** Resolves to how many rows were sent. */
  async function sendOne(home: HomeAssistant, series: Series, ledger: Ledger, options: RunOptions) {
    const last = comparedAt.get(series.id);
    const thorough = last === undefined || clock.monotonic() - last >= COMPARE_ALL_EVERY_MS;
    // Not known to be equal until this run has come to its end.
    comparedAt.delete(series.id);
    const rows = await bringUpToDate(home, series, {
      ...{ ledger, zone, clock, thorough },
      signal: stopping.signal,
      from: options.from === undefined ? undefined : statisticsHour(options.from, zone),
      onProgress(stored, total) {
        progress = { series: series.id, stored, total };
        if (stored > 0) log.info(progress, 'statistics stored and read back');
        options.onProgress?.(progress);
        publish();
      },
    });
    comparedAt.set(series.id, thorough ? clock.monotonic() : last);
    return rows;
  }

  function publish(): void {
    // The bridge is about to say that it is offline, and nothing comes after that.
    if (!stopping.signal.aborted) signals.emit('bridgeChanged');
  }

  function stateNow() {
    if (progress !== null) return 'importing';
    if (fault !== null) return 'failing';
    return lastSuccessAt === null ? 'waiting' : 'ok';
  }

  signals.on('pollEnded', wake);
  return {
    wake,
    /** Home Assistant has restarted. */
    wakeAnew(): void {
      notices.forget();
      wake();
    },
    /** Sends again what the ledgers have from the day on. Rejects with what kept it from that. */
    resend: (from: Day, onProgress: (progress: SeriesProgress) => void) =>
      oneAtATime(() => attempt({ from, onProgress })),
    reasons: (): readonly Reason[] =>
      [fault, outdoor.fault].filter((one) => one !== null).map((one) => safeWords(one)),
    /** As it is published. */
    status: (): Health['statistics'] => ({
      state: stateNow(),
      series: progress?.series ?? null,
      rows_stored: progress?.stored ?? null,
      rows_total: progress?.total ?? null,
      last_success_at: lastSuccessAt,
      next_attempt_at: nextAttemptAt,
    }),
    async stop(): Promise<void> {
      stopping.abort();
      cancelRetry();
      await oneAtATime(async () => undefined);
    },
  };
}
