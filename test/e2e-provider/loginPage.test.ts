// The sign-in on the login page, row by row: what the program makes of a real Keycloak's pages and of the simulator's is the same,
// and what each try cost the account. And a daemon that signs in there.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { signInByForm } from '../../src/auth/form.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { VERIFIER } from '../simulator/browser.ts';
import { openBoth, type Situation, token } from './both.ts';
import { oneTimeCode } from './person.ts';
import {
  CLIENT,
  ME,
  openRealm,
  otpCredential,
  PAGE_CLIENT,
  passwordCredential,
  REDIRECT_URI,
  type Realm,
  type Settings,
} from './realm.ts';
import { OFTEN, openStory } from './story.ts';

const { send } = createHttpClient(systemClock);

interface Row {
  readonly what: string;
  readonly code: string;
  /** Of the realm, of the user and of the client. */
  readonly realm?: Settings;
  readonly user?: Settings;
  readonly client?: Settings;
  readonly arrange?: (realm: Realm) => Promise<unknown>;
  /** What the simulator is told; `null`: it knows nothing of the kind. Default: it is as it is. */
  readonly simulated?: Parameters<typeof token>[0] | null;
  /** Of the address, and what is typed. */
  readonly asked?: Readonly<Record<string, string>>;
  readonly typed?: { readonly username?: string; readonly password?: string };
  readonly totp?: () => string;
  /** What the refusal has to say. */
  readonly words?: RegExp;
  /** How many failures the lock of the account has counted. */
  readonly counted?: number;
}

function addressAt(issuer: string, asked: Readonly<Record<string, string>> = {}): URL {
  const usual = {
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: REDIRECT_URI,
    scope: 'openid service-energy',
    state: 'a-state',
    nonce: 'a-nonce',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
  };
  return new URL(`${issuer}/protocol/openid-connect/auth?${new URLSearchParams({ ...usual, ...asked })}`);
}

async function signedIn(
  issuer: string,
  { asked, typed, totp }: Row,
): Promise<[code: string, message: string]> {
  const signIn = signInByForm({
    authorizationUrl: addressAt(issuer, asked),
    redirectUri: REDIRECT_URI,
    ...{ ...ME, ...typed },
    code: totp ? async () => totp() : null,
    mayConsent: false,
    send,
    timeoutSeconds: 60,
    clock: systemClock,
  });
  return signIn.then(
    ({ searchParams }) => [searchParams.has('code') ? 'signed in' : 'no code', ''],
    (err: unknown) => {
      if (err instanceof Failure) return [err.code, err.message];
      throw err;
    },
  );
}

const OTP = {
  user: { credentials: [passwordCredential(ME.password), otpCredential()] },
  simulated: { oneTimeCodes: new Map([[ME.username, () => oneTimeCode()]]) },
};
const wrongCode = () => (oneTimeCode() === '000000' ? '000001' : '000000');
const NAME_FIRST = {
  arrange: ({ addOrganization }: Realm) => addOrganization(),
  simulated: { identityFirst: true },
};
const OK = 'signed in';
const BAD = 'bad_credentials_or_locked';
type Action = 'UPDATE_PASSWORD' | 'CONFIGURE_TOTP' | 'UPDATE_PROFILE' | 'TERMS_AND_CONDITIONS';
const action = (name: Action, words: RegExp): Row => ({
  what: `the required action ${name}`,
  code: 'account_not_set_up',
  arrange: ({ allow, setUser }) => allow(name).then(() => setUser({ requiredActions: [name] })),
  simulated: { requiredActions: new Map([[ME.username, [name]]]) },
  words,
});
const NOT_SET_UP = { code: 'account_not_set_up', simulated: null };
const ARABIC = { internationalizationEnabled: true, supportedLocales: ['ar'], defaultLocale: 'ar' };
const MORE = { rememberMe: true, registrationAllowed: true, resetPasswordAllowed: true };
const OFF = { accountStates: new Map([[ME.username, 'disabled' as const]]) };
const NO_CONSENT = { consentRequired: true };

