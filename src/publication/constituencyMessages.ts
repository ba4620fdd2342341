// What is published of constituencies: each list on its topic, and the summary that Home Assistant shows.
import {
  type Answered,
  type Constituency,
  type ConstituencyList,
  type ConstituencyQuestion,
  caveat,
} from '../domain/constituency.ts';
import type { Zone } from '../domain/period.ts';
import type { Message } from '../mqtt/message.ts';
import type { ConstituencyRecord } from './payloads/payloads.ts';
import type { Topics } from './topics.ts';

export interface ConstituenciesView extends Answered {
  /** Epoch milliseconds. */
  readonly fetchedAt: number;
  /** A later fetch has failed, or its reply had an unknown shape. */
  readonly stale: boolean;
}

/** The list of a house as the end of its topic: `dail/34`, `seanad/all`. `null`: more than a house is asked for, or a page. */
export function listName({ chamber, houseNo, chamberIds, skip, limit }: ConstituencyQuestion): string | null {
  if (chamberIds.length > 0 || skip !== null || limit !== null) return null;
  return `${chamber ?? 'all'}/${houseNo ?? 'all'}`;
}

/** Where the list of this name is retained. */
const listTopic = (topics: Topics, name: string): string =>
  topics.of('constituencies/<chamber>/<house_no>', ...levelsOf(name));

function levelsOf(name: string): [string, string] {
  const [chamber = '', house = ''] = name.split('/');
  return [chamber, house];
}

export function listMessage(topics: Topics, zone: Zone, name: string, view: ConstituenciesView): Message {
  const { question, list } = view;
  return topics.message('constituencies/<chamber>/<house_no>', levelsOf(name), {
    fetched_at: zone.iso(view.fetchedAt),
    stale: view.stale,
    query: {
      chamber: question.chamber,
      house_no: question.houseNo,
      chamber_id: question.chamberIds,
      skip: question.skip,
      limit: question.limit,
    },
    count: countOf(list),
    total: list.total,
    complete: list.complete,
    constituencies: list.constituencies?.map(toRecord) ?? null,
    ...(list.raw === null ? {} : { raw: list.raw }),
  });
}

/** What a request for a list is answered with. `name`: under which it is retained; `view`: `null` while there is none. */
export const listAnswer = (
  topics: Topics,
  zone: Zone,
  name: string | null,
  view: ConstituenciesView | null,
) => ({
  topic: name === null ? null : listTopic(topics, name),
  count: view === null ? null : countOf(view.list),
  total: view?.list.total ?? null,
  complete: view?.list.complete ?? null,
  fetched_at: view === null ? null : zone.iso(view.fetchedAt),
  stale: view?.stale ?? null,
  constituencies: view?.list.constituencies?.map(toRecord) ?? null,
});

/** What Home Assistant shows of the configured list, there even before the first request. */
export function summaryMessage(
  topics: Topics,
  zone: Zone,
  name: string | null,
  view: ConstituenciesView | null,
): Message {
  const rest = {
    topic: name === null ? null : listTopic(topics, name),
    fetched_at: view === null ? null : zone.iso(view.fetchedAt),
    stale: view?.stale ?? null,
  };
  const count = view === null ? null : countOf(view.list);
  const names = count === null ? null : [...new Set(view?.list.constituencies?.map((row) => row.name))];
  const areListed = names !== null && fits({ ...rest, names });
  const notes = [view && caveat(view), names && remark(names.length, count, areListed)].filter(Boolean);
  return topics.message('bridge/constituencies', [], {
    count,
    ...rest,
    names: areListed ? names : null,
    note: notes.length === 0 ? null : notes.join(' '),
  });
}

function remark(names: number, count: number | null, areListed: boolean): string | null {
  if (!areListed)
    return `The ${names} names are too long for Home Assistant. They are on the topic of the list.`;
  return names === count ? null : `${count} constituencies have ${names} different names.`;
}

/** `null` for a reply of unknown shape: its rows cannot be counted. */
export const countOf = (list: ConstituencyList): number | null => list.constituencies?.length ?? null;

// Home Assistant's recorder drops attributes above 16384 bytes; it adds a few of its own.
const LARGEST_ATTRIBUTES_BYTES = 15_000;
const fits = (attributes: object): boolean =>
  new TextEncoder().encode(JSON.stringify(attributes)).length <= LARGEST_ATTRIBUTES_BYTES;

const toRecord = ({ house, ...row }: Constituency): ConstituencyRecord => ({
  uri: row.uri,
  name: row.name,
  code: row.code,
  type: row.type,
  house: { chamber: house.chamber, house_no: house.houseNo, name: house.name, uri: house.uri },
});
