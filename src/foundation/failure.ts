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
export const IN_A_CONTAINER =
  'In a container localhost is the container itself, and names that end in .local are mostly not known: write an IP address.';

export interface FailureOptions {
  /** One of EXIT. */
  readonly exit: number;
  readonly retry: Retry;
  /** One sentence of advice for the person at home. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Set when the other side named a waiting time (`Retry-After`); `null`: it named none. */
  readonly retryAfterMs?: number | null;
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
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.exitCode = options.exit;
    this.retry = options.retry;
    this.hint = options.hint;
    this.retryAfterMs = options.retryAfterMs ?? undefined;
  }
}

export const failure = (code: string, message: string, options: FailureOptions): Failure =>
  new Failure(code, message, options);

/** The words about any thrown value that strangers may read: a Failure's own, otherwise the class name only. */
export function safeWords(thrown: unknown): { code: string; message: string; hint?: string } {
  if (thrown instanceof Failure) {
    const { code, message, hint } = thrown;
    return hint === undefined ? { code, message } : { code, message, hint };
  }
  return { code: 'unexpected', message: `Unexpected fault (${classOf(thrown)}); the log has the details.` };
}

const CLASS_NAME = /^[A-Z][A-Za-z0-9]{1,60}$/;
/** The system says ECONNREFUSED, Node and libraries ERR_TLS_CERT_ALTNAME_INVALID, and PostgreSQL 28P01. */
const CODES = [
  /^E[A-Z0-9]{2,30}$/,
  /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/,
  /^(?:\d[\dA-Z]|F0|HV|P0|XX)[\dA-Z]{3}$/,
];
const LONGEST_CODE = 60;

const classOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return typeof thrown;
  return CLASS_NAME.test(thrown.name) ? thrown.name : 'Error';
};

/** The code that the system, Node or a library gives to a thrown value; `null`: none, or not one of theirs. */
export function codeOf(thrown: unknown): string | null {
  const { code } = Object(thrown) as { code?: unknown };
  if (typeof code !== 'string' || code.length > LONGEST_CODE) return null;
  return CODES.some((shape) => shape.test(code)) ? code : null;
}

/** Its code, else its class: one word for a sentence. */
export const faultOf = (thrown: unknown): string => codeOf(thrown) ?? classOf(thrown);

/** The kind of an error, in one or two words: `Error ECONNREFUSED`. Its text may quote what came from outside. */
export const kindOf = (thrown: unknown): string => [classOf(thrown), codeOf(thrown) ?? []].flat().join(' ');

// A message may have many lines, and one of them may look like this all the same: hence the shape of the place.
const FRAME = /^ {4}at (?:async )?[\w$.<>[\] #]{0,100}\(?(?:file:\/\/|node:|\/|[A-Z]:\\)[^\s()]*:\d+:\d+\)?$/;

/** The places in the code of a thrown error, innermost first, without its text. */
export function framesOf(thrown: unknown): string[] {
  if (!(thrown instanceof Error)) return [];
  const { message, stack = '' } = thrown;
  const at = stack.indexOf(message);
  const below = at < 0 ? stack : stack.slice(at + message.length);
  return below.split('\n').filter((line) => FRAME.test(line));
}
