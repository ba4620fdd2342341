// What may be told to strangers about a thrown value.
import { expect, test } from 'vitest';
import { codeOf, EXIT, Failure, failure, framesOf, kindOf, safeWords } from '../../src/foundation/failure.ts';

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

test('keeps the cause for the log', () => {
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

test.each<[unknown, string | null]>([
  ['ECONNREFUSED', 'ECONNREFUSED'],
  ['ENOENT', 'ENOENT'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['HPE_INVALID_CONSTANT', 'HPE_INVALID_CONSTANT'],
  ['28P01', '28P01'],
  ['XX000', 'XX000'],
  ['ORLAW', null],
  ['77CANARY', null],
  ['Canarywood', null],
  ['70418235', null],
  [`E${'X'.repeat(80)}`, null],
  [7, null],
  [undefined, null],
])('the code %j of an error is told as %j', (code, told) => {
  const err = Object.assign(new Error('private'), { code });
  expect(codeOf(err)).toBe(told);
  expect(kindOf(err)).toBe(told === null ? 'Error' : `Error ${told}`);
});

test('names the kind of what is thrown, whatever that calls itself', () => {
  const named = (name: string) => Object.assign(new Error('private'), { name });
  const kinds = [named('ClientError'), named('Órla'), named('two words'), 'private', null].map(kindOf);
  expect(kinds).toEqual(['ClientError', 'Error', 'Error', 'string', 'object']);
});

test('gives the places in the code, and no line of the text that looks like one', () => {
  const frames = framesOf(new Error('private\n    at private (/private.js:1:2)\nmore'));
  expect(frames[0]).toMatch(/^ {4}at .*failure\.test\.ts:\d+:\d+\)?$/);
  expect(frames.join('\n')).not.toContain('private');
  expect(framesOf('private')).toEqual([]);
});
