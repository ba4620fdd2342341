// The login page row by row: what the program makes of a real Keycloak's pages, and what each try cost the account.
import { expect, test } from 'vitest';
import {
  ME,
  OTP_BASE32,
  openRealm,
  otpCredential,
  PAGE_CLIENT,
  passwordCredential,
  REDIRECT_URI,
  type Realm,
  type Settings,
} from './realm.ts';
import { OFTEN, openStory } from './story.ts';

const PAGE = { client_id: PAGE_CLIENT, redirect_uri: REDIRECT_URI, sign_in: 'form' };

interface Row {
  readonly what: string;
  readonly realm?: Settings;
  readonly user?: Settings;
  readonly client?: Settings;
  readonly arrange?: (realm: Realm) => Promise<unknown>;
  readonly provider?: Settings;
  readonly account?: Settings;
}

/** What `check --live` says of the provider, and what Keycloak has counted. */
async function tryOnce({ realm: fields = {}, user = {}, client = {}, arrange, provider, account }: Row) {
  const realm = await openRealm({ realm: fields, user, pageClient: client });
  await arrange?.(realm);
  const failures = await realm.failuresCounted();
  const before = (await realm.counts()).LOGIN_ERROR ?? 0;
  const story = await openStory(realm, { provider: { ...PAGE, ...provider }, account: account ?? {} });
  const { output, errors } = await story.command('check', '--live', '--json');
  const rows = JSON.parse(output).checks as { check: string; ok: boolean; code?: string; message: string }[];
  const row = rows.find(({ check }) => check.startsWith('provider for'));
  const counts = await realm.counts();
  expect(output + errors).not.toContain(ME.password);
  return {
    ok: row?.ok,
    code: row?.code,
    message: row?.message ?? '',
    logins: counts.LOGIN ?? 0,
    errors: (counts.LOGIN_ERROR ?? 0) - before,
    counted: (await realm.failuresCounted()) - failures,
  };
}

const withOtp = { credentials: [passwordCredential(ME.password), otpCredential()] };

test.each<Row>([
  { what: 'the usual page' },
  { what: 'the older theme', realm: { loginTheme: 'keycloak' } },
  {
    what: 'a page in Arabic, from right to left',
    realm: { internationalizationEnabled: true, supportedLocales: ['ar'], defaultLocale: 'ar' },
  },
  {
    what: 'a page that remembers, registers and resets',
    realm: { rememberMe: true, registrationAllowed: true, resetPasswordAllowed: true },
  },
  {
    what: 'the user name on a page of its own, and a second factor',
    arrange: ({ addOrganization }) => addOrganization(),
    user: withOtp,
    account: { totp_secret: OTP_BASE32 },
  },
])('$what: signed in', async (row) => {
  const { ok, message, logins, errors } = await tryOnce(row);
  expect([ok, message]).toEqual([true, expect.stringContaining('1 heat meter')]);
  expect([logins, errors]).toEqual([1, 0]);
});

const BAD = 'bad_credentials_or_locked';
const action = (name: string, words: RegExp) => ({
  what: `the required action ${name}`,
  arrange: ({ allow, setUser }: Realm) => allow(name).then(() => setUser({ requiredActions: [name] })),
  code: 'account_not_set_up',
  words,
  counted: 0,
});

test.each<Row & { readonly code: string; readonly words?: RegExp; readonly counted: number }>([
  { what: 'a wrong password', account: { password: 'no' }, code: BAD, counted: 1 },
  { what: 'an unknown user', account: { username: 'nobody@example.org' }, code: BAD, counted: 0 },
  {
    what: 'a wrong password, in the older theme',
    realm: { loginTheme: 'keycloak' },
    account: { password: 'no' },
    code: BAD,
    counted: 1,
  },
  {
    what: 'a wrong password on a page of its own',
    arrange: ({ addOrganization }) => addOrganization(),
    account: { password: 'no' },
    code: BAD,
    counted: 1,
  },
  { what: 'a locked user', arrange: ({ lock }) => lock(), code: BAD, counted: 0 },
  { what: 'a disabled user', user: { enabled: false }, code: 'account_disabled', counted: 0 },
  { what: 'a second factor', user: withOtp, code: 'second_factor', counted: 0 },
  {
    what: 'a second factor and a secret that is not its own',
    user: withOtp,
    account: { totp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' },
    code: 'second_factor_refused',
    counted: 1,
  },
  action('UPDATE_PASSWORD', /new password/),
  action('CONFIGURE_TOTP', /second factor/),
  {
    what: 'a profile without a name',
    user: { lastName: '' },
    code: 'account_not_set_up',
    words: /profile/,
    counted: 0,
  },
  {
    ...action('VERIFY_EMAIL', /e-mail/),
    realm: { verifyEmail: true },
    user: { emailVerified: false },
  },
  {
    what: 'consent wanted',
    client: { consentRequired: true },
    code: 'account_not_set_up',
    words: /consent/,
    counted: 0,
  },
  {
    what: 'a scope that the client may not have',
    provider: { scopes: ['openid', 'service-energy', 'service-mistyped'] },
    code: 'scope_refused',
    counted: 0,
  },
  { what: 'an unknown client', provider: { client_id: 'unknown' }, code: 'client_refused', counted: 0 },
])('$what: $code', async (row) => {
  const { ok, code, message, logins, errors, counted } = await tryOnce(row);
  expect({ ok, code, message }).toEqual({
    ok: false,
    code: row.code,
    message: expect.stringMatching(row.words ?? /./),
  });
  expect(logins).toBe(0);
  expect(errors).toBeLessThanOrEqual(1);
  expect(counted).toBe(row.counted);
});

test('auto: the password grant is refused, the page works, and that is remembered', async () => {
  const realm = await openRealm();
  const story = await openStory(realm, { provider: { ...PAGE, sign_in: 'auto' }, usage: OFTEN });
  const program = story.start();
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
  const said = story.probe.heard.map(({ payload }) => payload).join('\n') + program.output + program.errors;
  for (const secret of [
    ME.password,
    'code=',
    'AUTH_SESSION_ID',
    'session_code',
    'kc-form-login',
    'code_verifier',
  ])
    expect(said.includes(secret), secret).toBe(false);
});

test('what the owner has to do elsewhere: tried each time that somebody says so, and its reason stays in health', async () => {
  const realm = await openRealm();
  await realm.allow('TERMS_AND_CONDITIONS');
  await realm.setUser({ requiredActions: ['TERMS_AND_CONDITIONS'] });
  const story = await openStory(realm, { provider: PAGE, usage: OFTEN });
  const program = story.start();
  const polls = () => program.output.split('"poll').length;
  for (let count = 0; count < 3; count += 1) {
    const before = polls();
    await story.until('another poll', () => polls() > before);
    // The log is ahead of what is published.
    await story.until('the words', () => story.health().words.includes('accept the terms'));
  }
  for (let count = 0; count < 2; count += 1) {
    const { code, output } = await story.command('check', '--live');
    expect([code, output]).toEqual([4, expect.stringContaining('accept the terms')]);
  }
  await realm.setUser({ requiredActions: [] });
  const { code, output } = await story.command('check', '--live');
  expect([code, output]).toEqual([0, expect.stringContaining('signed in')]);
  await story.untilWell();
  expect(await realm.failuresCounted()).toBe(0);
});
