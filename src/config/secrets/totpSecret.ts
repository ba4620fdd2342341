// The secret of one-time codes: base32 as a provider shows it at the set-up, or the otpauth:// address of its QR code.
import type { SecretForm } from './secrets.ts';

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

export const totpSecret: SecretForm = {
  allowed:
    'base32 (at least 16 of A to Z and 2 to 7; blanks and lower case are fine), or an address that starts with otpauth://totp/',
  example: 'HEAT 2MQT TEXA MPLE',
  secretIn: (text) => totpParameters(text)?.secret,
};
