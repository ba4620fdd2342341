// Lists of the provider: `{ objects, total_num }` or a bare array, a page at a time.
import * as z from 'zod';
import type { Log } from '../../foundation/log.ts';
import { parseReply } from '../reply.ts';
import type { Ask } from '../request.ts';

const PAGE_ROWS = 50;
// Ends a list that a confused server goes on with for ever.
const MOST_PAGES = 200;

export interface ListQuestion<T> {
  readonly what: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly row: z.ZodType<T>;
  readonly identity: (row: T) => string;
  /** Default: 200. */
  readonly mostPages?: number;
  readonly signal?: AbortSignal | undefined;
  /** Told what is missing. Absent where that does no harm. */
  readonly log?: Log;
}

/**
 * All rows, each identity once. Ends at `total_num`, or with a page that brings nothing new; a server that gives the
 * same page whatever is asked is asked for everything in one. What is missing after that is told to the log.
 */
export async function readList<T>(ask: Ask, question: ListQuestion<T>): Promise<T[]> {
  const { what, path, query, row, identity, mostPages = MOST_PAGES, signal, log } = question;
  const page = z.object({ objects: z.array(row), total_num: z.number().int().min(0).nullish() });
  const rows = new Map<string, T>();
  let total: number | null = null;

  /** How many rows the page had, and how many of them were new. */
  async function read(number: number, count: number): Promise<{ given: number; fresh: number }> {
    const paged = new URLSearchParams({ ...query, page: String(number), count: String(count) });
    const json = await ask({ method: 'GET', path, query: paged, what, signal });
    const { objects, total_num } = parseReply(what, page, Array.isArray(json) ? { objects: json } : json);
    const before = rows.size;
    for (const object of objects) rows.set(identity(object), object);
    total = total_num ?? null;
    return { given: objects.length, fresh: rows.size - before };
  }
  const isShort = () => total !== null && rows.size < total;

  for (let number = 1; number <= mostPages; number += 1) {
    const { given, fresh } = await read(number, PAGE_ROWS);
    if (fresh === 0) {
      const ignoresPage = given > 0 && (isShort() || (total === null && given >= PAGE_ROWS));
      if (ignoresPage) await read(1, mostPages * PAGE_ROWS);
      break;
    }
    if (total !== null && !isShort()) break;
  }
  if (isShort()) log?.warn({ what, rows: rows.size, total }, 'the list is not whole');
  return [...rows.values()];
}
