// docs/schemas is what the code says (`vitest -u` writes it anew), and is what any reader of JSON Schema understands.
import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { payloadJsonSchemas } from '../../scripts/docs/schemas.ts';

const schemas = payloadJsonSchemas();

describe.each(Object.keys(schemas))('docs/schemas/%s', (file) => {
  test('is current', async () => {
    const text = `${JSON.stringify(schemas[file], null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`../../docs/schemas/${file}`);
  });
});

test('there is no other file in docs/schemas', async () => {
  const files = await readdir(new URL('../../docs/schemas/', import.meta.url));
  expect(files.sort()).toEqual(Object.keys(schemas).sort());
});
