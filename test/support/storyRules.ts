// The usual configuration of a story, and how another one is laid over it.
import type { AccountOptions } from '../../src/simulator/accounts.ts';

export type Section = Readonly<Record<string, unknown>>;

/** Accounts are called home, home2 and so on. */
export function usualConfig(
  { issuer, api }: { readonly issuer: string; readonly api: string },
  accounts: readonly AccountOptions[],
  brokerUrl: string,
  stateDir: string,
): Record<string, Section | readonly Section[] | string> {
  return {
    provider: { issuer, api_url: api, client_id: 'self-care' },
    accounts: accounts.map(({ username, password }, at) => ({
      id: at === 0 ? 'home' : `home${at + 1}`,
      username,
      password,
    })),
    // What the simulator holds for true is told by the days on which readings are taken.
    usage: { history_since: '2025-01-01', jitter_seconds: 0, reading_closes: 'same_day' },
    mqtt: { url: brokerUrl },
    http: { listen: '127.0.0.1:0' },
    state_dir: stateDir,
  };
}

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
