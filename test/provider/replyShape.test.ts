// Shapes of replies: keys and types, never a value.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shapeOf } from '../../src/provider/reply.ts';
import { holds } from '../support/property.ts';

test('lists become one row, with every type that was seen', () => {
  const json = {
    objects: [
      { id: 1, name: null },
      { id: 'a', more: [true] },
    ],
    total_num: 2,
  };
  expect(shapeOf(json)).toEqual([
    'objects: list',
    'objects[].id: number|string',
    'objects[].more: list',
    'objects[].more[]: boolean',
    'objects[].name: null',
    'objects[]: object',
    'top: object',
    'total_num: number',
  ]);
});

test.each(['orla@example.org', 'Órla Wood', '17 Lane', 'CODE-5501', 'a.b', 'x'.repeat(80), ''])(
  'the key %j is a value in disguise',
  (key) => {
    expect(shapeOf({ [key]: 1 })).toContain('<key>: number');
  },
);

test('neither depth nor breadth makes it long', () => {
  let deep: unknown = 1;
  for (let n = 0; n < 1_000; n += 1) deep = { deep };
  const broad = Object.fromEntries(Array.from({ length: 26 ** 2 }, (_, n) => [`k${n.toString(26)}`, n]));
  expect(shapeOf(deep).length).toBeLessThan(20);
  expect(shapeOf(broad).length).toBeLessThanOrEqual(250);
});

test('no text of a reply is ever told', () => {
  const secret = 'Zebra-Canary';
  const leaf = fc.oneof(fc.constant(`${secret} 1`), fc.integer(), fc.boolean(), fc.constant(null));
  const tree = fc.object({
    key: fc.constantFrom('id', 'name', `${secret} key`),
    values: [leaf],
    maxDepth: 5,
  });
  holds(tree, (json) => {
    expect(shapeOf(json).join('\n')).not.toContain(secret);
  });
});
