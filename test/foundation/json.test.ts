// JSON of others: how much there may be of it, and integers that JavaScript would round.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { excessIn, jsonText, parseJson } from '../../src/foundation/json.ts';
import { holds } from '../support/property.ts';

const bytes = (text: string) => Buffer.from(text);
const excess = (text: string) => excessIn(bytes(text));
const parsed = (text: string) => parseJson(bytes(text));
const listOf = (count: number, value: string) => `[${Array(count).fill(value).join(',')}]`;

describe('too much', () => {
  // The list itself is a value.
  test.each<[string, string, number]>([
    ['numbers', '1', 99_999],
    ['texts', '"a,{\\"[:"', 99_999],
    ['empty objects', '{}', 99_999],
    ['empty lists', '[]', 99_999],
    ['words', 'null', 99_999],
    ['objects of one', '{"n": 1}', 49_999],
    ['objects of two, with white space', ' { "n" : "m" ,\n\t"o" : false } ', 33_333],
    ['objects of a list', '{"n":[1,2]}', 24_999],
  ])('is a value more than 100,000 of %s, names not counted', (_, value, most) => {
    expect(excess(listOf(most, value))).toBeNull();
    expect(excess(listOf(most + 1, value))).toBe('more than 100,000 values');
  });

  test('is a value in more than 63 others', () => {
    const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`;
    expect(excess(nested(64))).toBeNull();
    expect(excess(nested(66))).toBe('more than 64 values in one another');
  });

  test.each([
    ['a byte order mark and white space', (text: string) => `\ufeff \r\n${text}`],
    ['names without an end after it', (text: string) => `${text.slice(0, -1)},${':'.repeat(200_000)}`],
    ['brackets that close nothing', (text: string) => `${text}${']'.repeat(200_000)}`],
    ['a text without an end', (text: string) => `${text}"${'x'.repeat(200_000)}`],
  ])('is noticed in spite of %s', (_, disguised) => {
    expect(excess(disguised(listOf(100_000, '{}')))).toBe('more than 100,000 values');
  });

  test('is not what has no values: another format, nothing at all, one long text', () => {
    for (const text of ['<p>,,,'.repeat(100_000), '', ' ', `"${'[,'.repeat(100_000)}"`, ','.repeat(200_000)])
      expect(excess(text)).toBeNull();
  });
});

describe('integers beyond 2^53', () => {
  test.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740991', -9007199254740991],
    ['-9007199254740993', '-9007199254740993'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['1234567890123456.75', Number('1234567890123456.75')],
    ['12345678901234567890.0', Number('12345678901234567890')],
    ['12345678901234567890e2', Number('12345678901234567890e2')],
    ['"12345678901234567890"', '12345678901234567890'],
    ['"a\\"12345678901234567890"', 'a"12345678901234567890'],
    ['0.12345678901234567890', 0.12345678901234568],
  ])('%s is read as %j, wherever it stands', (written, value) => {
    expect(parsed(written)).toEqual(value);
    expect(parsed(`[ ${written},${written} ]`)).toEqual([value, value]);
    expect(parsed(`{"12345678901234567890":${written}\n,"ü":${written}}`)).toEqual({
      '12345678901234567890': value,
      ü: value,
    });
  });

  test('do not make JSON of what is none', () => {
    for (const text of ['00000000000000000001', '-', '- 12345678901234567890', '12345678901234567890x', '[1'])
      expect(() => parsed(text)).toThrow(/^not JSON$/);
  });
});

/** JavaScript writes larger numbers with an exponent. */
const isLargeInteger = (value: unknown) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(Number(value)) < 1e21;

test('reads everything else as JSON.parse does', () => {
  holds(fc.tuple(fc.json(), fc.nat({ max: 4 })), ([text, indent]) => {
    const written = JSON.stringify(JSON.parse(text), null, indent);
    const wanted = JSON.parse(written, (_, value) => (isLargeInteger(value) ? String(value) : value));
    expect(parsed(written)).toEqual(wanted);
    expect(excess(written)).toBeNull();
  });
});

test.each([
  ['half a pair', 'a\ud83d', 'a\ufffd'],
  ['the other half', '\ude00a', '\ufffda'],
  ['halves the wrong way round', '\ude00\ud83d', '\ufffd\ufffd'],
  ['a pair', '\ud83d\ude00', '\ud83d\ude00'],
  ['a backslash before letters', '\\ud83d', '\\ud83d'],
  ['a backslash before half a pair', '\\\ud83d', '\\\ufffd'],
])('writes what any reader takes when a text has %s', (_, text, written) => {
  expect(JSON.parse(jsonText({ [text]: [text] }))).toEqual({ [written]: [written] });
});
