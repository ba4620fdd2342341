// The public list of constituencies: from parameters to a question, and from a question to a list, over pages whose paging cannot be
// trusted, in the two shapes that are known.
import * as z from 'zod';
import type { Config } from '../config/schema.ts';
import {
  type Answered,
  CHAMBERS,
  type Constituency,
  type ConstituencyList,
  type ConstituencyQuestion,
  inOrder,
  ofSittingHouse,
  pageOf,
  rowsAskedFor,
} from '../domain/constituency.ts';
import { mostOf } from '../domain/listOf.ts';
import { type Clock, withDeadline } from '../foundation/clock.ts';
import { RateLimit } from '../foundation/limits.ts';
import { createHttpClient } from '../http/client.ts';
import { type Parameters, readParameters } from '../mqtt/requests.ts';
import { digestOf, parseReply, printable } from '../provider/reply.ts';
import { type Ask, createAsk, ProviderRefused, UnexpectedReply } from '../provider/request.ts';
import { REQUESTS } from '../publication/payloads/requests.ts';

const TIMEOUT_SECONDS = 30;
// The time limit for all pages together.
const LONGEST_FETCH_MS = 120_000;
const MOST_FETCHES = 30;
const FETCHES_WITHIN_MS = 5 * 60_000;
const WHAT = 'list of constituencies';
const MOST_PAGES = 100;
// The specification's limit when none is asked for.
const DEFAULT_LIMIT = 50;
// The most that a request may ask for.
const LARGEST_LIMIT = 5_000;
// More than fit into the largest reply.
const MOST_ROWS = 10_000;
const LONGEST_URI = 256;
const LARGEST_RAW_CHARACTERS = 256 * 1024;

export type ConstituenciesSection = NonNullable<Config['constituencies']>;

export interface Asked {
  /** `houseNo` is `null` while the sitting house is to be found. */
  readonly question: ConstituencyQuestion;
  readonly isOfSittingHouse: boolean;
  /** Fetch although a list is fresh. */
  readonly force: boolean;
}

/** Knows no credentials. */
export function openPublicList(section: ConstituenciesSection, clock: Clock) {
  const ask = createAsk({
    baseUrl: section.base_url,
    timeoutSeconds: TIMEOUT_SECONDS,
    send: createHttpClient(clock).send,
    clock,
    setting: 'constituencies.base_url',
  });

  return {
    /** The service is asked for so many lists. */
    fetches: new RateLimit(clock, MOST_FETCHES, FETCHES_WITHIN_MS),
    /**
     * The configuration's question is asked if there are no parameters. `nameOf`: a parameter, as the user calls it. Throws
     * request_malformed.
     */
    readQuestion(parameters: Parameters, nameOf?: (parameter: string) => string): Asked {
      const given = readParameters(REQUESTS.constituencies, parameters, nameOf);
      const { chamber, house_no, chamber_id = [], skip = null, limit = null, force = false } = given;
      // The host is left out: both forms of the specification's URI are one and the same house.
      const paths = [chamber_id].flat().map((uri) => uri.replace(/^https?:\/\/[^/]+/, ''));
      const chamberIds = [...new Set(paths)].sort();
      const isOpen = chamber === undefined && house_no === undefined && chamberIds.length === 0;
      const asked = isOpen ? section : given;
      const which = { chamber: asked.chamber || null, houseNo: asked.house_no ?? null, chamberIds };
      const isOfSittingHouse = isOpen && which.chamber !== null && which.houseNo === null;
      return { question: { ...which, skip, limit }, isOfSittingHouse, force };
    },
    /** Rejects with the failures of the provider's requests. */
    async read({ question, isOfSittingHouse }: Asked, signal?: AbortSignal): Promise<Answered> {
      const toAsk = isOfSittingHouse ? { ...question, skip: null, limit: null } : question;
      const list = await withDeadline(clock, LONGEST_FETCH_MS, signal, (limit) =>
        readConstituencies(ask, toAsk, limit),
      );
      return isOfSittingHouse ? ofSittingHouse(question, list) : { question, list };
    },
  };
}

/** Rejects as a request does (provider/request.ts). */
export async function readConstituencies(
  ask: Ask,
  question: ConstituencyQuestion,
  signal?: AbortSignal,
): Promise<ConstituencyList> {
  const { chamber, houseNo, chamberIds } = question;
  if (chamber !== null || houseNo !== null || chamberIds.length > 0) return readPages(ask, question, signal);
  // Without a filter the service answers with one arbitrary house.
  const rows = new Map<string, Constituency>();
  let total: number | null = 0;
  let unreadable = 0;
  let complete: boolean | null = true;
  for (const each of CHAMBERS) {
    const list = await readPages(ask, { ...question, chamber: each, skip: null, limit: null }, signal);
    if (list.constituencies === null) return list;
    for (const row of list.constituencies) rows.set(row.uri, row);
    total = total === null || list.total === null ? null : total + list.total;
    complete &&= list.complete;
    unreadable += list.unreadable;
  }
  if (complete) total = rows.size;
  return pageOf(question, inOrder(rows.values()), { total, complete, unreadable });
}

