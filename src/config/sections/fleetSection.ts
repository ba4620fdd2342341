// The section of a fleet: several processes that share accounts, state and schedule in PostgreSQL.
import type { SecretForm } from '../secrets/secrets.ts';
import { parseUrl, positiveNumber, secretKeys, section, wholeNumber } from './values.ts';

const KEY_BYTES = 32;

export const databaseUrl: SecretForm = {
  allowed:
    'an address such as postgresql://heat2mqtt_worker:…@db.example.org/heat2mqtt, % in the password written as %25',
  example: 'postgresql://heat2mqtt_worker:secret@db.example.org/heat2mqtt',
  secretIn(text) {
    const url = parseUrl(text.trim(), ['postgres:', 'postgresql:']);
    try {
      return url && (decodeURIComponent(url.password) || text);
    } catch {
      return undefined;
    }
  },
};

const KEY_LINES = /^[A-Za-z0-9+/]{43}=(\s+[A-Za-z0-9+/]{43}=)?$/;

export const sealingKey: SecretForm = {
  allowed:
    'base64 of 32 bytes, as `openssl rand -base64 32` prints it; or two of them, a line each: the first seals, both open',
  example: 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=',
  secretIn: (text) => (KEY_LINES.test(text.trim()) ? text : undefined),
};

/** The bytes of the keys in `fleet.key`. */
export const keysIn = (text: string): Buffer[] =>
  text
    .trim()
    .split(/\s+/)
    .map((key) => Buffer.from(key, 'base64').subarray(0, KEY_BYTES));

export const fleetSection = section({
  ...secretKeys(
    'database_url',
    'The address of the PostgreSQL database, with its user and password',
    '/run/secrets/fleet_database_url',
    databaseUrl,
  ),
  ...secretKeys(
    'key',
    'The key that seals user names, passwords and tokens in the database (base64 of 32 bytes)',
    '/run/secrets/fleet_key',
    sealingKey,
  ),
  claim_seconds: wholeNumber(10, 600)
    .default(60)
    .describe(
      'How long an account stays with a process that is not heard of any more. Renewed while work goes on.',
    ),
  requests_per_second: positiveNumber(10_000, 20).describe(
    'How many requests all processes together send to the provider in a second.',
  ),
});
