// Logging with pino, one child per room; every line passes a scrubber that knows the secrets by value.
import { type Logger, pino } from 'pino';

export type Log = Logger;

/** Replaces registered secrets, their common encodings and anything shaped like a JWT in a text. */
export interface Scrubber {
  register(secret: string): void;
  scrub(text: string): string;
}

const JWT_SHAPE = /eyJ[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)?/g;
const MASK = '[secret]';
// Shorter values would blank out ordinary words of the log.
const SHORTEST_SECRET = 4;

export function createScrubber(): Scrubber {
  const known = new Set<string>();
  let longestFirst: string[] = [];
  return {
    register(secret) {
      if (secret.length < SHORTEST_SECRET || known.has(secret)) return;
      for (const form of writtenForms(secret)) known.add(form);
      longestFirst = [...known].sort((a, b) => b.length - a.length);
    },
    scrub(text) {
      let clean = text.replace(JWT_SHAPE, MASK);
      for (const form of longestFirst) {
        if (clean.includes(form)) clean = clean.replaceAll(form, MASK);
      }
      return clean;
    },
  };
}

function writtenForms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  ];
}

export interface LogOptions {
  readonly level: string;
  readonly scrubber: Scrubber;
  /** Where finished lines go: standard output, or a pretty printer in front of it. */
  readonly write: (line: string) => void;
}

/** Call it object first: `log.warn({ err }, 'lower-case sentence')`; pino loses an error that comes second. */
export function createLog({ level, scrubber, write }: LogOptions): Log {
  return pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: { streamWrite: (line) => scrubber.scrub(line) },
    },
    { write },
  );
}