async function readPages(
  ask: Ask,
  question: ConstituencyQuestion,
  signal?: AbortSignal,
): Promise<ConstituencyList> {
  const from = question.skip ?? 0;
  const wanted = question.limit ?? LARGEST_LIMIT;
  const rows = new Map<string, Constituency>();
  const unreadable = new Set<string>();
  let total: number | null = null;
  let received = 0;
  let isAtTheEnd = false;
  let isPart = false;
  // One large page if the service allows it: its order may change from one page to the next.
  let limit = wanted;

  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const query = toQuery(question, from + received, Math.min(limit, wanted - rows.size));
    let json: unknown;
    try {
      json = await ask({ method: 'GET', path: '/constituencies', query, what: WHAT, signal });
    } catch (err) {
      if (!(err instanceof ProviderRefused)) throw err;
      // A deep `skip` may be refused: what came before it counts.
      if (received > 0) break;
      if (question.limit !== null || limit === DEFAULT_LIMIT) throw err;
      limit = DEFAULT_LIMIT;
      continue;
    }
    const { data } = page.safeParse(json);
    if (data === undefined && received === 0) return passOn(json);
    if (data === undefined) throw new UnexpectedReply(WHAT, 'another page like the first', 'another shape');
    const before = rows.size;
    for (const row of data.rows) if (rows.size < wanted && !rows.has(row.uri)) rows.set(row.uri, row);
    for (const one of data.unreadable) unreadable.add(digestOf(one));
    const count = data.rows.length + data.unreadable.length;
    received += count;
    isAtTheEnd = count === 0;
    isPart ||= data.isOfOneHouse && !asksForOneHouse(question);
    total = data.total ?? total;
    // Fewer than there are: the service counts something else, or has ignored `skip`.
    if (total !== null && rows.size > 0 && total < from + rows.size) total = null;
    // The service goes on to hand out the same page if there is nothing new.
    if (rows.size === before || rows.size >= wanted || (total !== null && from + received >= total)) break;
  }
  if (rows.size === 0 && total !== null && rowsAskedFor(question, total) > 0) {
    throw new UnexpectedReply(WHAT, `some of the ${total} rows that it speaks of`, 'none');
  }
  // An empty page tells too, behind pages from the first row on that had no row twice.
  const isAll = total === null ? isAtTheEnd && from === 0 && received === rows.size : rows.size >= total;
  return {
    constituencies: inOrder(rows.values()),
    total: isPart ? null : total,
    complete: isPart || (total === null && !isAll) ? null : isAll,
    unreadable: unreadable.size,
    raw: null,
  };
}

const asksForOneHouse = ({ chamber, houseNo, chamberIds }: ConstituencyQuestion): boolean =>
  chamberIds.length === 1 || (chamberIds.length === 0 && chamber !== null && houseNo !== null);

function toQuery(question: ConstituencyQuestion, skip: number, limit: number): URLSearchParams {
  const query = new URLSearchParams();
  for (const id of question.chamberIds) query.append('chamber_id', id);
  if (question.chamber !== null) query.set('chamber', question.chamber);
  if (question.houseNo !== null) query.set('house_no', String(question.houseNo));
  if (skip > 0) query.set('skip', String(skip));
  query.set('limit', String(limit));
  return query;
}

/** The specification promises an object and nothing about its fields. */
function passOn(json: unknown): ConstituencyList {
  if (JSON.stringify(json).length > LARGEST_RAW_CHARACTERS) {
    throw new UnexpectedReply(WHAT, 'a list', 'an unknown shape of more than 256 KiB');
  }
  const raw = parseReply(WHAT, z.record(z.string(), z.unknown()), json);
  return { constituencies: null, total: null, complete: null, unreadable: 0, raw };
}

const filled = z.string().min(1);
const shown = filled.transform((text) => printable(text));
const uri = filled.transform((text) => printable(text, LONGEST_URI));
/** Only what identifies a row is needed: everything else may be missing. */
const orNull = <T extends z.ZodType>(kind: T) => kind.nullable().catch(null);
const text = orNull(shown);
// Numbers come as text here, and might one day not.
const digits = z.string().regex(/^\d{1,9}$/);
const count = orNull(z.union([z.int().min(0), digits.transform(Number)]));

const house = z
  .object({ houseCode: text, houseNo: count, showAs: text, uri: orNull(uri) })
  .transform(({ houseCode: chamber, houseNo, showAs: name, uri }) => ({ chamber, houseNo, name, uri }))
  .catch({ chamber: null, houseNo: null, name: null, uri: null });
const row = z.object({ uri, showAs: shown, representCode: text, representType: text });
const rows = mostOf(
  z
    .object({ constituencyOrPanel: row, house })
    .transform(({ constituencyOrPanel: { showAs: name, representCode, representType, uri }, house }) => ({
      uri,
      name,
      code: representCode,
      type: representType,
      house,
    })),
  MOST_ROWS,
);
const head = z
  .object({ counts: z.object({ resultCount: count }) })
  .transform(({ counts }) => counts.resultCount)
  .catch(null);

const newerShape = z
  .object({ head, results: rows })
  .transform(({ head: total, results }) => ({ ...results, total, isOfOneHouse: false }));
/** It has room for one house, however many match. */
const olderShape = z
  .object({ head, results: z.object({ house: z.object({ house, constituenciesOrPanels: rows }) }) })
  .transform(({ head: total, results: { house } }) => ({
    rows: house.constituenciesOrPanels.rows.map((row) => ({ ...row, house: house.house })),
    unreadable: house.constituenciesOrPanels.unreadable,
    total,
    isOfOneHouse: true,
  }));
const page = z.union([newerShape, olderShape]);
