// Names of series: the lowest meter, reduced to what a topic and Home Assistant's ids may hold.
import { expect, test } from 'vitest';
import { type Property, seriesName, topicSafe, withFound } from '../../src/domain/reading.ts';
import { property } from '../support/keptMeters.ts';

test('the lowest identifier names the series, in whichever order they come; without one the property', () => {
  expect(seriesName(property('512001', '70418235'))).toBe('70418235');
  expect(seriesName(property('512001', 'B2', 'A9', 'C1'))).toBe('A9');
  expect(seriesName(property('512001'))).toBe('512001');
});

test.each([
  ['70418235', '70418235'],
  ['heat-meter_1', 'heat-meter_1'],
  ['heat/home', 'heat_home'],
  ['a + # b', 'a_b'],
  ['Wärme', 'W_rme'],
  ['🔥🔥', '_'],
])('%s is %s in a topic', (name, safe) => {
  expect(topicSafe(name)).toBe(safe);
});

const [A, B, C] = [property('1', 'a'), property('2', 'b'), property('3', 'c')];
const rows = (properties: readonly Property[]) =>
  properties.map((one) => [one.propertyCustomerId, seriesName(one), one.meterIdentifiers.join()]);
const [ONE, TWO, THREE] = rows([A, B, C]);

test.each([
  ['the same, in another order', [A, B], [B, A], [ONE, TWO]],
  ['one more', [A], [B, A], [ONE, TWO]],
  ['one is left out', [A, B], [A], [ONE, TWO]],
  ['nothing', [A], [], [ONE]],
  ['one with more meters', [A], [property('1', 'a', 'd')], [['1', 'a', 'a,d']]],
  ['one with a lower meter beside', [B], [property('2', 'a', 'b')], [['2', 'b', 'a,b']]],
  ['one whose meter was exchanged', [A], [property('1', 'b')], [['1', 'a', 'b']]],
  [
    'one whose meter was exchanged, and one with its old meter',
    [A],
    [property('9', 'a'), property('1', 'b')],
    [
      ['1', 'a', 'b'],
      ['9', 'a', 'a'],
    ],
  ],
  [
    'two that have exchanged their meters',
    [A, B],
    [property('1', 'b'), property('2', 'a')],
    [
      ['1', 'a', 'b'],
      ['2', 'b', 'a'],
    ],
  ],
  ['one that has a meter now', [property('1')], [A], [['1', '1', 'a']]],
  ['another property with the same meter', [A, B], [B, property('9', 'a'), C], [['9', 'a', 'a'], TWO, THREE]],
  ['two of the same meter', [A, property('2', 'a')], [property('2', 'a')], [ONE, ['2', 'a', 'a']]],
])('known properties, and a list that has %s', (_, known, found, expected) => {
  expect(rows(withFound(known, found))).toEqual(expected);
});

test('exchanged twice, then renumbered: the series keeps the name that it had first', () => {
  const lists = [[property('1', 'b')], [property('1', 'c')], [property('9', 'c')]];
  const last = lists.reduce<Property[]>((known, found) => withFound(known, found, []), [A]);
  expect(rows(last)).toEqual([['9', 'a', 'c']]);
});

test('what is left out and not kept is gone; what another account knows of a property counts for all', () => {
  expect(rows(withFound([A, B], [B], []))).toEqual([TWO]);
  const exchanged = { ...property('3', 'z'), namedAfter: ['c'] };
  expect(rows(withFound([A], [A, property('3', 'z')], [], [exchanged]))).toEqual([ONE, ['3', 'c', 'z']]);
});
