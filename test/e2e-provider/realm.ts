// A realm of a test: one client with direct access grants, one without, and whoever lives there.
import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import { Admin } from './admin.ts';

export type Settings = Readonly<Record<string, unknown>>;
export type Realm = Awaited<ReturnType<typeof openRealm>>;

/** The password grant is for this client. */
export const CLIENT = 'self-care';
/** The login page is for this client. */
export const PAGE_CLIENT = 'portal';
export const REDIRECT_URI = 'http://127.0.0.1:9/portal/after-sign-in';
export const SCOPE = 'service-energy';

export const ME = { username: 'me@example.org', password: 'p ä"$\\\'#:% of the tests' };
export const MY_CODE = 'code-of-me';

interface Happened {
  readonly type: string;
  readonly details?: Readonly<Record<string, string>>;
}

interface Key {
  readonly id: string;
  readonly name: string;
  readonly providerId: string;
  readonly config: Readonly<Record<string, string[] | undefined>>;
}

interface RealmOptions {
  /** Over the usual: access tokens that live ten seconds, rotation, a lock after three wrong passwords. */
  readonly realm?: Settings;
  /** Of the only user: `me@example.org`. */
  readonly user?: Settings;
  /** Of the client with direct access grants. */
  readonly client?: Settings;
  readonly pageClient?: Settings;
  /** Default: the one that all tests share. */
  readonly url?: string;
}

const USUAL = {
  enabled: true,
  sslRequired: 'none',
  accessTokenLifespan: 10,
  ssoSessionIdleTimeout: 180,
  ssoSessionMaxLifespan: 600,
  revokeRefreshToken: true,
  refreshTokenMaxReuse: 0,
  bruteForceProtected: true,
  failureFactor: 3,
  // A second wrong password within a second would lock as well.
  quickLoginCheckMilliSeconds: 0,
  eventsEnabled: true,
  // Refreshes are not among the usual ones.
  enabledEventTypes: [
    ...['LOGIN', 'REFRESH_TOKEN', 'CODE_TO_TOKEN', 'OAUTH2_DEVICE_CODE_TO_TOKEN', 'LOGOUT', 'REVOKE_GRANT'],
    ...['LOGIN_ERROR', 'REFRESH_TOKEN_ERROR', 'CODE_TO_TOKEN_ERROR', 'OAUTH2_DEVICE_CODE_TO_TOKEN_ERROR'],
  ],
};

