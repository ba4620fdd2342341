// Every row of the Keycloak table, read for the password step and for the refresh step.
import { describe, expect, test } from 'vitest';
import {
  classifyLoginError,
  classifyRefreshError,
  LoginRefused,
  REFUSALS,
  SessionEnded,
} from '../../src/auth/refusals.ts';
import { TABLE, TROUBLE } from './keycloakTable.ts';

describe.each(TABLE)('$situation', ({ error, description, login, reused }) => {
  test('at the password step', () => {
    const [code, state, final] = login;
    const refusal = classifyLoginError(error, description);
    expect(refusal).toBeInstanceOf(LoginRefused);
    expect(refusal).toMatchObject({ code, state, final, retry: 'never', exitCode: 4 });
    expect(refusal?.hint).toBeTruthy();
  });

  test('at the refresh step', () => {
    const ended = classifyRefreshError(error, description);
    expect(ended).toBeInstanceOf(SessionEnded);
    expect(ended).toMatchObject({ reused, code: 'session_ended' });
  });
});

test.each(TROUBLE)('%s is trouble of the provider and refuses nothing', (error) => {
  expect(classifyLoginError(error, 'Invalid user credentials')).toBeNull();
  expect(classifyRefreshError(error, 'Session not active')).toBeNull();
});

test('the words are not taken by their letters’ case', () => {
  expect(classifyLoginError('invalid_grant', 'ACCOUNT DISABLED')?.code).toBe('account_disabled');
  expect(classifyRefreshError('invalid_grant', 'maximum allowed refresh TOKEN REUSE exceeded')?.reused).toBe(
    true,
  );
});

test('what the issuer says is not repeated', () => {
  const refusal = classifyLoginError('invalid_grant', 'user me@example.org is unknown');
  expect(JSON.stringify([refusal?.message, refusal?.hint])).not.toContain('me@example.org');
});

test('each refusal has a code of its own', () => {
  const codes = Object.values(REFUSALS).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
});
