// One question beside the usage: whether its day has come, and what its answer, or its failure, means for the next one.
import { type Extra, isDue } from '../../domain/extras.ts';
import type { Day, Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { Failure, safeWords } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import { ReplyTooLarge } from '../../http/client.ts';
import { ProviderRefused, UnexpectedReply } from '../../provider/request.ts';

export interface ExtraQuestion<T> {
  /** As the log calls it. */
  readonly extra: string;
  readonly everyDays: number;
  get(): Extra<T>;
  /** Resolves once it is on the disk. */
  set(next: Extra<T>): Promise<void>;
  /** `null`: nothing new. */
  ask(known: T | null, signal: AbortSignal): Promise<T | null>;
}

export interface QuestionParts {
  readonly zone: Zone;
  readonly clock: Clock;
  readonly log: Log;
}

// A reading of midnight is booked in the small hours: whoever asks before gets yesterday's.
const DAY_BEGINS_MS = 4 * 3_600_000;

/** The day for which questions are asked now. */
export const questionDay = (zone: Zone, clock: Clock): Day => zone.dayAt(clock.now() - DAY_BEGINS_MS);

/**
 * Asks if it is due. Never rejects. Resolves to `false` when the provider has trouble: whatever else is due had
 * better wait for the next poll.
 */
export async function askIfDue<T>(
  question: ExtraQuestion<T>,
  { zone, clock, log }: QuestionParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { extra, everyDays, get, set } = question;
  const today = questionDay(zone, clock);
  const before = get();
  if (signal.aborted) return false;
  if (!isDue(before, today, everyDays)) return true;
  // Beforehand: a reply that ends this process must not be asked for again by the next one.
  await set({ ...before, askedOn: today });
  try {
    const found = await question.ask(before.found, signal);
    await set({ askedOn: today, off: false, found: found ?? before.found });
    return true;
  } catch (err) {
    if (signal.aborted) return false;
    if (isRefusal(err)) {
      await set({ ...before, askedOn: today, off: true });
      if (!before.off)
        log.warn({ extra, ...safeWords(err) }, 'not given by the provider: left out for a week');
      return true;
    }
    if (err instanceof Failure) log.info({ extra, ...safeWords(err) }, 'not read: asked again tomorrow');
    else log.error({ extra, err }, 'not read: asked again tomorrow');
    return false;
  }
}

/** It will be the same tomorrow. A refused key (401) will not: that is the session's matter. */
const isRefusal = (err: unknown): boolean =>
  (err instanceof ProviderRefused && err.status !== 401) ||
  err instanceof UnexpectedReply ||
  err instanceof ReplyTooLarge;
