// Questions to a person: hidden ones show nothing, and leave the next line to the next question.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openPrompt } from '../../src/cli/command.ts';

function opened() {
  const input = new PassThrough();
  const shown: string[] = [];
  const ended = new AbortController();
  return { input, shown, ended, ask: openPrompt(input, (text) => void shown.push(text), ended.signal) };
}

test('reads hidden and shown lines in any order, typed ahead or not, and edits a hidden one', async () => {
  const { input, shown, ask } = opened();
  input.write('one\ntwo\n');
  expect([await ask('1? '), await ask('2? ')]).toEqual(['one', 'two']);
  const hidden = ask('Password: ', true);
  input.write('correct horses\u007f\r');
  expect(await hidden).toBe('correct horse');
  const last = ask('3? ');
  input.write('three');
  input.end('\n');
  expect([await last, await ask('4? ')]).toEqual(['three', null]);
  expect(shown.join('')).toBe('1? 2? Password: \n3? 4? \n');
});

test.each<[string, (typed: ReturnType<typeof opened>) => void]>([
  ['Ctrl-C', ({ input }) => void input.write('\u0003')],
  ['Ctrl-D', ({ input }) => void input.write('\u0004')],
  ['the end of the input', ({ input }) => void input.end()],
  ['a signal', ({ ended }) => ended.abort()],
])('resolves to no line when there is %s', async (_, end) => {
  const opening = opened();
  const typed = opening.ask('Passphrase: ', true);
  end(opening);
  expect(await typed).toBeNull();
});
