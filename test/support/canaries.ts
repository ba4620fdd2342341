// Invented private data as canaries: every story's people have them, and no form of them may be in anything that the program says.
import { expect } from 'vitest';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import type { Exchange, Reply } from '../../src/simulator/exchange.ts';

/** What is true of every invented person beside the login, and two secrets of the household. */
export const CANARY = {
  name: 'Órla Canarywood-Ní Bhriain',
  address: '17 Kanarienvogel Lane, Apartment 4/B, D04 X7Y8',
  phone: '+353 85 555 01 77',
  brokerPassword: 'broker"canary&=%/pw ü',
  opaqueToken: 'opaque~canary_token+0xdeadbeef/Zz9==',
} as const;

/** Claims of the access token that say who a person is. */
export const PERSONAL_CLAIMS = {
  name: CANARY.name,
  address: { formatted: CANARY.address },
  phone_number: CANARY.phone,
};

/** Everything about a person that a careless server may quote, in one text. */
export const about = ({ username, password, customerCode, customerId }: AccountOptions): string =>
  [...Object.values(CANARY), username, password, customerCode, customerId].join(', ');

const b64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** Base64 of a text within a longer one: what is the same whatever stands before and behind. */
const within = (text: string): string[] =>
  ['', '\0', '\0\0'].map((before) => {
    const bytes = Buffer.byteLength(before + text, 'utf8');
    const clean = b64(before + text).slice(0, Math.floor(bytes / 3) * 4);
    return clean.slice(before.length === 0 ? 0 : 4);
  });

// The encoded middle of a short secret may be a part of any word.
const SHORTEST_FORM = 6;

/** Every form in which a secret could be written. */
export const formsOf = (secret: string): Set<string> =>
  new Set([
    secret,
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    ...within(secret),
    ...within(secret).map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
    escaped(secret),
    escaped(escaped(secret)),
    // A line that says something has quotes of its own around it.
    secret.replaceAll("'", "\\'"),
  ]);

/** Its first key, which is `alg`, `typ` or the like: a random nonce may hold the letters `eyJ` too. */
const isJsonWebToken = (text: string): boolean =>
  /^\{"[a-z]{3}/.test(Buffer.from(text.slice(0, 8), 'base64url').toString('latin1'));

/** Fails with the places where a canary, a JSON Web Token or one of `secrets` can be read, in any form. */
export function expectSilence(texts: readonly string[], secrets: Iterable<string> = []): void {
  const text = texts.join('\n');
  const leaks = new Set<string>();
  for (const secret of new Set([...Object.values(CANARY), ...secrets])) {
    for (const form of formsOf(secret)) {
      if (form.length < SHORTEST_FORM) continue;
      const at = text.indexOf(form);
      if (at >= 0) leaks.add(`${form} in …${text.slice(Math.max(0, at - 80), at + form.length + 40)}…`);
    }
  }
  for (const { index, 0: candidate } of text.matchAll(/eyJ[\w-]{8,}/g))
    if (isJsonWebToken(candidate)) leaks.add(text.slice(Math.max(0, index - 60), index + 8));
  expect([...leaks]).toEqual([]);
}

const SECRET_FIELDS =
  'code code_verifier device_code totp otp refresh_token access_token id_token token password credentialId';
/** What the address holds that a person opens, too. */
const LINK_FIELDS = 'state nonce code_challenge session_code tab_id user_code';
// Shorter ones are words such as "none", but for the codes of six digits.
const SHORTEST = 8;

/** Remembers what must stay on the wire between the program and the issuer. */
export function noteSecrets(accounts: readonly AccountOptions[]) {
  const tokens = new Set<string>();
  const secrets = new Set<string>();
  const links = new Set<string>();
  const codes = new Set<string>();

  function note(name: string, value: unknown): void {
    const text = String(value ?? '');
    if (/^\d{6}$/.test(text)) codes.add(text);
    if (text.length < SHORTEST) return;
    if (LINK_FIELDS.split(' ').includes(name)) links.add(text);
    else if (name === 'refresh_token' || name === 'access_token') tokens.add(text);
    else if (SECRET_FIELDS.split(' ').includes(name)) secrets.add(text);
  }
  const neverShown = () =>
    [
      ...accounts.flatMap(({ username, password, customerCode = '', customerId = '' }) => [
        username,
        password,
        customerCode,
        `${customerId}`,
      ]),
      ...tokens,
      ...secrets,
    ].filter((secret) => secret !== '');

  return {
    /** For the simulator. */
    onReply({ path, query, body, headers }: Exchange, reply: Reply): void {
      if (!path.startsWith('/auth/')) return;
      for (const [name, value] of [
        ...query,
        ...Object.entries(Object(body)),
        ...Object.entries(Object(reply.body)),
      ])
        note(name, value);
      for (const pair of (headers.cookie ?? '').split('; ')) note('token', pair.slice(pair.indexOf('=') + 1));
    },
    /** How many went over the wire so far. */
    get count() {
      return tokens.size + secrets.size + links.size + codes.size;
    },
    /** In what the program says to everyone. */
    expectSilence(texts: readonly string[]): void {
      expectSilence(texts, [...neverShown(), ...links]);
      // A number of six digits may be a part of any longer one.
      const text = texts.join('\n');
      const isSaid = (code: string) => new RegExp(`(?<![\\w.])${code}(?![\\w.])`).test(text);
      expect([...codes].filter(isSaid)).toEqual([]);
    },
    /** In what a command prints for the person who opens the address. */
    expectLinkOnly: (texts: readonly string[]) => expectSilence(texts, neverShown()),
    /** In files that hold the tokens. */
    expectTokensOnly: (texts: readonly string[]) =>
      expect([...secrets, ...links].filter((one) => texts.some((text) => text.includes(one)))).toEqual([]),
  };
}
