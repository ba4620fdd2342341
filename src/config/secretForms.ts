// Forms that a secret may have, by the name of its key: any text, the secret of one-time codes, or what a fleet needs.

export interface SecretForm {
  /** Completes "allowed: …". */
  readonly allowed: string;
  readonly example: string;
  /** The part of the text that is the secret itself; undefined when the text has another form. */
  readonly secretIn: (text: string) => string | undefined;
}

const anyText: SecretForm = {
  allowed: 'a text that is not empty',
  example: 'correct horse battery staple',
  secretIn: (text) => text || undefined,
};

const ALGORITHMS = ['SHA1', 'SHA256', 'SHA512'] as const;

/** What one-time codes are computed from. */
export interface TotpParameters {
  /** Base32 in capital letters, without blanks and padding. */
  readonly secret: string;
  readonly algorithm: (typeof ALGORITHMS)[number];
  readonly digits: number;
  /** In seconds. */
  readonly period: number;
}

/** Undefined for anything that is neither base32 nor an otpauth:// address of time-based codes. */
export function totpParameters(text: string): TotpParameters | undefined {
  const trimmed = text.trim();
  const uri = /^otpauth:/i.test(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (uri !== undefined && uri.hostname.toLowerCase() !== 'totp') return undefined;
  const given = (name: string, usual: string) => uri?.searchParams.get(name) ?? usual;
  const secret = given('secret', uri === undefined ? trimmed : '')
    .replace(/\s|=+$/g, '')
    .toUpperCase();
  const name = given('algorithm', 'SHA1').toUpperCase().replace('-', '');
  const algorithm = ALGORITHMS.find((known) => known === name);
  const digits = Number(given('digits', '6'));
  const period = Number(given('period', '30'));
  // A shorter one is a one-time code rather than the secret of codes.
  const isFine = /^[A-Z2-7]{16,}$/.test(secret) && [6, 7, 8].includes(digits);
  if (!isFine || algorithm === undefined || !Number.isInteger(period) || period < 1) return undefined;
  return { secret, algorithm, digits, period };
}

const KEY_BYTES = 32;
const KEY_LINES = /^[A-Za-z0-9+/]{43}=(\s+[A-Za-z0-9+/]{43}=)?$/;

/** The bytes of the keys in `fleet.key`. */
export const keysIn = (text: string): Buffer[] =>
  text
    .trim()
    .split(/\s+/)
    .map((key) => Buffer.from(key, 'base64').subarray(0, KEY_BYTES));

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

/** `name`: of the key under which the secret is written inline. */
export const formOf = (name: string): SecretForm => FORMS[name] ?? anyText;
