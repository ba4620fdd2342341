// Names of series: the lowest meter, reduced to what a topic and Home Assistant's ids may hold.
import { expect, test } from 'vitest';
import { seriesName, topicSafe, withFound } from '../../src/domain/reading.ts';

const property = (...meterIdentifiers: string[]) => ({
  propertyCustomerId: '512001',
  subscriptionId: null,
  balanceGroupId: null,
  meterIdentifiers,
});

test('the lowest identifier names the series, in whichever order they come; without one the property', () => {
  expect(seriesName(property('70418235'))).toBe('70418235');
  expect(seriesName(property('B2', 'A9', 'C1'))).toBe('A9');
  expect(seriesName(property())).toBe('512001');
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

const at = (propertyCustomerId: string, ...meters: string[]) => ({
  ...property(...meters),
  propertyCustomerId,
});
const [A, B, C] = [at('1', 'a'), at('2', 'b'), at('3', 'c')];

test.each([
  ['the same, in another order', [A, B], [B, A], [A, B]],
  ['one more', [A], [B, A], [A, B]],
  ['one is left out', [A, B], [A], [A, B]],
  ['nothing', [A], [], [A]],
  ['one with more meters', [A], [at('1', 'a', 'd')], [at('1', 'a', 'd')]],
  ['one whose meter was exchanged', [A], [at('1', 'b')], [A]],
  ['another property with the same meter', [A, B], [B, at('9', 'a'), C], [at('9', 'a'), B, C]],
  ['two of the same meter', [A, at('2', 'a')], [at('2', 'a')], [A, at('2', 'a')]],
])('known properties, and a list that has %s', (_, known, found, expected) => {
  expect(withFound(known, found)).toEqual(expected);
});
