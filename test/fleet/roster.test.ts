// The accounts of a fleet as commands change them, on the database's wire.
import { expect, test } from 'vitest';
import { importLogins, resealAll, sealLogin } from '../../src/fleet/roster.ts';
import { openAccountRow } from '../support/accountRow.ts';

const LOGIN = { id: 'a', username: 'me@example.org', password: 'invented words', historySince: null };

async function openRoster() {
  const { row, database, seal, statements } = await openAccountRow();
  const login = sealLogin(LOGIN.id, LOGIN.username, LOGIN.password, seal);
  row.columns = { login, history_since: null, isWell: true };
  row.sealed = [{ account: LOGIN.id, name: null, sealed: login }];
  return { database, seal, statements };
}

test('writes nothing when all logins of an import are there already', async () => {
  const { statements, ...parts } = await openRoster();
  const { unchanged } = await importLogins([LOGIN], false, parts);
  expect(unchanged).toEqual(['a']);
  expect(statements.filter(({ text }) => text.includes('INSERT'))).toEqual([]);
});

test('writes nothing when everything is sealed by the first key already', async () => {
  const { statements, ...parts } = await openRoster();
  expect(await resealAll(parts)).toEqual({ changed: 0, damaged: [] });
  expect(statements).toHaveLength(2);
  expect(statements.filter(({ text }) => text.includes('UPDATE'))).toEqual([]);
});
