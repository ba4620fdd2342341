// docs/topics.md and docs/schemas are what schemas and tables say (`npm run docs` writes them anew), of every topic there is.
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { SAMPLES } from '../../scripts/docs/samples.ts';
import { schemaFiles } from '../../scripts/docs/schemas.ts';
import { topicReference } from '../../scripts/docs/topics.ts';
import { TOPICS } from '../../src/publication/payloads/payloads.ts';

const text = topicReference();

test('docs/topics.md is current', async () => {
  await expect(text).toMatchFileSnapshot('../../docs/topics.md');
});

test.each(Object.entries<readonly unknown[]>(SAMPLES))(
  'each sample of %s is as its schema says',
  (topic, samples) => {
    expect(samples).not.toEqual([]);
    for (const sample of samples)
      expect(TOPICS[topic as keyof typeof TOPICS].safeParse(sample).error).toBeUndefined();
  },
);

test('no cell is broken: each table has as many columns in every line', () => {
  const tables = text
    .trim()
    .split('\n\n')
    .filter((block) => block.startsWith('|'));
  expect(tables.length).toBeGreaterThan(Object.keys(TOPICS).length);
  for (const block of tables) {
    const widths = block.split('\n').map((line) => line.split(/(?<!\\)\|/).length);
    expect(new Set(widths).size).toBe(1);
  }
});

const files = schemaFiles();

test.each(Object.entries(files))('docs/schemas/%s is current', async (file, text) => {
  await expect(text).toMatchFileSnapshot(`../../docs/schemas/${file}`);
});

test('there is no other file in docs/schemas', async () => {
  const found = await readdir(new URL('../../docs/schemas/', import.meta.url));
  expect(found.sort()).toEqual(Object.keys(files).sort());
});
