// Names of series: the lowest meter, reduced to what a topic and Home Assistant's ids may hold.
import { expect, test } from 'vitest';
import { seriesName, topicSafe } from '../../src/domain/reading.ts';

const property = (...meterIdentifiers: string[]) => ({
  propertyCustomerId: '512001',
  subscriptionId: null,
  balanceGroupId: null,
  meterIdentifiers,
});

test('the lowest identifier names the series, in whichever order they come', () => {
  expect(seriesName(property('70418235'))).toBe('70418235');
  expect(seriesName(property('B2', 'A9', 'C1'))).toBe('A9');
});

test('without an identifier the property names it', () => {
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
