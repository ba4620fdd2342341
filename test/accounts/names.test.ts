// Which meter has which name of the configuration, and which meters the state directory knows.
import { expect, test } from 'vitest';
import { friendlyNameOf, knownMeters, ledgerFile } from '../../src/accounts/names.ts';
import { seriesName } from '../../src/domain/reading.ts';
import { contextCodec } from '../../src/store/documents.ts';
import { ledgerCodec } from '../../src/store/ledgerDocument.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { ledgerOf } from '../domain/ledgers.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

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

test('the meters on disk: shared ones with the account that keeps the ledger, and those that are not listed any more', async () => {
  const state = new StateDirectory(await openStack().folder(), logLines().log);
  const meter = (propertyCustomerId: string, ...ids: string[]) => ({
    ...property(...ids),
    propertyCustomerId,
  });
  const [shared, own, gone] = [meter('11', 'A'), meter('22', 'A'), meter('3 3')];
  const document = { timezone: 'Europe/Dublin', readingCloses: null, isNew: false, tariff: null };
  for (const [account, listed, kept] of [
    ['home', [shared, own], [own, gone]],
    ['flat', [shared], [shared]],
  ] as const) {
    const value = { personCustomerId: '1', siteCodes: [], billingProfileIds: [], properties: listed };
    await state.document(`accounts/${account}/context`, contextCodec).write({ owner: 'me', value });
    for (const one of kept)
      await state
        .document(ledgerFile(account, one), ledgerCodec)
        .write({ ...document, ledger: ledgerOf([['2025-03-29', 3, 0.5]]) });
  }
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
