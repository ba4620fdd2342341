// Constituencies: the Irish order, what makes two lists the same, and the words of warning.
import { expect, test } from 'vitest';
import { type Constituency, caveat, inOrder, saysTheSame } from '../../src/domain/constituency.ts';

function row(name: string, houseNo: number | null = 34, chamber = 'dail'): Constituency {
  const uri = `https://data.example.org/ie/oireachtas/house/${chamber}/${houseNo}/constituency/${name}`;
  return { uri, name, code: null, type: 'constituency', house: { chamber, houseNo, name: null, uri: null } };
}

const names = (rows: readonly Constituency[]) => rows.map(({ name }) => name);

test('sorted as Irish sorts: a fada only breaks a tie, case and dashes do not tear names apart', () => {
  const wanted = [
    'Áth Cliath',
    'Ceatharlach',
    'Dublin',
    'Dún Laoghaire',
    'Éadán',
    'Edenderry',
    'Órga',
    'Oscar',
  ];
  expect(names(inOrder(wanted.toReversed().map((name) => row(name))))).toEqual(wanted);
  expect(names(inOrder([row('Móin'), row('Moin'), row('Moineach')]))).toEqual(['Moin', 'Móin', 'Moineach']);
});

test('the same name in many houses: by chamber, then by number, not by its digits', () => {
  const rows = [row('Wicklow', 34), row('Wicklow', 4), row('Wicklow', 12, 'seanad'), row('Wicklow', null)];
  expect(inOrder(rows).map(({ house }) => [house.chamber, house.houseNo])).toEqual([
    ['dail', null],
    ['dail', 4],
    ['dail', 34],
    ['seanad', 12],
  ]);
});

test('the order of arrival makes no difference', () => {
  const rows = ['b', 'á', 'A', 'c', 'a'].map((name) => row(name));
  expect(inOrder(rows.toReversed())).toEqual(inOrder(rows));
});

test('lists say the same when their rows do; warnings name what is missing', () => {
  const list = { constituencies: [row('a')], total: 1, complete: true, raw: null };
  expect(saysTheSame(list, { ...list, total: 7 })).toBe(true);
  expect(saysTheSame(list, { ...list, constituencies: [row('b')] })).toBe(false);
  expect(saysTheSame(list, { ...list, constituencies: null, raw: { a: 1 } })).toBe(false);
  expect(caveat(list)).toBeNull();
  expect(caveat({ ...list, total: 7, complete: false })).toContain('1 of 7');
  expect(caveat({ ...list, constituencies: null, raw: {} })).toContain('shape');
});
