// A real Keycloak and the simulator side by side: brought into the same situation, asked the same, answers compared.
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { home } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Answer, CLIENT, ME, MY_CODE, openRealm, postForm, type Realm, type Settings } from './realm.ts';

export type Form = Record<string, string>;

export interface Situation {
  readonly at: (realm: Realm) => Promise<unknown>;
  readonly simulated: (simulator: Simulator) => unknown;
}

type Options = Partial<Record<'realm' | 'client' | 'user', Settings>>;

export async function openBoth(options: Options = {}) {
  const realm = await openRealm(options);
  const person = { ...ME, customerCode: MY_CODE, groups: [{ properties: [home()] }] };
  const simulator = await startSimulator({ clock: systemClock, accounts: [person] });
  onTestFinished(() => simulator.stop());
  // Since Keycloak 26.6.
  simulator.switches.token.wrongPasswordStatus = 400;
  simulator.switches.token.lockAfterWrongPasswords = 3;
  simulator.switches.token.pkceRequired = false;
  const issuers = [realm.issuer, simulator.urls.issuer] as const;
  /** `formOf`: by the place of the issuer. */
  const postBoth = (path: string, formOf: (at: number) => Form): Promise<Answer[]> =>
    Promise.all(issuers.map((issuer, at) => postForm(issuer, path, { client_id: CLIENT, ...formOf(at) })));
  return {
    realm,
    simulator,
    postBoth,
    arrange: async ({ at, simulated }: Situation) => {
      await at(realm);
      await simulated(simulator);
    },
    askBoth: (form: Form) => postBoth('/token', () => form),
    /** Each is asked with the refresh token that it gave. */
    refreshBoth: (tokens: readonly string[]) =>
      postBoth('/token', (at) => ({ grant_type: 'refresh_token', refresh_token: tokens[at] ?? '' })),
  };
}

export const PASSWORD = { grant_type: 'password', ...ME, scope: 'openid service-energy' };
export const OK = [200, undefined, undefined];
export const WRONG = [400, 'invalid_grant', 'Invalid user credentials'];
export const NOT_SET_UP = [400, 'invalid_grant', 'Account is not fully set up'];
export const NO_CLIENT = [401, 'invalid_client', 'Invalid client or Invalid client credentials'];
export const STALE = [400, 'invalid_grant', 'Stale token'];
export const NOT_ACTIVE = [400, 'invalid_grant', 'Session not active'];

/** Status, error and words. */
export function expectSame(answers: readonly Answer[], expected: readonly unknown[]): void {
  const [real, simulated] = answers.map(({ status, body }) => [status, body.error, body.error_description]);
  expect(real).toEqual(expected);
  expect(simulated).toEqual(real);
}

export const refreshTokens = (answers: readonly Answer[]): string[] =>
  answers.map(({ body }) => String(body.refresh_token));

export const asItIs: Situation = { at: async () => undefined, simulated: () => undefined };

export const token =
  (fields: Partial<Simulator['switches']['token']>) =>
  ({ switches }: Simulator) =>
    Object.assign(switches.token, fields);

/** Keycloak signs out by whole seconds: a token of the same second would live on. */
export function nextSecond(): Promise<unknown> {
  const now = Math.floor(Date.now() / 1000);
  return waitFor('the next second', () => Math.floor(Date.now() / 1000) > now);
}
