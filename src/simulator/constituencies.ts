// The public constituencies list: invented houses, in both shapes seen in the wild and in a third one.
import { type Exchange, json, type Reply, type Route } from './exchange.ts';
import { type Draw, drawFor, shuffled } from './random.ts';
import type { Switches } from './switches.ts';

const DEFAULT_LIMIT = 50;
/** What an unfiltered call answers with: one arbitrary house of eight rows. */
const UNFILTERED = { chamber: 'seanad', houseNo: '5' };

export function constituencyRoutes(switches: Switches, seed: number): Route[] {
  const houses = inventedHouses(seed);
  const reply = (exchange: Exchange): Reply => {
    const found = matching(houses, exchange.query);
    const order = drawFor(seed, 0, 'order');
    const rows = found.flatMap((house) => house.rows);
    return answer(shuffled(rows, order), found, exchange.query, switches);
  };
  return [{ method: 'GET', template: '/v1/constituencies', reply }];
}

function matching(houses: readonly House[], query: URLSearchParams): House[] {
  const ids = query.getAll('chamber_id').filter(Boolean);
  const chamber = query.get('chamber') ?? '';
  const houseNo = query.get('house_no') ?? '';
  if (ids.length === 0 && chamber === '' && houseNo === '') {
    return houses.filter(
      (house) => house.chamber === UNFILTERED.chamber && house.houseNo === UNFILTERED.houseNo,
    );
  }
  return houses.filter(
    (house) =>
      (ids.length === 0 || ids.some((id) => house.uri.endsWith(id))) &&
      (chamber === '' || chamber === house.chamber) &&
      (houseNo === '' || houseNo === house.houseNo),
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
  if (!isCount(skip) || !isCount(limit) || skip >= deepSkip) {
    return json({ message: 'Unprocessable request' }, 422);
  }
  const from = repeatsFirstPage ? 0 : skip;
  const page = (list: readonly ConstituencyRow[]) =>
    list.slice(from, ignoresLimit ? undefined : from + limit);
  const head = (resultCount: number) => ({
    counts: { constituencyCount: resultCount, resultCount },
    lang: 'en',
    dateRange: { start: '1900-01-01', end: '2099-01-01' },
  });
  if (shape === 'third') return json({ constituencies: page(rows).map(({ showAs }) => ({ title: showAs })) });
  if (shape === 'newer') return json({ head: head(rows.length), results: page(rows).map(newerRow) });
  // The older service knows one house per answer.
  const [house] = houses;
  const own = rows.filter((row) => row.house === house);
  const results = house
    ? { house: { house: wireHouse(house), constituenciesOrPanels: page(own).map(olderRow) } }
    : { house: { house: {}, constituenciesOrPanels: [] } };
  return json({ head: head(own.length), results });
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function newerRow({ house, ...row }: ConstituencyRow) {
  return { constituencyOrPanel: row, house: wireHouse(house) };
}

function olderRow({ house: _, ...row }: ConstituencyRow) {
  return { constituencyOrPanel: row };
}

function wireHouse({ houseNo, uri, chamber, showAs }: House) {
  return { houseNo, uri, houseCode: chamber, showAs };
}

interface House {
  readonly chamber: 'dail' | 'seanad';
  /** A number, but text on the wire. */
  readonly houseNo: string;
  readonly uri: string;
  readonly showAs: string;
  readonly rows: readonly ConstituencyRow[];
}

interface ConstituencyRow {
  readonly uri: string;
  readonly showAs: string;
  readonly representCode: string;
  readonly representType: 'constituency' | 'panel';
  readonly house: House;
}

const BASE = 'https://data.oireachtas.ie/ie/oireachtas/house';
const FIRST = 'Baile Cill Dún Loch Áth Inis Ráth Cnoc Gleann Ard Droim Éadan'.split(' ');
const SECOND = 'Fiáin Órga Mhuilte Úr Bhreac Eala Sionnaigh Fhada Beithe Íseal'.split(' ');
const SIDES = ['', '', '', ' North', ' South', ' East', ' West', ' Mid-West', '–An Cuan'];
const PANELS = 'Orchard Harbour Letters Crafts Commerce Rivers Schools Roads Guild Isles'.split(' ');
const PANEL_COUNT = 11;
/** The newest lower house and the house that an unfiltered call shows have sizes that others rely on. */
const FIXED_SIZES: Record<string, number> = { 'dail/34': 43, 'seanad/5': 8 };

export function inventedHouses(seed: number): House[] {
  const places = inventedPlaces(drawFor(seed, 0, 'places'));
  const numbered = (chamber: House['chamber'], count: number) =>
    Array.from({ length: count }, (_, index) => inventedHouse(chamber, index + 1, places, seed));
  return [...numbered('dail', 34), ...numbered('seanad', 27)];
}

function inventedHouse(
  chamber: House['chamber'],
  number: number,
  places: readonly string[],
  seed: number,
): House {
  const draw = drawFor(seed, number, chamber);
  const uri = `${BASE}/${chamber}/${number}`;
  const usual = chamber === 'dail' ? 26 + Math.floor(draw() * 9) : PANEL_COUNT;
  const size = FIXED_SIZES[`${chamber}/${number}`] ?? usual;
  const names = chamber === 'dail' ? shuffled(places, draw) : panelNames();
  const rows: ConstituencyRow[] = [];
  const showAs = `${number}${ordinal(number)} ${chamber === 'dail' ? 'Dáil' : 'Seanad'}`;
  const house: House = { chamber, houseNo: String(number), uri, showAs, rows };
  const representType = chamber === 'dail' ? 'constituency' : 'panel';
  for (const name of names.slice(0, size)) {
    const representCode = codeOf(name);
    const rowUri = `${uri}/${representType}/${representCode}`;
    rows.push({ uri: rowUri, showAs: name, representCode, representType, house });
  }
  return house;
}

function inventedPlaces(draw: Draw): string[] {
  const all = FIRST.flatMap((first) => SECOND.map((second) => `${first} ${second}`));
  return shuffled(all, draw)
    .slice(0, 60)
    .map((name, index) => `${name}${SIDES[index % SIDES.length]}`);
}

function panelNames(): string[] {
  return [...PANELS.map((name) => `${name} Panel`), 'University of Dún Órga'];
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
