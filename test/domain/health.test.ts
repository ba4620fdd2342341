// Which states of a session only a person can end.
import { expect, test } from 'vitest';
import { AUTH_STATES, needsAPerson } from '../../src/domain/health.ts';

test('a person is needed where waiting does not help', () => {
  expect(AUTH_STATES.filter((state) => !needsAPerson(state))).toEqual([
    'ok',
    'refreshing',
    'backoff',
    'provider_down',
  ]);
});
