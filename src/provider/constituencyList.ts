// The public list of constituencies: one question, and pages that end whatever the service does.
import * as z from 'zod';
import {
  type Constituency,
  type ConstituencyList,
  type ConstituencyQuestion,
  inOrder,
} from '../domain/constituency.ts';
import { understandPage } from './constituencyReply.ts';
import { understand } from './reply.ts';
import { type Ask, ProviderRefused, UnexpectedReply } from './request.ts';

const WHAT = 'list of constituencies';
const MOST_PAGES = 100;
// What the specification gives when no limit is asked for.
const DEFAULT_LIMIT = 50;
// The most that a request may ask for.
const LARGEST_LIMIT = 5_000;
const LARGEST_RAW_CHARACTERS = 256 * 1024;

/** Rejects with ProviderUnreachable, ProviderRefused or UnexpectedReply. */
export async function readConstituencies(
  ask: Ask,
  question: ConstituencyQuestion,
  signal?: AbortSignal,
): Promise<ConstituencyList> {
  const from = question.skip ?? 0;
  const wanted = question.limit ?? LARGEST_LIMIT;
  const rows = new Map<string, Constituency>();
  let total: number | null = null;
  let received = 0;
  let endsByItself = false;
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
    const page = understandPage(json);
    if (page === null && received === 0) return passOn(json);
    if (page === null) throw new UnexpectedReply(WHAT, 'another page like the first', 'another shape');
    const before = rows.size;
    for (const row of page.rows) if (rows.size < wanted && !rows.has(row.uri)) rows.set(row.uri, row);
    total = page.total ?? total;
    received += page.rows.length;
    // With nothing new the end is reached, or the service hands out the same page for ever.
    endsByItself = rows.size === before || (total !== null && from + received >= total);
    if (endsByItself || rows.size >= wanted) break;
  }
  const due = Math.min(wanted, total === null ? wanted : Math.max(0, total - from));
  if (rows.size === 0 && total !== null && due > 0) {
    throw new UnexpectedReply(WHAT, `some of the ${total} rows that it speaks of`, 'none');
  }
  const complete = rows.size >= due || (total === null && endsByItself);
  return { constituencies: inOrder(rows.values()), total, complete, raw: null };
}

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
  const raw = understand(WHAT, z.record(z.string(), z.unknown()), json);
  if (JSON.stringify(raw).length > LARGEST_RAW_CHARACTERS) {
    throw new UnexpectedReply(WHAT, 'a list', 'an unknown shape of more than 256 KiB');
  }
  return { constituencies: null, total: null, complete: true, raw };
}
