// About sixty invented houses and their 1,300 constituencies and panels, with names that only sound Irish.
import { type Draw, drawFor, shuffled } from './random.ts';

export interface House {
  readonly chamber: 'dail' | 'seanad';
  /** A number, but text on the wire. */
  readonly houseNo: string;
  readonly uri: string;
  readonly showAs: string;
  readonly rows: readonly ConstituencyRow[];
}

export interface ConstituencyRow {
  readonly uri: string;
  readonly showAs: string;
  readonly representCode: string;
  readonly representType: 'constituency' | 'panel';
  readonly house: House;
}

const BASE = 'https://data.oireachtas.ie/ie/oireachtas/house';
const FIRST = [
  'Baile',
  'Cill',
  'Dún',
  'Loch',
  'Áth',
  'Inis',
  'Ráth',
  'Cnoc',
  'Gleann',
  'Ard',
  'Droim',
  'Éadan',
];
const SECOND = ['Fiáin', 'Órga', 'Mhuilte', 'Úr', 'Bhreac', 'Eala', 'Sionnaigh', 'Fhada', 'Beithe', 'Íseal'];
const SIDES = ['', '', '', ' North', ' South', ' East', ' West', ' Mid-West', '–An Cuan'];
const PANELS = [
  'Orchard',
  'Harbour',
  'Letters',
  'Crafts',
  'Commerce',
  'Rivers',
  'Schools',
  'Roads',
  'Guild',
  'Isles',
];
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
    rows.push({
      uri: `${uri}/${representType}/${representCode}`,
      showAs: name,
      representCode,
      representType,
      house,
    });
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
