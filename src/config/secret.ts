// A secret that can be read but not printed: given as text, or in a file that is read again each time; and the forms it may have.
import { inspect } from 'node:util';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Scrubber } from '../foundation/log.ts';

export type ReadFile = (path: string) => Promise<Uint8Array | string>;

/** Printed as `[secret]`. Each value read is registered with the scrubber. */
export class Secret {
  /** Its origin: `inline`, `environment HEAT2MQTT_PASSWORD` or `file /run/secrets/x`. */
  readonly origin: string;
  /** The file that it is read from; undefined for one that is given as text. */
  readonly path: string | undefined;
  readonly #readText: () => Promise<string>;
  readonly #scrubber: Scrubber;
  readonly #form: SecretForm;

  constructor(
    origin: string,
    readText: () => Promise<string>,
    scrubber: Scrubber,
    form: SecretForm = ANY_TEXT,
    path?: string,
  ) {
    this.origin = origin;
    this.path = path;
    this.#readText = readText;
    this.#scrubber = scrubber;
    this.#form = form;
  }

  /** The value as it is now, or what is wrong with it, in words without its text. */
  async look(): Promise<{ readonly value: string } | { readonly found: string }> {
    try {
      const value = await this.#readText();
      const secret = this.#form.secretIn(value);
      // Nothing that is printed may have the text, or the part of it that is the secret itself.
      for (const each of new Set([value, secret])) if (each) this.#scrubber.register(each);
      if (value === '') return { found: 'it is empty' };
      return secret === undefined ? { found: 'it holds something else' } : { value };
    } catch (error) {
      return { found: whyUnreadable(error) };
    }
  }

  /** The value as it is now, never empty. Rejects with secret_unreadable. */
  async read(): Promise<string> {
    const looked = await this.look();
    if ('value' in looked) return looked.value;
    throw failure('secret_unreadable', `The secret in ${this.path} cannot be read: ${looked.found}.`, {
      exit: EXIT.config,
      retry: 'later',
      hint: `Let the file hold ${this.#form.allowed}, and be readable for the user heat2mqtt runs as; no restart is needed.`,
    });
  }

  /** An oddity of the present value that may not be meant, as a sentence without its text; `null`: none. */
  async caution(): Promise<string | null> {
    const looked = await this.look();
    const oddities = this.#form === ANY_TEXT && 'value' in looked ? odditiesIn(looked.value) : [];
    if (oddities.length === 0) return null;
    const place = this.origin === 'inline' ? 'the configuration' : this.origin.replace(/^environment /, '');
    const where = this.path === undefined ? `What is in ${place}` : `The file ${this.path}`;
    const list = new Intl.ListFormat('en-GB').format(oddities);
    return `${where} has ${list}, and is sent as it is. If that is not meant, take it out.`;
  }

  toString = () => '[secret]';
  readonly toJSON = this.toString;
  readonly [inspect.custom] = this.toString;
}

/** Fails on bytes that are not UTF-8: replacing them would log in with a different password. */
export function decodeText(content: Uint8Array | string): string {
  if (typeof content === 'string') return content;
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
}

/** One line without the path, which may be a password put into the wrong key. */
export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return WHY[code] ?? `cannot be read${code === '' ? '' : ` (${code})`}`;
}

export const NO_SUCH_FILE = 'no such file';
const WHY: Readonly<Record<string, string>> = {
  ENOENT: NO_SUCH_FILE,
  EISDIR: 'a directory (Docker makes one when the file to mount is not there)',
  EACCES: 'a file this user may not read',
  EPERM: 'a file this user may not read',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'not UTF-8 text',
};

export const trimNewline = (value: string): string => value.replace(/\r?\n$/, '');

