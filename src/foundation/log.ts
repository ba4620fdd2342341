// Logging with pino, one child per room; every line passes a scrubber that knows the secrets by value.
import { type Logger, pino } from 'pino';

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
  const secrets = new Set<string>();
  const tokens = new Set<string>();
  let longestFirst: string[] = [];

  function remember(secret: string, among: Set<string>): void {
    if (secret.length < SHORTEST_SECRET || among.has(secret)) return;
    among.add(secret);
    const [oldest] = tokens;
    if (tokens.size > NEWEST_TOKENS && oldest !== undefined) tokens.delete(oldest);
    const forms = new Set([...secrets, ...tokens].flatMap(writtenForms));
    longestFirst = [...forms].sort((a, b) => b.length - a.length);
  }

  return {
    register: (secret) => remember(secret, secrets),
    registerToken: (token) => remember(token, tokens),
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
