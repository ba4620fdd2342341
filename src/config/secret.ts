// A secret that can be read but not printed: given as text, or in a file that is read again each time.
import { inspect } from 'node:util';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Scrubber } from '../foundation/log.ts';
import type { SecretForm } from './secretForms.ts';

export type ReadFile = (path: string) => Promise<Uint8Array | string>;

/** The file of a secret is gone, empty or not text. */
export class SecretUnreadable extends Failure {
  readonly code = 'secret_unreadable';
  readonly exitCode = EXIT.config;
  readonly found: string;

  constructor(
    path: string,
    found: string,
    hint = 'Put the file back, readable for the user heat2mqtt runs as; no restart is needed.',
  ) {
    super(`The secret in ${path} cannot be read: ${found}.`, { retry: 'later', hint });
    this.found = found;
  }
}

/** Printed as `[secret]`. Each value read is registered with the scrubber. */
export class Secret {
  /** Where it comes from: `inline`, `environment HEAT2MQTT_PASSWORD` or `file /run/secrets/x`. */
  readonly origin: string;
  /** The file that it is read from; undefined for one that is given as text. */
  readonly path: string | undefined;
  readonly #read: () => Promise<string>;
  readonly #scrubber: Scrubber;

  constructor(origin: string, read: () => Promise<string>, scrubber: Scrubber, path?: string) {
    this.origin = origin;
    this.path = path;
    this.#read = read;
    this.#scrubber = scrubber;
  }

  /** The value as it is now, never empty. Fails with SecretUnreadable. */
  async read(): Promise<string> {
    const value = await this.#read();
    this.#scrubber.register(value);
    return value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

export async function readSecretFile(path: string, readFile: ReadFile, form: SecretForm): Promise<string> {
  let value: string;
  try {
    value = trimNewline(decodeText(await readFile(path)));
  } catch (error) {
    throw new SecretUnreadable(path, whyUnreadable(error));
  }
  if (value === '') throw new SecretUnreadable(path, 'it is empty');
  if (form.secretIn(value) === undefined)
    throw new SecretUnreadable(path, 'it holds something else', `It has to hold ${form.allowed}.`);
  return value;
}

/** Fails on bytes that are not UTF-8: replacing them would log in with a different password. */
export function decodeText(content: Uint8Array | string): string {
  if (typeof content === 'string') return content;
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
}

/** One line without the path, which may be a password put into the wrong key. */
export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return WHY.get(code) ?? `cannot be read${code === '' ? '' : ` (${code})`}`;
}

export const NO_SUCH_FILE = 'no such file';
const WHY = new Map([
  ['ENOENT', NO_SUCH_FILE],
  ['ENOTDIR', NO_SUCH_FILE],
  ['ENAMETOOLONG', NO_SUCH_FILE],
  ['ERR_INVALID_ARG_VALUE', NO_SUCH_FILE],
  ['EISDIR', 'a directory'],
  ['EACCES', 'a file this user may not read'],
  ['EPERM', 'a file this user may not read'],
  ['ERR_ENCODING_INVALID_ENCODED_DATA', 'not UTF-8 text'],
]);

export const trimNewline = (value: string): string => value.replace(/\r?\n$/, '');
