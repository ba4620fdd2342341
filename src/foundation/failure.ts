// An expected fault: what happened, whether trying again helps, and what its reader can do about it.

/** `soon`: a network hiccup. `later`: the other side needs time. `never`: only a person can cure it. */
export type Retry = 'soon' | 'later' | 'never';

/** Exit codes of the commands; `run` leaves with `usage` and `config` only. */
export const EXIT = {
  fine: 0,
  unexpected: 1,
  usage: 2,
  config: 3,
  credentials: 4,
  provider: 5,
  broker: 6,
  homeAssistant: 7,
} as const;

/** Said in a hint of what the daemon publishes. A command leaves it out. */
export const LAST_VALUES_STAY = 'The last good values stay.';

export interface FailureOptions {
  /** One of EXIT. */
  readonly exit: number;
  readonly retry: Retry;
  /** One sentence of advice for the person at home. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Set when the other side named a waiting time (`Retry-After`). */
  readonly retryAfterMs?: number;
}

/**
 * Its text is safe for topics and logs: no secret, no personal datum, nothing quoted from a reply. One that is caught by its type
 * has a class of its own.
 */
export class Failure extends Error {
  readonly code: string;
  readonly exitCode: number;
  readonly retry: Retry;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, options: FailureOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.exitCode = options.exit;
    this.retry = options.retry;
    this.hint = options.hint;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export const failure = (code: string, message: string, options: FailureOptions): Failure =>
  new Failure(code, message, options);

/** What may be told to strangers about any thrown value: a Failure's own words, otherwise the class name only. */
export function safeWords(thrown: unknown): { code: string; message: string; hint?: string } {
  if (thrown instanceof Failure) {
    const { code, message, hint } = thrown;
    return hint === undefined ? { code, message } : { code, message, hint };
  }
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  return { code: 'unexpected', message: `Unexpected fault (${name}); the log has the details.` };
}
