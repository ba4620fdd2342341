// What every house has in common: its usual configuration, and that it keeps what is private to itself.
import { expect } from 'vitest';
import type { AccountOptions } from '../../src/simulator/accounts.ts';

export type Section = Readonly<Record<string, unknown>>;

/** One configuration over another, section by section. */
export function laidOver(
  usual: Record<string, unknown>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isSection = (value: unknown): value is Section =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const merged = { ...usual };
  for (const [key, value] of Object.entries(over)) {
    const known = merged[key];
    merged[key] = isSection(known) && isSection(value) ? { ...known, ...value } : value;
  }
  return merged;
}

/** Neither topics nor log may tell who somebody is, or how to pose as them. */
export function expectNoSecret(accounts: readonly AccountOptions[], texts: readonly string[]): void {
  const secrets = accounts.flatMap(({ username, password, customerCode }) => [
    username,
    password,
    customerCode ?? '',
  ]);
  for (const secret of secrets.filter((one) => one !== '')) {
    expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  }
  expect(texts.filter((text) => /eyJ[\w-]{8,}/.test(text))).toEqual([]);
}
