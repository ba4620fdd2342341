// Logging with pino, one child for each module; every line passes a scrubber that knows the secrets by value.
import { type Logger, pino } from 'pino';
import { Failure, framesOf, kindOf, safeWords } from './failure.ts';

export type Log = Logger;

/** Replaces registered secrets, their common encodings and anything shaped like a JWT in a text. */
export interface Scrubber {
  register(secret: string): void;
  /** Undoes one call of `register`: the secret is in this process no more. */
  forget(secret: string): void;
  /** A token, or a typed password: more come for as long as the daemon runs, so only the newest are remembered. */
  registerToken(token: string): void;
  scrub(text: string): string;
}

const JWT_SHAPE = /eyJ[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)?/g;
const MASK = '[secret]';
// Shorter values would blank out ordinary words of the log.
const SHORTEST_SECRET = 4;
const NEWEST_TOKENS = 40;

export function createScrubber(): Scrubber {
  /**
   * Each with how often it was registered, and the forms in which it may be written: found out with the first line, since most are
   * forgotten before any is logged.
   */
  const secrets = new Map<string, { users: number; forms: readonly string[] | null }>();
  /** The secrets that are tokens, the oldest first. */
  const tokens = new Set<string>();

  /**
   * Forms that overlap are masked as one stretch, so that no end of one stays behind. With the secrets of a thousand
   * accounts a line takes a millisecond.
   */
  function masked(text: string): string {
    const stretches: { readonly at: number; readonly end: number }[] = [];
    for (const [written, secret] of secrets) {
      secret.forms ??= writtenForms(written);
      for (const form of secret.forms)
        for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1))
          stretches.push({ at, end: at + form.length });
    }
    let clean = '';
    let done = 0;
    for (const { at, end } of stretches.sort((a, b) => a.at - b.at)) {
      if (at >= done) clean += text.slice(done, at) + MASK;
      done = Math.max(done, end);
    }
    return clean + text.slice(done);
  }

  function register(secret: string): void {
    const entry = secrets.get(secret);
    if (entry) entry.users += 1;
    else secrets.set(secret, { users: 1, forms: null });
  }

  function forget(secret: string): void {
    const entry = secrets.get(secret);
    if (entry) entry.users -= 1;
    if (entry?.users === 0) secrets.delete(secret);
  }

  return {
    register,
    forget,
    registerToken(token) {
      if (!tokens.delete(token)) register(token);
      tokens.add(token);
      const [oldest = ''] = tokens;
      if (tokens.size > NEWEST_TOKENS && tokens.delete(oldest)) forget(oldest);
    },
    scrub: (text) => masked(text.replace(JWT_SHAPE, MASK)),
  };
}

function writtenForms(secret: string): string[] {
  if (secret.length < SHORTEST_SECRET) return [];
  const bytes = Buffer.from(secret, 'utf8');
  const forms = [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    asUserInfo(secret),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  ];
  return [...new Set(forms)];
}

/** A URL writes it between the colon and the `@`, less encoded than anywhere else. */
function asUserInfo(secret: string): string {
  const url = new URL('mqtt://host');
  url.password = secret;
  return url.password;
}

/** The newest lines, scrubbed, and their followers. */
export class LogTail {
  readonly #most: number;
  readonly #lines: string[] = [];
  readonly #followers = new Set<(line: string) => void>();

  constructor(most = 200) {
    this.#most = most;
  }

  add(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > this.#most) this.#lines.shift();
    for (const follower of this.#followers) {
      try {
        follower(line);
      } catch {
        // A reader's fault must not reach the code that logs, and it cannot be logged.
      }
    }
  }

  /** JSON, oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Returns the function that ends it. */
  follow(follower: (line: string) => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }
}

interface LogOptions {
  readonly level: string;
  readonly scrubber: Scrubber;
  /** The sink of finished lines: standard output, or a pretty printer in front of it. */
  readonly write: (line: string) => void;
  /** Remembers the newest lines. */
  readonly tail?: LogTail | undefined;
}

const DEBUGGING: ReadonlySet<string> = new Set(['debug', 'trace']);

/** JavaScript's own words about a mistake in this program name a variable of the code, and no value. */
const WORDS_OF_THE_ENGINE = [
  /^Cannot (?:read|set) properties of (?:undefined|null) \((?:reading|setting) '[\w$]{1,40}'\)$/,
  /^[\w$.]{1,80} is not (?:a function|a constructor|defined|iterable)$/,
  /^Cannot access '[\w$]{1,40}' before initialization$/,
  /^Assignment to constant variable\.$/,
  /^Maximum call stack size exceeded$/,
  /^Invalid (?:array length|string length|time value)$/,
];
const DEEPEST_CAUSE = 5;

/** The text of an error may quote what came from outside: only that of a Failure is told, and of a mistake that JavaScript found. */
function shown(thrown: unknown, withPlace: boolean): object {
  const causes = causesOf(thrown);
  const isForeseen = thrown instanceof Failure;
  const words = isForeseen ? safeWords(thrown) : { type: kindOf(thrown), ...messageOf(thrown) };
  return {
    ...words,
    cause: causes.join(' < ') || undefined,
    // The place in our code where a Failure was thrown does not help at home, and buries its advice.
    stack: isForeseen && !withPlace ? undefined : framesOf(thrown).join('\n'),
  };
}

function messageOf(thrown: unknown): { readonly message?: string } {
  const message = thrown instanceof Error ? thrown.message : '';
  return WORDS_OF_THE_ENGINE.some((words) => words.test(message)) ? { message } : {};
}

function causesOf(thrown: unknown): string[] {
  const causes: string[] = [];
  for (
    let at = Object(thrown).cause;
    at !== undefined && causes.length < DEEPEST_CAUSE;
    at = Object(at).cause
  )
    causes.push(kindOf(at));
  return causes;
}

/** A mask may not touch what holds the line together: a secret may be a number or look like a piece of JSON. */
function scrubbedLine(line: string, { scrub }: Scrubber): string {
  if (scrub(line) === line) return line;
  const clean = JSON.parse(line, (_, value: unknown) => {
    if (Array.isArray(value)) return value;
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, entry]) => [scrub(key), entry]));
    const text = scrub(String(value));
    return text === String(value) ? value : text;
  });
  return `${JSON.stringify(clean)}\n`;
}

/** Call it object first: `log.warn({ err }, 'lower-case sentence')`; pino loses an error that comes second. */
export function createLog({ level, scrubber, write, tail }: LogOptions): Log {
  return pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (thrown: unknown) => shown(thrown, DEBUGGING.has(level)) },
      hooks: { streamWrite: (line) => scrubbedLine(line, scrubber) },
    },
    {
      write(line: string) {
        write(line);
        tail?.add(line);
      },
    },
  );
}
