// Invented private data as canaries: in every form in which it could leave the program, and the check that none did.
import { expect } from 'vitest';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { home } from './homes.ts';

export const CANARY = {
  password: `kän"a\\ry '$&+=%/?#:@; pässwort`,
  brokerPassword: 'broker"canary&=%/pw ü',
  email: 'orla.canarywood+heat@mail.example.org',
  name: 'Órla Canarywood-Ní Bhriain',
  address: '17 Kanarienvogel Lane, Apartment 4/B, D04 X7Y8',
  phone: '+353 85 555 01 77',
  customerCode: 'CANARY-CODE-5501-77Q',
  customerId: 998_877_661,
  opaqueToken: 'opaque~canary_token+0xdeadbeef/Zz9==',
} as const;

/** The account of whom all this is true. */
export const THEM = {
  username: CANARY.email,
  password: CANARY.password,
  customerCode: CANARY.customerCode,
  customerId: CANARY.customerId,
  groups: [{ properties: [home()] }],
} satisfies AccountOptions;

/** Everything about a person that a careless server may quote, in one text. */
export const ABOUT_THEM = [CANARY.name, CANARY.address, CANARY.email, CANARY.phone, CANARY.customerCode].join(
  ', ',
);

const b64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** Base64 of a text within a longer one: what is the same whatever stands before and behind. */
const within = (text: string): string[] =>
  ['', '\0', '\0\0'].map((before) => {
    const bytes = Buffer.byteLength(before + text, 'utf8');
    const clean = b64(before + text).slice(0, Math.floor(bytes / 3) * 4);
    return clean.slice(before.length === 0 ? 0 : 4);
  });

export function formsOf(secret: string): string[] {
  return [
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
  ];
}

/** Fails with the places where any of the secrets can be read, in any of its forms. */
export function expectSilence(texts: readonly string[], more: readonly string[] = []): void {
  const secrets = [...Object.values(CANARY).map(String), ...more];
  const leaks = new Set<string>();
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      for (const text of texts) {
        const at = text.indexOf(form);
        if (at >= 0) leaks.add(`${form} in …${text.slice(Math.max(0, at - 80), at + form.length + 40)}…`);
      }
    }
  }
  expect([...leaks]).toEqual([]);
  expect(texts.filter((text) => /eyJ[\w-]{8,}/.test(text))).toEqual([]);
}
