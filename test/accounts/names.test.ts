// Which meter has which name of the configuration, and which meters the state directory knows.
import { expect, test } from 'vitest';
import { friendlyNameOf, knownMeters, ledgerFile, SeriesNames } from '../../src/accounts/names.ts';
import { seriesName } from '../../src/domain/reading.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { ledgerOf } from '../domain/ledgers.ts';
import { keepMeters, property } from '../support/keptMeters.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

const names = { a_1: { name: 'Flat' }, 'b/2': { name: 'Shop' }, 7: { name: 'Cellar' } };
test.each([
  ['the name in its topics', ['a 1'], 'Flat'],
  ['one of its meters', ['a 0', 'b/2'], 'Shop'],
  ['its property, where the provider names no meter', [], 'Cellar'],
  ['nobody', ['c'], null],
  ['nobody, whatever JavaScript knows by that name', ['constructor'], null],
])('is called as configured when that names it by %s', (_, identifiers, name) => {
  const found = property('7', ...identifiers);
  expect(friendlyNameOf(names, found, seriesName(found))).toBe(name);
});

test('finds meters on disk when they are shared, or not listed any more', async () => {
  const state = new StateDirectory(await openStack().folder(), logLines().log);
  const [shared, own, gone] = [property('11', 'A'), property('22', 'A'), property('3 3')];
  const ledger = ledgerOf([['2025-03-29', 3, 0.5]]);
  await keepMeters(state, 'home', { listed: [shared, own], kept: [own, gone], ledger });
  await keepMeters(state, 'flat', { listed: [shared], kept: [shared], ledger });
  const accounts = [{ id: 'home' }, { id: 'flat' }, { id: 'empty' }] as never;
  const known = await knownMeters(state, { accounts, meters: { 'A-11': { name: 'Shop' } } });
  const rows = known.map((one) => [one.account, one.name, one.friendlyName, one.isOwn, one.ledger !== null]);
  // The account home reads 22 before the account flat reads 11.
  expect(rows).toEqual([
    ['home', 'A-11', 'Shop', false, false],
    ['home', 'A', null, true, true],
    ['home', '3_3', null, false, true],
    ['flat', 'A-11', 'Shop', true, true],
  ]);
});

test('gives owner and name to the next property when one is gone', () => {
  const series = new SeriesNames();
  const [first, second] = [property('11', 'A'), property('22', 'A')];
  expect([series.ownerOf(first, 'home'), series.ownerOf(first, 'flat')]).toEqual(['home', 'home']);
  expect([series.nameOf(first), series.nameOf(second)]).toEqual(['A', 'A-22']);
  series.release(first);
  expect([series.ownerOf(first, 'flat'), series.nameOf(second)]).toEqual(['flat', 'A']);
});

test('stays in the folder of the account when the id of a property is a path', () => {
  expect(ledgerFile('home', property('../../etc'))).toBe('accounts/home/ledger-..%2F..%2Fetc');
});
