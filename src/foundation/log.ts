// Logging with pino, one child per room; every line passes a scrubber that knows the secrets by value.
import { type Logger, pino } from 'pino';
import { Failure, safeWords } from './failure.ts';

export type Log = Logger;

/** Replaces registered secrets, their common encodings and anything shaped like a JWT in a text. */
export interface Scrubber {
  register(secret: string): void;
  /** A token: it has successors for as long as the daemon runs, so only the newest are remembered. */
  registerToken(token: string): void;
  scrub(text: string): string;
}

const JWT_SHAPE = /eyJ[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)?/g;
const MASK = '[secret]';
// Shorter values would blank out ordinary words of the log.
const SHORTEST_SECRET = 4;
const NEWEST_TOKENS = 40;

export function createScrubber(): Scrubber {
  const secrets = openForms();
  const tokens = openForms();
  const newestTokens = new Set<string>();

  function masked(text: string): string {
    let clean = '';
    let open = 0;
    // Where the masked stretch ends: forms that overlap are one stretch, so that no end of one stays behind.
    let end = 0;
    for (let at = 0; at + SHORTEST_SECRET <= text.length; at += 1) {
      const start = text.slice(at, at + SHORTEST_SECRET);
      const length = Math.max(secrets.lengthAt(text, at, start), tokens.lengthAt(text, at, start));
      if (length === 0) continue;
      if (at >= end) clean += text.slice(open, at) + MASK;
      end = Math.max(end, at + length);
      open = end;
    }
    return end === 0 ? text : clean + text.slice(open);
  }

  return {
    register: secrets.add,
    registerToken(token) {
      newestTokens.delete(token);
      newestTokens.add(token);
      tokens.add(token);
      const [oldest] = newestTokens;
      if (newestTokens.size <= NEWEST_TOKENS || oldest === undefined) return;
      newestTokens.delete(oldest);
      tokens.remove(oldest);
    },
    scrub: (text) => masked(text.replace(JWT_SHAPE, MASK)),
  };
}

/** Written forms by their first characters, then by length: looking at a place of a text costs the same for any number. */
function openForms() {
  const byStart = new Map<string, Map<number, Set<string>>>();
  const startOf = (form: string) => form.slice(0, SHORTEST_SECRET);
  return {
    add(secret: string): void {
      if (secret.length < SHORTEST_SECRET) return;
      for (const form of writtenForms(secret)) {
        const byLength = byStart.get(startOf(form)) ?? new Map<number, Set<string>>();
        byStart.set(startOf(form), byLength);
        byLength.set(form.length, (byLength.get(form.length) ?? new Set()).add(form));
      }
    },
    remove(secret: string): void {
      for (const form of writtenForms(secret)) {
        const byLength = byStart.get(startOf(form));
        const alike = byLength?.get(form.length);
        alike?.delete(form);
        if (alike?.size === 0) byLength?.delete(form.length);
        if (byLength?.size === 0) byStart.delete(startOf(form));
      }
    },
    /** The length of the longest form that stands there; 0: none. */
    lengthAt(text: string, at: number, start: string): number {
      let longest = 0;
      for (const [length, forms] of byStart.get(start) ?? [])
        if (length > longest && forms.has(text.slice(at, at + length))) longest = length;
      return longest;
    },
  };
}

function writtenForms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [
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
}

/** As a URL writes it between the colon and the `@`, which is less encoded than anywhere else. */
function asUserInfo(secret: string): string {
  const url = new URL('mqtt://host');
  url.password = secret;
  return url.password;
}

export interface LogOptions {
  readonly level: string;
  readonly scrubber: Scrubber;
  /** Where finished lines go: standard output, or a pretty printer in front of it. */
  readonly write: (line: string) => void;
}

const DEBUGGING: ReadonlySet<string> = new Set(['debug', 'trace']);

// A Failure was foreseen: where in our code it was thrown helps nobody at home, and buries its advice.
function shown(thrown: Error): object {
  if (!(thrown instanceof Failure)) return pino.stdSerializers.err(thrown);
  const { cause } = thrown;
  return cause === undefined ? safeWords(thrown) : { ...safeWords(thrown), cause: String(cause) };
}

/** Call it object first: `log.warn({ err }, 'lower-case sentence')`; pino loses an error that comes second. */
export function createLog({ level, scrubber, write }: LogOptions): Log {
  return pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: DEBUGGING.has(level) ? pino.stdSerializers.err : shown },
      hooks: { streamWrite: (line) => scrubber.scrub(line) },
    },
    { write },
  );
}
