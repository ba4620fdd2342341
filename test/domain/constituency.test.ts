// Constituencies: the Irish order, what makes two lists the same, and the words of warning.
import { expect, test } from 'vitest';
import {
  type Constituency,
  type ConstituencyList,
  caveat,
  inOrder,
  ofSittingHouse,
} from '../../src/domain/constituency.ts';

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

const ALL = { chamber: 'dail', houseNo: null, chamberIds: [], skip: null, limit: null } as const;
const three = { constituencies: [row('a'), row('b'), row('c')], total: 3, complete: true, raw: null };

test.each<[string, object, Partial<ConstituencyList>, RegExp | null]>([
  ['everything', {}, {}, null],
  ['fewer than there are', {}, { total: 7, complete: false }, / 3 of 7\./],
  ['a page as long as its limit', { limit: 3 }, { total: 7, complete: false }, null],
  ['a page that is too short', { skip: 2, limit: 4 }, { total: 7, complete: false }, / 3 of 4\./],
  ['the last page', { skip: 4, limit: 50 }, { total: 7, complete: false }, null],
  ['a page of nobody knows how many', { limit: 3 }, { total: null, complete: null }, null],
  ['nobody knows how many', {}, { total: null, complete: null }, /does not tell/],
  ['more, nobody knows how many', {}, { total: null, complete: false }, /does not tell/],
  ['an empty end, and no number', {}, { total: null, complete: true }, null],
  ['an unknown shape', {}, { constituencies: null, total: null, complete: null, raw: {} }, /shape/],
])('the words of warning: %s', (_name, asked, found, words) => {
  const warning = caveat({ question: { ...ALL, ...asked }, list: { ...three, ...found } });
  if (words === null) expect(warning).toBeNull();
  else expect(warning).toMatch(words);
});

test('a list with gaps does not tell which house is sitting: all of it is the answer', () => {
  const gaps = { ...three, total: 7, complete: false };
  expect(ofSittingHouse({ ...ALL, limit: 3 }, gaps)).toEqual({ question: ALL, list: gaps });
});
