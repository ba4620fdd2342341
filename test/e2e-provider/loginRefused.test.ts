// A refused password grant under a running daemon: what it becomes on health, and what it cost the account. What Keycloak says in
// each situation is in agreement.test.ts, and what that means in test/auth/refusals.test.ts.
import { expect, test } from 'vitest';
import {
  CLIENT,
  ME,
  openRealm,
  otpCredential,
  passwordCredential,
  type Realm,
  type Settings,
} from './realm.ts';
import { OFTEN, openStory } from './story.ts';

interface Row {
  readonly what: string;
  readonly user?: Settings;
  readonly client?: Settings;
  readonly arrange?: (realm: Realm) => Promise<unknown>;
  readonly provider?: Settings;
  readonly account?: Settings;
  /** `<state of the account>/<code of the reason>` */
  readonly becomes: string;
  /** What the advice has to name. */
  readonly names?: RegExp;
  /** How many failures the lock of the account has counted. */
  readonly counted?: number;
}

const BAD = 'bad_credentials_or_locked/bad_credentials_or_locked';
const ROWS: readonly Row[] = [
  { what: 'a wrong password', account: { password: 'no' }, becomes: BAD, names: /lock/i, counted: 1 },
  {
    what: 'a locked user',
    arrange: ({ lock }) => lock(),
    becomes: BAD,
    names: /lock/i,
    counted: 0,
  },
  {
    what: 'a second factor',
    user: { credentials: [passwordCredential(ME.password), otpCredential()] },
    becomes: BAD,
    names: /second factor.*totp_secret/i,
    counted: 1,
  },
  {
    what: 'a temporary password',
    user: { credentials: [{ ...passwordCredential(ME.password), temporary: true }] },
    becomes: 'needs_user_action/account_not_set_up',
    counted: 0,
  },
  {
    what: 'direct access grants switched off, and no way named',
    client: { directAccessGrantsEnabled: false, standardFlowEnabled: true },
    becomes: 'login_needed/login_needed',
    names: /heat2mqtt login.*redirect_uri.*Direct access grants/,
    counted: 0,
  },
  {
    what: 'an unknown client',
    provider: { client_id: 'unknown' },
    becomes: 'needs_user_action/client_refused',
    names: /client_id.*Poll now/,
    counted: 0,
  },
  {
    what: 'a scope that the client may not have',
    provider: { scopes: ['openid', 'service-energy', 'service-mistyped'] },
    becomes: 'needs_user_action/scope_refused',
    names: /provider\.scopes.*Poll now/,
    counted: 0,
  },
];

test.each(ROWS)('$what: $becomes', async (row) => {
  const { user = {}, client = {}, becomes, names, counted } = row;
  const realm = await openRealm({ user, client });
  await row.arrange?.(realm);
  const failures = await realm.failuresCounted();
  const story = await openStory(realm, {
    provider: row.provider ?? {},
    account: row.account ?? {},
    usage: OFTEN,
  });
  const program = story.start();
  const isThere = await story.until(becomes, ({ auth, codes }) =>
    codes.some((code) => `${auth}/${code}` === becomes),
  );
  expect(isThere).toBe(true);
  const { state, words, lastError } = story.health();
  expect(state).toBe('failing');
  expect(lastError).not.toBeNull();
  if (names) expect(words).toMatch(names);

  // Two polls later it still has been tried once.
  const polls = () => program.output.split('"poll').length;
  const before = (await realm.counts()).LOGIN_ERROR ?? 0;
  const seen = polls();
  await story.until('two polls more', () => polls() > seen + 1);
  const counts = await realm.counts();
  expect(counts.LOGIN_ERROR ?? 0).toBe(before);
  expect(counts).not.toHaveProperty('LOGIN');
  if (counted !== undefined) expect(await realm.failuresCounted()).toBe(failures + counted);
  expect(program.output + program.errors).not.toContain(ME.password);
});

test('a mistyped realm is named as such', async () => {
  const realm = await openRealm();
  const story = await openStory(realm, {
    provider: { issuer: `${realm.issuer}-mistyped`, client_id: CLIENT },
  });
  story.start();
  await story.until('trouble', ({ codes }) => codes.length > 0);
  const { auth, words } = story.health();
  expect(auth).toBe('provider_down');
  expect(words).toMatch(/realm/i);
});
