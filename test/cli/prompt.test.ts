// Questions to a person: hidden ones show nothing, and leave the next line to the next question.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openPrompt } from '../../src/cli/prompt.ts';

function opened() {
  const input = new PassThrough();
  const shown: string[] = [];
  const ended = new AbortController();
  return { input, shown, ended, ask: openPrompt(input, (text) => void shown.push(text), ended.signal) };
}

test('a hidden line is edited and not shown', async () => {
  const { input, shown, ask } = opened();
  const first = ask('Passphrase: ', true);
  input.write('correct horses\u007f\r');
  expect(await first).toBe('correct horse');
  const second = ask('Restore it? ');
  input.write('y\n');
  expect(await second).toBe('y');
  expect(shown).toEqual(['Passphrase: ', '\n', 'Restore it? ']);
});

test.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('%s is no line', async (_, key) => {
  const { input, ask } = opened();
  const typed = ask('Passphrase: ', true);
  input.write(key);
  expect(await typed).toBeNull();
});

test('nor is the end of the input, or a signal', async () => {
  const { input, ask } = opened();
  const typed = ask('Passphrase: ', true);
  input.end();
  expect(await typed).toBeNull();
  const { ask: askAgain, ended } = opened();
  const other = askAgain('Passphrase: ', true);
  ended.abort();
  expect(await other).toBeNull();
});

test('hidden and shown questions in any order, typed ahead or not', async () => {
  const { input, shown, ask } = opened();
  input.write('one\ntwo\n');
  expect([await ask('1? '), await ask('2? ')]).toEqual(['one', 'two']);
  const hidden = ask('Password: ', true);
  input.write('secret\r');
  expect(await hidden).toBe('secret');
  const last = ask('3? ');
  input.write('three');
  input.end('\n');
  expect([await last, await ask('4? ')]).toEqual(['three', null]);
  expect(shown.join('')).toBe('1? 2? Password: \n3? 4? \n');
});
