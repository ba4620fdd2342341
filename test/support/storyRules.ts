// The usual configuration of a story, and how another one is laid over it.
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { type Fields, isFields } from './fields.ts';

/** Accounts are called home, home2 and so on. */
export function usualConfig(
  { issuer, api }: { readonly issuer: string; readonly api: string },
  accounts: readonly AccountOptions[],
  brokerUrl: string,
  stateDir: string,
): Record<string, Fields | readonly Fields[] | string> {
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
export function laidOver(usual: Record<string, unknown>, over: Fields): Record<string, unknown> {
  const merged = { ...usual };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isFields(before) && isFields(value) ? { ...before, ...value } : value;
  }
  return merged;
}
