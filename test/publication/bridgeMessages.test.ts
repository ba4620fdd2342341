// The health of the bridge: what waiting cures, what needs a person, and its last error.
import { expect, test } from 'vitest';
import type { AuthState } from '../../src/domain/health.ts';
import { healthOf } from '../../src/publication/messages.ts';
import { WELL } from '../support/inventedHome.ts';

const HOME = WELL.auth.home as NonNullable<typeof WELL.auth.home>;
const LONG = `${'x'.repeat(249)}🔥🔥🔥`;

const auth = (state: AuthState) => ({ home: { ...HOME, state } });
const TWO = { ...auth('ok'), b: { ...HOME, state: 'needs_user_action' } as const };
const reasons = [{ code: 'data_late', message: 'Late.' }];

/** What waiting cures is degraded, what needs a person or will not end is failing. */
test.each<[string, Partial<typeof WELL>, string, boolean?]>([
  ['all is well', {}, 'ok'],
  ['before the first poll', { auth: {} }, 'ok'],
  ['there is a reason', { reasons }, 'degraded'],
  ['two failed', { failures_in_a_row: 2, reasons }, 'degraded'],
  ['three failed', { failures_in_a_row: 3, reasons }, 'failing'],
  ['three failed of what is over', { failures_in_a_row: 3 }, 'degraded'],
  ['the token is refreshed', { auth: auth('refreshing'), reasons }, 'degraded'],
  ['the login waits', { auth: auth('backoff'), reasons }, 'degraded'],
  ['the provider is down', { auth: auth('provider_down'), reasons }, 'degraded'],
  ['the password is wrong', { auth: auth('bad_credentials_or_locked') }, 'failing'],
  ['the account wants its user', { auth: auth('needs_user_action') }, 'failing'],
  ['a person has to sign in', { auth: auth('login_needed') }, 'failing'],
  ['the method is switched off', { auth: auth('method_disabled') }, 'failing'],
  ['one account of two is stuck, and nothing is known of the other', { auth: TWO }, 'failing'],
  ['one account of two is stuck, and the other is well', { auth: TWO }, 'degraded', true],
  ['one account of two fails', { failures_in_a_row: 9, reasons }, 'degraded', true],
])('gives the verdict when %s', (_story, happened, state, isSomeAccountWell = false) => {
  const known = { ...WELL, ...happened };
  const last_error = known.reasons[0]?.message ?? null;
  expect(healthOf(known, isSomeAccountWell)).toEqual({ ...known, state, last_error });
});

test('cuts the last error between characters when Home Assistant would not take it whole', () => {
  const known = { ...WELL, reasons: [{ code: 'a', message: LONG }] };
  expect(healthOf(known, true)).toMatchObject({ ...known, last_error: `${'x'.repeat(249)}🔥` });
});
