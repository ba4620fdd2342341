// The verdict on the bridge: what waiting cures is degraded, what needs a person or will not end is failing.
import { expect, test } from 'vitest';
import { type AuthState, type HealthRecord, verdict } from '../../src/domain/health.ts';

const auth = (state: AuthState) => ({
  home: { state, nextAttemptAt: null, accessExpiresAt: null, refreshExpiresAt: null },
});
const calm: HealthRecord = {
  isSomeAccountWell: false,
  auth: auth('ok'),
  reasons: [],
  progress: [],
  statistics: null,
  lastPollAt: null,
  lastSuccessAt: null,
  nextPollAt: null,
  pollNowAt: null,
  failuresInARow: 0,
  requestsToday: 0,
  loginsToday: 0,
};
const TWO = { ...auth('ok'), b: auth('needs_user_action').home };
const reasons = [{ code: 'data_late', message: 'Late.' }];

test.each<[string, Partial<HealthRecord>, string]>([
  ['all is well', {}, 'ok'],
  ['before the first poll', { auth: {} }, 'ok'],
  ['there is a reason', { reasons }, 'degraded'],
  ['two failed', { failuresInARow: 2, reasons }, 'degraded'],
  ['three failed', { failuresInARow: 3, reasons }, 'failing'],
  ['three failed of what is over', { failuresInARow: 3 }, 'degraded'],
  ['the login waits', { auth: auth('backoff'), reasons }, 'degraded'],
  ['the provider is down', { auth: auth('provider_down'), reasons }, 'degraded'],
  ['the password is wrong', { auth: auth('bad_credentials_or_locked') }, 'failing'],
  ['the account wants its user', { auth: auth('needs_user_action') }, 'failing'],
  ['the method is switched off', { auth: auth('method_disabled') }, 'failing'],
  ['one account of two is stuck, and nothing is known of the other', { auth: TWO }, 'failing'],
  ['one account of two is stuck, and the other is well', { auth: TWO, isSomeAccountWell: true }, 'degraded'],
  ['one account of two fails', { failuresInARow: 9, reasons, isSomeAccountWell: true }, 'degraded'],
])('%s', (_story, happened, expected) => {
  expect(verdict({ ...calm, ...happened })).toBe(expected);
});
