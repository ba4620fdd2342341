// Names of series: the lowest meter, reduced to what a topic and Home Assistant's ids may hold.
import { expect, test } from 'vitest';
import { seriesName, topicSafe, withFound } from '../../src/domain/reading.ts';
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

test.each([
  ['the same, in another order', [A, B], [B, A], [A, B]],
  ['one more', [A], [B, A], [A, B]],
  ['one is left out', [A, B], [A], [A, B]],
  ['nothing', [A], [], [A]],
  ['one with more meters', [A], [property('1', 'a', 'd')], [property('1', 'a', 'd')]],
  ['one whose meter was exchanged', [A], [property('1', 'b')], [A]],
  ['another property with the same meter', [A, B], [B, property('9', 'a'), C], [property('9', 'a'), B, C]],
  ['two of the same meter', [A, property('2', 'a')], [property('2', 'a')], [A, property('2', 'a')]],
])('known properties, and a list that has %s', (_, known, found, expected) => {
  expect(withFound(known, found)).toEqual(expected);
});