export async function openRealm({ url = inject('keycloak'), ...options }: RealmOptions = {}) {
  const admin = new Admin(url);
  const name = `energy-${randomUUID().slice(0, 8)}`;
  const at = `/${name}`;
  await admin.ask('POST', '', { realm: name, ...USUAL, ...options.realm });
  // The customer code is an attribute that the realm's profile does not know.
  await admin.patch(`${at}/users/profile`, { unmanagedAttributePolicy: 'ENABLED' });
  await admin.ask('POST', `${at}/client-scopes`, {
    name: SCOPE,
    protocol: 'openid-connect',
    attributes: { 'include.in.token.scope': 'true' },
    protocolMappers: [
      {
        name: 'customer code',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-usermodel-attribute-mapper',
        config: {
          'user.attribute': 'customer_code',
          'claim.name': 'customer_code',
          'jsonType.label': 'String',
          'access.token.claim': 'true',
        },
      },
    ],
  });
  const addClient = async (clientId: string, settings: Settings, scopes: readonly string[] = [SCOPE]) => {
    const common = { clientId, publicClient: true, standardFlowEnabled: false };
    await admin.ask('POST', `${at}/clients`, { ...common, ...settings });
    const all = await admin.ask<{ id: string; name: string }[]>('GET', `${at}/client-scopes`);
    for (const { id } of all.filter((one) => scopes.includes(one.name))) {
      await admin.ask('PUT', `${await client(clientId)}/optional-client-scopes/${id}`);
    }
  };
  const client = async (clientId: string) => {
    const [found] = await admin.ask<{ id: string }[]>('GET', `${at}/clients?clientId=${clientId}`);
    return `${at}/clients/${found?.id}`;
  };
  await addClient(CLIENT, { directAccessGrantsEnabled: true, ...options.client });
  await addClient(PAGE_CLIENT, {
    standardFlowEnabled: true,
    directAccessGrantsEnabled: false,
    redirectUris: [REDIRECT_URI],
    attributes: { 'pkce.code.challenge.method': 'S256' },
    ...options.pageClient,
  });

  const user = async (username: string) => {
    const asked = `username=${encodeURIComponent(username)}&exact=true`;
    const [found] = await admin.ask<{ id: string }[]>('GET', `${at}/users?${asked}`);
    return `${at}/users/${found?.id}`;
  };
  /** What the token endpoint answers. */
  const grant = (form: Record<string, string>) =>
    postForm(`${url}/realms/${name}`, '/token', { client_id: CLIENT, ...form });
  /** By the lock of the account. */
  const failuresCounted = async (): Promise<number> => {
    const id = (await user(ME.username)).split('/').at(-1);
    const path = `${at}/attack-detection/brute-force/users/${id}`;
    return (await admin.ask<{ numFailures: number }>('GET', path)).numFailures;
  };
  /** Keycloak counts them a moment after it has answered. */
  const untilCounted = (failures: number) =>
    waitFor(`${failures} failures counted`, async () => (await failuresCounted()) === failures);
  await admin.ask('POST', `${at}/users`, {
    username: ME.username,
    email: ME.username,
    emailVerified: true,
    enabled: true,
    firstName: 'Orla',
    lastName: 'Invented',
    attributes: { customer_code: [MY_CODE] },
    credentials: [passwordCredential(ME.password)],
    ...options.user,
  });

  const happened = (type?: string) =>
    admin.ask<Happened[]>('GET', `${at}/events?max=1000${type === undefined ? '' : `&type=${type}`}`);
  return {
    name,
    issuer: `${url}/realms/${name}`,
    admin,
    /** Where it is below `/admin/realms`. */
    at,
    user,
    client,
    set: (fields: Settings) => admin.patch(at, fields),
    setClient: async (fields: Settings, clientId = CLIENT) => admin.patch(await client(clientId), fields),
    setUser: async (fields: Settings) => admin.patch(await user(ME.username), fields),
    setPassword: async (value: string) =>
      admin.ask('PUT', `${await user(ME.username)}/reset-password`, passwordCredential(value)),
    /** The user name gets a page of its own only where there is an organization. */
    async addOrganization(): Promise<void> {
      await admin.patch(at, { organizationsEnabled: true });
      const domains = [{ name: 'northlight.example' }];
      await admin.ask('POST', `${at}/organizations`, { name: 'Northlight', alias: 'northlight', domains });
    },
    /** So many sessions for each user, at the password grant and on the login page; one more is refused. */
    async limitSessions(most: number): Promise<void> {
      const flows = `${at}/authentication/flows`;
      for (const [flow, within] of [
        ['direct grant', ''],
        ['browser', ' forms'],
      ]) {
        await admin.ask('POST', `${flows}/${flow}/copy`, { newName: `limited ${flow}` });
        const place = `${flows}/limited ${flow}${within}/executions`;
        await admin.ask('POST', `${place}/execution`, { provider: 'user-session-limits' });
        const all = await admin.ask<{ id: string; providerId: string }[]>('GET', place);
        const limit = all.find(({ providerId }) => providerId === 'user-session-limits');
        await admin.ask('PUT', place, { ...limit, requirement: 'REQUIRED' });
        await admin.ask('POST', `${at}/authentication/executions/${limit?.id}/config`, {
          alias: `limit of ${flow}`,
          config: { behavior: 'Deny new session', userRealmLimit: String(most), userClientLimit: '0' },
        });
      }
      await admin.patch(at, { directGrantFlow: 'limited direct grant', browserFlow: 'limited browser' });
    },
    /** Some required actions are off in a new realm. */
    allow: (action: string) =>
      admin.patch(`${at}/authentication/required-actions/${action}`, { enabled: true }),
    /** What Keycloak has written down, newest first. */
    happened,
    /** How often, by the type of the event. */
    async counts(): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const { type } of await happened()) counts[type] = (counts[type] ?? 0) + 1;
      return counts;
    },
    /** New keys that sign from now on; the old ones are kept for older tokens, or not. */
    async renewKeys({ keepOld }: { readonly keepOld: boolean }): Promise<void> {
      const { id: parentId } = await admin.ask<{ id: string }>('GET', at);
      const providerType = 'org.keycloak.keys.KeyProvider';
      const all = await admin.ask<Key[]>('GET', `${at}/components?type=${providerType}`);
      for (const { name: before, providerId, config } of all) {
        const fresh = { priority: ['200'], algorithm: config.algorithm ?? [] };
        const key = { name: `${before}-2`, providerId, providerType, parentId, config: fresh };
        await admin.ask('POST', `${at}/components`, key);
      }
      if (keepOld) return;
      for (const { id } of all) await admin.ask('DELETE', `${at}/components/${id}`);
    },
    failuresCounted,
    untilCounted,
    /** Wrong passwords until the account is locked. */
    async lock() {
      // Keycloak counts afterwards, and may lose one of two that it counts at the same time.
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        await grant({ grant_type: 'password', ...ME, password: 'no' });
        await untilCounted(attempt);
      }
    },
    sessions: async () => admin.ask<{ id: string }[]>('GET', `${await user(ME.username)}/sessions`),
    grant,
  };
}

export const passwordCredential = (value: string) => ({ type: 'password', value, temporary: false });

/** What an authenticator app would be told: its bytes are those of the text. */
export const OTP_SECRET = 'invented-secret-0001';

export const otpCredential = () => ({
  type: 'otp',
  secretData: JSON.stringify({ value: OTP_SECRET }),
  credentialData: JSON.stringify({
    subType: 'totp',
    digits: 6,
    period: 30,
    algorithm: 'HmacSHA1',
    counter: 0,
  }),
});

export interface Answer {
  readonly status: number;
  /** Empty where the answer is. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** To an endpoint below `protocol/openid-connect`. */
export async function postForm(issuer: string, path: string, form: Record<string, string>): Promise<Answer> {
  // As the program asks: a browser gets a page for some errors.
  const request = {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(form),
  };
  const reply = await fetch(`${issuer}/protocol/openid-connect${path}`, request);
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? {} : JSON.parse(text) };
}
