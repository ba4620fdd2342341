// docs/schemas is what the code says (`npm run docs` writes it anew), and is what any reader of JSON Schema understands.
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { schemaFiles } from '../../scripts/docs/schemas.ts';

const files = schemaFiles();

test.each(Object.entries(files))('docs/schemas/%s is current', async (file, text) => {
  await expect(text).toMatchFileSnapshot(`../../docs/schemas/${file}`);
});

test('there is no other file in docs/schemas', async () => {
  const found = await readdir(new URL('../../docs/schemas/', import.meta.url));
  expect(found.sort()).toEqual(Object.keys(files).sort());
});
