// What may be told to strangers about a thrown value.
import { expect, test } from 'vitest';
import { EXIT, Failure, failure, safeWords } from '../../src/foundation/failure.ts';

class Trouble extends Failure {
  readonly code = 'trouble';
  readonly exitCode = EXIT.provider;
}

test('a Failure speaks for itself, with its hint when it has one', () => {
  const hinted = new Trouble('It broke.', { retry: 'soon', hint: 'Mend it.' });
  expect(safeWords(hinted)).toEqual({ code: 'trouble', message: 'It broke.', hint: 'Mend it.' });
  expect(safeWords(new Trouble('It broke.', { retry: 'soon' }))).toEqual({
    code: 'trouble',
    message: 'It broke.',
  });
});

test('its cause is kept for the log and not among the safe words', () => {
  const cause = new Error('password=hunter2');
  const failure = new Trouble('It broke.', { retry: 'later', cause });
  expect(failure.cause).toBe(cause);
  expect(failure).toMatchObject({ name: 'Trouble', retry: 'later', retryAfterMs: undefined });
  expect('cause' in new Trouble('It broke.', { retry: 'later' })).toBe(false);
  expect(JSON.stringify(safeWords(failure))).not.toContain('hunter2');
});

test.each([
  [new TypeError('password=hunter2'), 'TypeError'],
  [Object.assign(new Error('hunter2'), { code: 'hunter2' }), 'Error'],
  [{ message: 'hunter2', code: 'hunter2', hint: 'hunter2' }, 'object'],
  ['hunter2', 'string'],
  [undefined, 'undefined'],
  [null, 'object'],
])('of anything else only the kind is told: %o', (thrown, kind) => {
  const words = safeWords(thrown);
  expect(words).toEqual({
    code: 'unexpected',
    message: `Unexpected fault (${kind}); the log has the details.`,
  });
  expect(JSON.stringify(words)).not.toContain('hunter2');
});

test('a failure that is not caught by type needs no class', () => {
  const made = failure('trouble', 'It broke.', { exit: EXIT.provider, retry: 'soon', retryAfterMs: 5 });
  expect(made).toBeInstanceOf(Failure);
  expect(made).toMatchObject({ code: 'trouble', exitCode: 5, retry: 'soon', retryAfterMs: 5 });
  expect(String(made)).toBe('Failure: It broke.');
});
