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

test('the same name in many houses: by chamber, then by age, not by its digits: houses with years came before those with numbers', () => {
  const inSeanad = [1934, 12, 1922].map((houseNo) => row('Wicklow', houseNo, 'seanad'));
  const rows = [row('Wicklow', 34), row('Wicklow', 4), ...inSeanad, row('Wicklow', null)];
  expect(inOrder(rows).map(({ house }) => [house.chamber, house.houseNo])).toEqual([
    ['dail', null],
    ['dail', 4],
    ['dail', 34],
    ['seanad', 1922],
    ['seanad', 1934],
    ['seanad', 12],
  ]);
});

const ALL = { chamber: 'dail', houseNo: null, chamberIds: [], skip: null, limit: null } as const;
const three = {
  constituencies: [row('a'), row('b'), row('c')],
  total: 3,
  complete: true,
  unreadable: 0,
  raw: null,
};

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

const SEANAD = { ...ALL, chamber: 'seanad' } as const;
const seanads = (...houseNos: readonly (number | null)[]) => {
  const constituencies = houseNos.map((houseNo) => row('Labour Panel', houseNo, 'seanad'));
  return { ...three, constituencies, total: constituencies.length };
};

test.each([
  [[1922, 1928, 1934, 26, 27], 27],
  [[1934, 2, null], 2],
  [[1900, 1901], 1900],
])('the sitting house among %j is %i: a number above 1900 is a year', (houseNos, sitting) => {
  const { question, list } = ofSittingHouse(SEANAD, seanads(...houseNos));
  expect(question).toEqual({ ...SEANAD, houseNo: sitting });
  expect(list.constituencies).toMatchObject([{ house: { houseNo: sitting } }]);
  expect(list).toMatchObject({ total: 1, complete: true });
});

test('where all have years, or none has a number, the sitting house is not known', () => {
  for (const list of [seanads(1922, 1934), seanads(null)])
    expect(ofSittingHouse(SEANAD, list)).toEqual({ question: SEANAD, list });
});

test('a list with gaps does not tell which house is sitting: all of it is the answer', () => {
  const gaps = { ...three, total: 7, complete: false };
  expect(ofSittingHouse({ ...ALL, limit: 3 }, gaps)).toEqual({ question: ALL, list: gaps });
});