/** Characters that editors, shells and Docker add to a password unnoticed. Only the last newline of a file is taken away. */
function odditiesIn(text: string): string[] {
  const inner = text.replace(/[\r\n]+$/, '');
  const oddities: readonly (readonly [boolean, string])[] = [
    [text.startsWith('\ufeff'), 'a byte order mark at its beginning'],
    [text.includes('\0'), 'a NUL'],
    [/[^\P{Cc}\0\t\r\n]/u.test(text), 'a control character'],
    [/\p{Cf}/u.test(text.replace(/^\ufeff/, '')), 'an invisible character'],
    [/[\r\n]/.test(inner), 'more than one line'],
    [/^\s/u.test(inner.replace(/^\ufeff/, '')), 'a blank at its beginning'],
    [/\s$/u.test(inner), 'a blank at its end'],
    [/^(['"]).*\1$/su.test(inner), 'quotes around it'],
    [inner !== text, 'a second newline at its end'],
  ];
  return oddities.flatMap(([isThere, words]) => (isThere ? words : []));
}

const ANY_TEXT = {
  /** Completes "allowed: …". */
  allowed: 'a text that is not empty',
  example: 'correct horse battery staple',
  /** The part of the text that is the secret itself; undefined when the text has another form. */
  secretIn: (text: string): string | undefined => text || undefined,
};
type SecretForm = Readonly<typeof ANY_TEXT>;

/**
 * The parameters of one-time codes: `secret` in base32, capital letters without blanks and padding; `period` in seconds.
 * Undefined for anything that is neither base32 nor an otpauth:// address of time-based codes.
 */
export function totpParameters(text: string) {
  const trimmed = text.trim();
  const uri = /^otpauth:/i.test(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (uri !== undefined && uri.hostname.toLowerCase() !== 'totp') return undefined;
  const given = (name: string, usual: string) => uri?.searchParams.get(name) ?? usual;
  const secret = given('secret', uri === undefined ? trimmed : '')
    .replace(/\s|=+$/g, '')
    .toUpperCase();
  const algorithm = given('algorithm', 'SHA1').toUpperCase().replace('-', '');
  const digits = Number(given('digits', '6'));
  const period = Number(given('period', '30'));
  // A shorter one is a one-time code rather than the secret of codes.
  const isFine = /^[A-Z2-7]{16,}$/.test(secret) && /^SHA(1|256|512)$/.test(algorithm);
  if (!isFine || ![6, 7, 8].includes(digits) || !Number.isInteger(period) || period < 1) return undefined;
  return { secret, algorithm, digits, period };
}

const KEY_LINES = /^[A-Za-z0-9+/]{43}=(\s+[A-Za-z0-9+/]{43}=)?$/;

/** The bytes of the keys in `fleet.key`. */
export const keysIn = (text: string): Buffer[] =>
  Array.from(text.matchAll(/\S+/g), ([key]) => Buffer.from(key, 'base64'));

function databasePassword(text: string): string | undefined {
  const isDatabase = /^postgres(ql)?:\/\/[^\s/]\S*$/.test(text.trim()) && URL.canParse(text.trim());
  try {
    return isDatabase ? decodeURIComponent(new URL(text.trim()).password) || text : undefined;
  } catch {
    return undefined;
  }
}

const FORMS: Readonly<Record<string, SecretForm>> = {
  totp_secret: {
    allowed:
      'base32 (at least 16 of A to Z and 2 to 7; blanks and lower case are fine), or an address that starts with otpauth://totp/',
    example: 'HEAT 2MQT TEXA MPLE',
    secretIn: (text) => totpParameters(text)?.secret,
  },
  database_url: {
    allowed:
      'an address such as postgresql://heat2mqtt_worker:…@db.example.org/heat2mqtt, % in the password written as %25',
    example: 'postgresql://heat2mqtt_worker:secret@db.example.org/heat2mqtt',
    secretIn: databasePassword,
  },
  key: {
    allowed:
      'base64 of 32 bytes, as `openssl rand -base64 32` prints it; or two of them, a line each: the first seals, both open',
    example: 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=',
    secretIn: (text) => (KEY_LINES.test(text.trim()) ? text : undefined),
  },
};

/** The form of a secret, by the name of the key under which it is written inline. */
export const formOf = (name: string): SecretForm => FORMS[name] ?? ANY_TEXT;
