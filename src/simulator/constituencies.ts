// The public constituencies list: invented houses, in both shapes seen in the wild and in a third one.
import { type Exchange, json, type Reply, type Route } from './exchange.ts';
import { type Draw, drawFor, shuffled } from './random.ts';
import type { Switches } from './switches.ts';

const DEFAULT_LIMIT = 50;
/** What an unfiltered call answers with: one arbitrary house of eight rows. */
const UNFILTERED = { chamber: 'seanad', houseNo: '5' };

export function constituencyRoutes(switches: Switches, seed: number): Route[] {
  // Most who start a simulator never ask for these.
  let invented: { houses: House[]; all: ConstituencyRow[] } | undefined;
  const reply = (exchange: Exchange): Reply => {
    invented ??= inventedHouses(seed);
    const { houses, all } = invented;
    const found = matching(houses, exchange.query);
    return answer(
      all.filter(({ house }) => found.includes(house)),
      found,
      exchange.query,
      switches,
    );
  };
  return [{ method: 'GET', template: '/v1/constituencies', reply }];
}

function matching(houses: readonly House[], query: URLSearchParams): House[] {
  const ids = query.getAll('chamber_id').filter(Boolean);
  const chamber = query.get('chamber') || undefined;
  const houseNo = query.get('house_no') || undefined;
  const isUnfiltered = ids.length === 0 && chamber === undefined && houseNo === undefined;
  const wanted = isUnfiltered ? UNFILTERED : { chamber, houseNo };
  return houses.filter(
    (house) =>
      (ids.length === 0 || ids.some((id) => house.uri.endsWith(id))) &&
      (wanted.chamber ?? house.houseCode) === house.houseCode &&
      (wanted.houseNo ?? house.houseNo) === house.houseNo,
  );
}

function answer(
  rows: readonly ConstituencyRow[],
  houses: readonly House[],
  query: URLSearchParams,
  { constituencies }: Switches,
): Reply {
  const { shape, ignoresLimit, repeatsFirstPage, deepSkip } = constituencies;
  const skip = Number(query.get('skip') ?? 0);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const areCounts = [skip, limit].every((value) => Number.isInteger(value) && value >= 0);
  if (!areCounts || skip >= deepSkip) return json({ message: 'Unprocessable request' }, 422);
  const from = repeatsFirstPage ? 0 : skip;
  const page = (list: readonly ConstituencyRow[]) =>
    list.slice(from, ignoresLimit ? undefined : from + limit);
  const head = (resultCount: number) => ({
    counts: { constituencyCount: resultCount, resultCount },
    lang: 'en',
    dateRange: { start: '1900-01-01', end: '2099-01-01' },
  });
  if (shape === 'third')
    return json({ constituencies: page(rows).map(({ row }) => ({ title: row.showAs })) });
  const written = ({ row, house }: ConstituencyRow) => ({
    constituencyOrPanel: row,
    ...(shape === 'newer' ? { house } : {}),
  });
  if (shape === 'newer') return json({ head: head(rows.length), results: page(rows).map(written) });
  // The older service knows one house per answer.
  const [house = {}] = houses;
  const own = rows.filter((row) => row.house === house);
  return json({
    head: head(own.length),
    results: { house: { house, constituenciesOrPanels: page(own).map(written) } },
  });
}

/** As on the wire: a number, but text. */
interface House {
  readonly houseNo: string;
  readonly uri: string;
  readonly houseCode: 'dail' | 'seanad';
  readonly showAs: string;
}

interface ConstituencyRow {
  readonly row: {
    readonly uri: string;
    readonly showAs: string;
    readonly representCode: string;
    readonly representType: string;
  };
  readonly house: House;
}

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
const PANEL_COUNT = 11;
/** The newest lower house and the house that an unfiltered call shows have sizes that others rely on. */
const FIXED_SIZES: Record<string, number> = { 'dail/34': 43, 'seanad/5': 8 };

function inventedHouses(seed: number) {
  const places = inventedPlaces(drawFor(seed, 0, 'places'));
  const numbered = (chamber: House['houseCode'], count: number) =>
    Array.from({ length: count }, (_, index) => inventedHouse(chamber, index + 1, places, seed));
  const inOrder = [...numbered('dail', 34), ...numbered('seanad', 27)].flat();
  const houses = [...new Set(inOrder.map(({ house }) => house))];
  return { houses, all: shuffled(inOrder, drawFor(seed, 0, 'order')) };
}

/** Its rows. */
function inventedHouse(
  houseCode: House['houseCode'],
  number: number,
  places: readonly string[],
  seed: number,
): ConstituencyRow[] {
  const isDail = houseCode === 'dail';
  const draw = drawFor(seed, number, houseCode);
  const uri = `${BASE}/${houseCode}/${number}`;
  const usual = isDail ? 26 + Math.floor(draw() * 9) : PANEL_COUNT;
  const size = FIXED_SIZES[`${houseCode}/${number}`] ?? usual;
  const names = isDail ? shuffled(places, draw) : PANELS;
  const showAs = `${number}${ordinal(number)} ${isDail ? 'Dáil' : 'Seanad'}`;
  const house = { houseNo: String(number), uri, houseCode, showAs };
  const representType = isDail ? 'constituency' : 'panel';
  return names.slice(0, size).map((name) => {
    const representCode = codeOf(name);
    const row = {
      uri: `${uri}/${representType}/${representCode}`,
      showAs: name,
      representCode,
      representType,
    };
    return { row, house };
  });
}

function inventedPlaces(draw: Draw): string[] {
  const all = FIRST.flatMap((first) => SECOND.map((second) => `${first} ${second}`));
  return shuffled(all, draw)
    .slice(0, 60)
    .map((name, index) => `${name}${SIDES[index % SIDES.length]}`);
}

/** The code has no accents: Dublin Mid-West is `Dublin-Mid-West`. */
function codeOf(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9]+/g, '-');
}

function ordinal(number: number): string {
  if (number % 100 >= 11 && number % 100 <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th';
}
