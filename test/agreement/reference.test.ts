// docs/topics.md is what schemas and tables say (`npm run docs` writes it anew), and it tells of every topic there is.
import { expect, test } from 'vitest';
import { topicReference } from '../../scripts/docs/topics.ts';
import { TOPICS } from '../../src/publication/payloads/payloads.ts';

const text = topicReference();

test('docs/topics.md is current', async () => {
  await expect(text).toMatchFileSnapshot('../../docs/topics.md');
});

test('every topic is in it once, with its description', () => {
  const written = [...text.matchAll(/^\| `<base>\/([^`]*)` \| (?:yes|no) \| (.+) \[Schema\]/gm)];
  expect(written.map(([, topic, says]) => [topic, says])).toEqual(
    Object.entries(TOPICS).map(([topic, { description }]) => [topic, description]),
  );
});

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
