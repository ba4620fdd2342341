// Which meter has which name of the configuration.
import { expect, test } from 'vitest';
import { friendlyNameOf } from '../../src/accounts/names.ts';
import { seriesName } from '../../src/domain/reading.ts';

const names = { a_1: { name: 'Flat' }, 'b/2': { name: 'Shop' }, 7: { name: 'Cellar' } };
const property = (...meterIdentifiers: string[]) => ({
  propertyCustomerId: '7',
  subscriptionId: null,
  balanceGroupId: null,
  meterIdentifiers,
});

test.each([
  ['the name in its topics', ['a 1'], 'Flat'],
  ['one of its meters', ['a 0', 'b/2'], 'Shop'],
  ['its property, where the provider names no meter', [], 'Cellar'],
  ['nobody', ['c'], null],
  ['nobody, whatever JavaScript knows by that name', ['constructor'], null],
])('called by %s', (_, identifiers, name) => {
  const found = property(...identifiers);
  expect(friendlyNameOf(names, found, seriesName(found))).toBe(name);
});
