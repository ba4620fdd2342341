// A list of constituencies in the words of its topics: of its own, of the answer to a request, and in short for Home Assistant.
import {
  type Answered,
  type Constituency,
  type ConstituencyQuestion,
  caveat,
} from '../domain/constituency.ts';
import type { Zone } from '../domain/period.ts';
import type { Message } from '../mqtt/message.ts';
import type { Answer } from '../mqtt/requests.ts';
import type { ConstituencyRecord } from '../publication/payloads/payloads.ts';
import type { Topics } from '../publication/topics.ts';

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

/** A list is put into words for these topics and in this time zone. */
interface Setting {
  readonly topics: Topics;
  readonly zone: Zone;
}

const levelsOf = (name: string) => name.split('/') as [string, string];

/** The answer to a request for a list. `name`: under which it is retained; `view`: `null` while there is none. */
export function listAnswer({ topics, zone }: Setting, name: string | null, view: ConstituenciesView | null) {
  const { constituencies = null, total = null, complete = null } = view?.list ?? {};
  return {
    topic: name === null ? null : topics.of('constituencies/<chamber>/<house_no>', ...levelsOf(name)),
    count: constituencies?.length ?? null,
    total,
    complete,
    fetched_at: view && zone.iso(view.fetchedAt),
    stale: view?.stale ?? null,
    constituencies: constituencies?.map(constituencyRecord) ?? null,
  };
}

/** The answer to a request that is answered by this list. */
export function answerWith(
  setting: Setting,
  name: string | null,
  view: ConstituenciesView,
  news: { readonly fetched: boolean; readonly changed: boolean },
): Answer {
  const warning = caveat(view) ?? undefined;
  return { status: 'ok', data: { ...listAnswer(setting, name, view), ...news, warning } };
}

export function listMessage(setting: Setting, name: string, view: ConstituenciesView): Message {
  const { topics, zone } = setting;
  const { chamber, houseNo, chamberIds, skip, limit } = view.question;
  const { raw } = view.list;
  const { count, total, complete, constituencies } = listAnswer(setting, name, view);
  return topics.message('constituencies/<chamber>/<house_no>', levelsOf(name), {
    fetched_at: zone.iso(view.fetchedAt),
    stale: view.stale,
    query: { chamber, house_no: houseNo, chamber_id: chamberIds, skip, limit },
    count,
    total,
    complete,
    constituencies,
    ...(raw === null ? {} : { raw }),
  });
}

/** The configured list as Home Assistant shows it, there even before the first request. */
export function summaryMessage(
  setting: Setting,
  name: string | null,
  view: ConstituenciesView | null,
): Message {
  const { topic, count, fetched_at, stale, constituencies } = listAnswer(setting, name, view);
  const names = constituencies && [...new Set(constituencies.map((row) => row.name))];
  const areListed = names !== null && fits({ topic, fetched_at, stale, names });
  const notes = [view && caveat(view), names && remark(names.length, count, areListed)].filter(Boolean);
  return setting.topics.message('bridge/constituencies', [], {
    count,
    topic,
    fetched_at,
    stale,
    names: areListed ? names : null,
    note: notes.length === 0 ? null : notes.join(' '),
  });
}

function remark(names: number, count: number | null, areListed: boolean): string | null {
  if (!areListed)
    return `The ${names} names are too long for Home Assistant. They are on the topic of the list.`;
  return names === count ? null : `${count} constituencies have ${names} different names.`;
}

// Home Assistant's recorder drops attributes above 16384 bytes; it adds a few of its own.
const LARGEST_ATTRIBUTES_BYTES = 15_000;
const fits = (attributes: object): boolean =>
  Buffer.byteLength(JSON.stringify(attributes)) <= LARGEST_ATTRIBUTES_BYTES;

export const constituencyRecord = ({ house, ...row }: Constituency): ConstituencyRecord => ({
  ...row,
  house: { chamber: house.chamber, house_no: house.houseNo, name: house.name, uri: house.uri },
});
