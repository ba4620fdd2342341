// What may be told to strangers about a thrown value.
import { expect, test } from 'vitest';
import { EXIT, Failure, failure, safeWords } from '../../src/foundation/failure.ts';

class Trouble extends Failure {}
const exit = EXIT.provider;
const fine = { code: 'trouble', message: 'It broke.' };
const unexpected = (kind: string) => ({
  code: 'unexpected',
  message: `Unexpected fault (${kind}); the log has the details.`,
});

test.each([
  [
    new Trouble('trouble', 'It broke.', { exit, retry: 'soon', hint: 'Mend it.' }),
    { ...fine, hint: 'Mend it.' },
  ],
  [new Trouble('trouble', 'It broke.', { exit, retry: 'soon', cause: new Error('hunter2') }), fine],
  [new TypeError('password=hunter2'), unexpected('TypeError')],
  [Object.assign(new Error('hunter2'), { code: 'hunter2' }), unexpected('Error')],
  [{ message: 'hunter2', code: 'hunter2', hint: 'hunter2' }, unexpected('object')],
  ['hunter2', unexpected('string')],
  [undefined, unexpected('undefined')],
  [null, unexpected('object')],
])('a Failure speaks for itself, of anything else only the kind is told: %o', (thrown, words) => {
  expect(safeWords(thrown)).toEqual(words);
});

test('a cause is kept for the log; a failure that is not caught by type needs no class', () => {
  const cause = new Error('of the library');
  expect(new Trouble('trouble', 'It broke.', { exit, retry: 'later', cause })).toMatchObject({
    name: 'Trouble',
    cause,
  });
  expect('cause' in new Trouble('trouble', 'It broke.', { exit, retry: 'later' })).toBe(false);
  const made = failure('trouble', 'It broke.', { exit: EXIT.provider, retry: 'soon', retryAfterMs: 5 });
  expect(made).toBeInstanceOf(Failure);
  expect(made).toMatchObject({ code: 'trouble', exitCode: 5, retry: 'soon', retryAfterMs: 5 });
  expect(String(made)).toBe('Failure: It broke.');
});
