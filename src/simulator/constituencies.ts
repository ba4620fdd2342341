// The public constituencies list on a table, in both shapes seen in the wild and in a third one.
import { type ConstituencyRow, type House, inventedHouses } from './constituencyRows.ts';
import { type Exchange, json, type Reply, type Route } from './exchange.ts';
import { drawFor, shuffled } from './random.ts';
import type { Switches } from './switches.ts';

export const CONSTITUENCIES_PATH = '/v1/constituencies';

const DEFAULT_LIMIT = 50;
/** What an unfiltered call answers with: one arbitrary house of eight rows. */
const UNFILTERED = { chamber: 'seanad', houseNo: '5' };

export function constituencyRoutes(switches: Switches, seed: number): Route[] {
  const houses = inventedHouses(seed);
  let requests = 0;
  const reply = (exchange: Exchange): Reply => {
    requests += 1;
    const found = matching(houses, exchange.query);
    const order = drawFor(seed, switches.constituencies.reshuffles ? requests : 0, 'order');
    return answer(
      shuffled(
        found.flatMap(({ rows }) => rows),
        order,
      ),
      found,
      exchange.query,
      switches,
    );
  };
  return [{ method: 'GET', template: CONSTITUENCIES_PATH, reply }];
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

function newerRow(row: ConstituencyRow) {
  return { constituencyOrPanel: wireRow(row), house: wireHouse(row.house) };
}

function olderRow(row: ConstituencyRow) {
  const { uri, showAs, representCode, representType } = wireRow(row);
  return { constituencyOrPanel: { showAs, representCode, uri, representType } };
}

function wireRow({ uri, showAs, representCode, representType }: ConstituencyRow) {
  return { representType, uri, representCode, showAs };
}

function wireHouse({ houseNo, uri, chamber, showAs }: House) {
  return { houseNo, uri, houseCode: chamber, showAs };
}
