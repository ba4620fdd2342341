// Lists of the provider: `{ objects, total_num }` or a bare array, a page at a time.
import * as z from 'zod';
import { understand } from './reply.ts';
import type { Ask } from './request.ts';

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
}

/** All rows, each identity once. Ends at `total_num`, or with a page that brings nothing new. */
export async function readList<T>(ask: Ask, question: ListQuestion<T>): Promise<T[]> {
  const { what, path, query, row, identity, mostPages = MOST_PAGES, signal } = question;
  const page = z.object({ objects: z.array(row), total_num: z.number().int().min(0).nullish() });
  const rows = new Map<string, T>();
  for (let number = 1; number <= mostPages; number += 1) {
    const paged = new URLSearchParams({ ...query, page: String(number), count: String(PAGE_ROWS) });
    const json = await ask({ method: 'GET', path, query: paged, what, signal });
    const { objects, total_num } = understand(what, page, Array.isArray(json) ? { objects: json } : json);
    const before = rows.size;
    for (const object of objects) rows.set(identity(object), object);
    if (rows.size === before || (total_num != null && rows.size >= total_num)) break;
  }
  return [...rows.values()];
}
