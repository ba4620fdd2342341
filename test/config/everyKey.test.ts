// A configuration of an earlier version with every key it knew is read as that version read it, or refused with a word on each key
// that has gone.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { showConfig } from '../../src/config/commented.ts';
import { load } from './loading.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/upgrade/a4965a4', import.meta.url));
const kept = async (name: string) =>
  (await readFile(`${FOLDER}/${name}`, 'utf8')).replaceAll('FOLDER', FOLDER);

test('every key of a4965a4 has its value', async () => {
  const shown = showConfig(await load(await kept('every-key.yaml')));
  expect(parse(shown)).toMatchObject(parse(await kept('every-key.shown.yaml')));
});
