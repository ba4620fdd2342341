// The public constituencies list: invented houses, in both shapes seen in the wild and in a third one.
import { type Exchange, json, type Route } from './exchange.ts';
import { drawFor, shuffled } from './random.ts';
import type { Switches } from './switches.ts';

const SEED = 1;
const DEFAULT_LIMIT = 50;
/** The answer to an unfiltered call: one arbitrary house of eight rows. */
const UNFILTERED = { chamber: 'seanad', houseNo: '5' };

export function constituencyRoutes(switches: Switches): Route[] {
  // Most who start a simulator never ask for these.
  let rows: readonly InventedRow[] | undefined;
  const reply = ({ query }: Exchange) => {
    rows ??= inventedRows();
    const houses = [...new Set(rows.map(({ house }) => house))];
    return answer(shuffled(rows, drawFor(SEED, 0, 'order')), matching(houses, query), query, switches);
  };
  return [{ method: 'GET', template: '/v1/constituencies', reply }];
}

function matching(houses: readonly House[], query: URLSearchParams): House[] {
  const ids = query.getAll('chamber_id').filter(Boolean);
  const asked = { chamber: query.get('chamber') || undefined, houseNo: query.get('house_no') || undefined };
  const isUnfiltered = ids.length === 0 && asked.chamber === undefined && asked.houseNo === undefined;
  const { chamber, houseNo } = isUnfiltered ? UNFILTERED : asked;
  return houses.filter(
    (house) =>
      (ids.length === 0 || ids.some((id) => house.uri.endsWith(id))) &&
      (chamber ?? house.houseCode) === house.houseCode &&
      (houseNo ?? house.houseNo) === house.houseNo,
  );
}

function answer(
  everyRow: readonly InventedRow[],
  houses: readonly House[],
  query: URLSearchParams,
  switches: Switches,
) {
  const { shape, repeatsFirstPage, deepSkip } = switches.constituencies;
  const skip = Number(query.get('skip') ?? 0);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const areCounts = [skip, limit].every((value) => Number.isInteger(value) && value >= 0);
  if (!areCounts || skip >= deepSkip) return json({ message: 'Unprocessable request' }, 422);
  // The older service knows one house per answer.
  const shown = shape === 'older' ? houses.slice(0, 1) : houses;
  const rows = everyRow.filter(({ house }) => shown.includes(house));
  const from = repeatsFirstPage ? 0 : skip;
  const page = rows.slice(from, from + limit);
  if (shape === 'third') return json({ constituencies: page.map(({ row }) => ({ title: row.showAs })) });
  const head = {
    counts: { constituencyCount: rows.length, resultCount: rows.length },
    lang: 'en',
    dateRange: { start: '1900-01-01', end: '2099-01-01' },
  };
  if (shape === 'newer')
    return json({ head, results: page.map(({ row, house }) => ({ constituencyOrPanel: row, house })) });
  const [house = {}] = shown;
  const constituenciesOrPanels = page.map(({ row }) => ({ constituencyOrPanel: row }));
  return json({ head, results: { house: { house, constituenciesOrPanels } } });
}

type InventedRow = ReturnType<typeof inventedHouse>[number];
type House = InventedRow['house'];

const BASE = 'https://data.oireachtas.ie/ie/oireachtas/house';
const FIRST = 'Baile Cill Dún Loch Áth Inis Ráth Cnoc Gleann Ard Droim Éadan'.split(' ');
const SECOND = 'Fiáin Órga Mhuilte Úr Bhreac Eala Sionnaigh Fhada Beithe Íseal'.split(' ');
const SIDES = ['', '', '', ' North', ' South', ' East', ' West', ' Mid-West', '–An Cuan'];
const PANELS = [
  ...'Orchard Harbour Letters Crafts Commerce Rivers Schools Roads Guild Isles'
    .split(' ')
    .map((name) => `${name} Panel`),
  'University of Dún Órga',
];
/** The oldest upper houses have years for numbers. */
const SEANAD_YEARS = [1922, 1925, 1928, 1931, 1934];
/** The newest lower house and the house that an unfiltered call shows have sizes that others rely on. */
const FIXED_SIZES: Record<string, number> = { 'dail/34': 43, 'seanad/5': 8 };

function inventedRows(): InventedRow[] {
  const names = FIRST.flatMap((first) => SECOND.map((second) => `${first} ${second}`));
  const places = shuffled(names, drawFor(SEED, 0, 'places')).slice(0, 60);
  const sided = places.map((name, index) => `${name}${SIDES[index % SIDES.length]}`);
  const numbered = (chamber: 'dail' | 'seanad', count: number) =>
    Array.from({ length: count }, (_, index) => inventedHouse(chamber, index + 1, sided)).flat();
  const withYears = SEANAD_YEARS.flatMap((year) => inventedHouse('seanad', year, sided));
  return [...numbered('dail', 34), ...numbered('seanad', 27), ...withYears];
}

/** Its rows. The number of a house is text, as on the wire. */
function inventedHouse(houseCode: 'dail' | 'seanad', number: number, places: readonly string[]) {
  const isDail = houseCode === 'dail';
  const draw = drawFor(SEED, number, houseCode);
  const uri = `${BASE}/${houseCode}/${number}`;
  const usual = isDail ? 26 + Math.floor(draw() * 9) : PANELS.length;
  const size = FIXED_SIZES[`${houseCode}/${number}`] ?? usual;
  const showAs = `${number}${ordinal(number)} ${isDail ? 'Dáil' : 'Seanad'}`;
  const house = { houseNo: String(number), uri, houseCode, showAs };
  const representType = isDail ? 'constituency' : 'panel';
  return (isDail ? shuffled(places, draw) : PANELS).slice(0, size).map((name) => {
    // Accents are left out: Dún Laoghaire is `Dun-Laoghaire`.
    const plain = name.normalize('NFD').replace(/\p{M}/gu, '');
    const representCode = plain.replace(/[^A-Za-z0-9]+/g, '-');
    const its = `${uri}/${representType}/${representCode}`;
    return { row: { uri: its, showAs: name, representCode, representType }, house };
  });
}

function ordinal(number: number): string {
  if (number % 100 >= 11 && number % 100 <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th';
}
