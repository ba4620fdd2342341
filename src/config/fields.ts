// Kinds of single values in the configuration: web and broker addresses, topics, days, time zones, listen addresses.
import * as z from 'zod';

/** What people are told about a key. `allowed` completes "allowed: …" in a fault; numbers and choices need none. */
export interface Words {
  readonly description: string;
  readonly example: unknown;
  readonly allowed?: string;
  /** Never shown in faults, and taken from YAML as written: `0123` stays `0123`. */
  readonly private?: true;
  /** Names a file that must be readable when the configuration is loaded. */
  readonly readable?: true;
  /** Stands uncommented in config.example.yaml although it has a default. */
  readonly everyday?: true;
}

export function key<S extends z.ZodType>(schema: S, { example, ...rest }: Words): S {
  return schema.meta({ ...rest, examples: [example] });
}

export const text = z.string().min(1);

export const wholeNumber = (from: number, to: number) => z.int().min(from).max(to);

export const webAddress = text.refine((value) => isPlainUrl(value, ['https:', 'http:']));

export const socketAddress = text.refine((value) => isPlainUrl(value, ['wss:', 'ws:']));

/** After name and password were taken out; those that are still there could not be read. */
export const brokerAddress = text.refine((value) => {
  const url = parseUrl(value, ['mqtt:', 'mqtts:', 'ws:', 'wss:']);
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  // An @ further right is a password with an unescaped / ? or #: the host would be a piece of the password.
  return !`${url.pathname}${url.search}${url.hash}`.includes('@');
});

// Not written as a regular expression literal: the linter forbids NUL there.
const TOPIC = new RegExp(`^(?![$/])[^+#${String.fromCharCode(0)}]+(?<!/)$`);

export const topic = z.string().min(1).max(128).regex(TOPIC);

export const timeZone = text.refine((value) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
});

export const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .refine((code) => Intl.supportedValuesOf('currency').includes(code));

/** The shape only; what each field may hold is known to the caller of loadConfig (`validateCron`). */
export const cronExpression = z.string().regex(/^\s*([\w*/,\-?#]+\s+){4,5}[\w*/,\-?#]+\s*$/);

export const calendarDate = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine((value) => {
    const day = new Date(`${value}T00:00:00Z`);
    return value >= '2000' && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value);
  });

export const hostAndPort = text.refine((value) => splitHostAndPort(value) !== undefined);

/** `127.0.0.1:8099` or `[::1]:8099` in parts; undefined when it is neither. Port 0 means any free port. */
export function splitHostAndPort(value: string): { host: string; port: number } | undefined {
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/i.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

function isPlainUrl(value: string, protocols: readonly string[]): boolean {
  const url = parseUrl(value, protocols);
  return url !== undefined && url.username === '' && url.password === '' && url.hash === '';
}

function parseUrl(value: string, protocols: readonly string[]): URL | undefined {
  if (!URL.canParse(value) || /\s/.test(value)) return undefined;
  const url = new URL(value);
  return protocols.includes(url.protocol) && url.hostname !== '' ? url : undefined;
}