test.each<Row>([
  { what: 'the usual page', code: OK },
  { what: 'the older theme', code: OK, realm: { loginTheme: 'keycloak' } },
  { what: 'a page in Arabic, from right to left', code: OK, realm: ARABIC },
  { what: 'a page that remembers, registers and resets', code: OK, realm: MORE },
  { what: 'the user name on a page of its own', code: OK, ...NAME_FIRST },
  { what: 'a second factor that is computed', code: OK, ...OTP, totp: oneTimeCode },
  { what: 'a wrong password', code: BAD, typed: { password: 'no' }, counted: 1 },
  { what: 'an unknown user', code: BAD, typed: { username: 'nobody@example.org' } },
  {
    what: 'in the older theme',
    code: BAD,
    realm: { loginTheme: 'keycloak' },
    typed: { password: 'no' },
    counted: 1,
  },
  { what: 'on a page of its own', code: BAD, ...NAME_FIRST, typed: { password: 'no' }, counted: 1 },
  { what: 'a locked user', code: BAD, arrange: ({ lock }) => lock(), simulated: null, counted: 3 },
  {
    what: 'a limit of sessions',
    code: 'refused_otherwise',
    arrange: async ({ limitSessions, grant }) => {
      await limitSessions(1);
      await grant({ grant_type: 'password', ...ME });
    },
    simulated: { mostSessions: 0 },
    counted: 1,
  },
  { what: 'a disabled user', code: 'account_disabled', user: { enabled: false }, simulated: OFF },
  { what: 'a second factor', code: 'second_factor', ...OTP },
  { what: 'a wrong code', code: 'second_factor_refused', ...OTP, totp: wrongCode, counted: 1 },
  action('UPDATE_PASSWORD', /new password/),
  action('CONFIGURE_TOTP', /second factor/),
  action('UPDATE_PROFILE', /profile/),
  action('TERMS_AND_CONDITIONS', /terms/),
  { what: 'a profile without a name', ...NOT_SET_UP, user: { lastName: '' }, words: /profile/ },
  {
    what: 'an e-mail address to be confirmed',
    ...NOT_SET_UP,
    realm: { verifyEmail: true },
    user: { emailVerified: false },
    words: /e-mail/,
  },
  { what: 'consent', ...NOT_SET_UP, client: NO_CONSENT, simulated: NO_CONSENT, words: /consent/ },
  { what: 'a mistyped scope', code: 'scope_refused', asked: { scope: 'openid service-mistyped' } },
  { what: 'an unknown client', code: 'client_refused', asked: { client_id: 'unknown' } },
  {
    what: 'another address to go back to',
    code: 'client_refused',
    asked: { redirect_uri: 'https://x.example' },
  },
  {
    what: 'a disabled client',
    code: 'client_refused',
    client: { enabled: false },
    simulated: { clientEnabled: false },
  },
  {
    what: 'the flow switched off',
    code: 'client_refused',
    client: { standardFlowEnabled: false },
    simulated: { codeFlowAllowed: false },
  },
])('$what: $code', async (row) => {
  const {
    realm: fields = {},
    user = {},
    client = {},
    arrange,
    simulated = {},
    code,
    words,
    counted = 0,
  } = row;
  const page = { standardFlowEnabled: true, redirectUris: [REDIRECT_URI] };
  const attributes = { 'pkce.code.challenge.method': 'S256' };
  const both = await openBoth({ realm: fields, user, client: { ...page, attributes, ...client } });
  const { realm, simulator } = both;
  token({ pkceRequired: true, redirectUris: [REDIRECT_URI] })(simulator);
  const situation: Situation = {
    at: async (one) => arrange?.(one),
    simulated: token(simulated ?? {}),
  };
  await both.arrange(situation);
  const [found, message] = await signedIn(realm.issuer, row);
  expect([found, message]).toEqual([code, expect.stringMatching(words ?? /^/)]);
  expect(message).not.toContain(ME.password);
  await realm.untilCounted(counted);
  if (simulated !== null) expect((await signedIn(simulator.urls.issuer, row))[0]).toBe(code);
});

const PAGE = { client_id: PAGE_CLIENT, redirect_uri: REDIRECT_URI };

test('auto: the password grant is refused, the page works, and that is remembered', async () => {
  const realm = await openRealm();
  const story = await openStory(realm, { provider: { ...PAGE, sign_in: 'auto' }, usage: OFTEN });
  story.start();
  await story.untilWell();
  await story.untilAsync('a refresh', async () => (await realm.happened('REFRESH_TOKEN')).length > 0);
  // The session ends, and the next login goes straight to the page.
  const refused = (await realm.counts()).LOGIN_ERROR ?? 0;
  await realm.admin.ask('POST', `${realm.at}/logout-all`);
  await story.until('a second login', ({ loginsToday, state }) => loginsToday === 2 && state === 'ok');
  const counts = await realm.counts();
  expect(counts.LOGIN).toBe(2);
  expect(counts.LOGIN_ERROR ?? 0).toBe(refused);
  expect(await realm.failuresCounted()).toBe(0);
});
