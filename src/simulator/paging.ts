// Lists in pages, as the monetization API gives them.
import type { Switches } from './switches.ts';

const DEFAULT_COUNT = 10;

export function paged(objects: readonly unknown[], query: URLSearchParams, { api }: Switches): unknown {
  const page = api.ignoresPage ? 1 : wholeNumber(query.get('page'), 1);
  const count = Math.min(wholeNumber(query.get('count'), DEFAULT_COUNT), api.maxPageSize);
  const shown = objects.slice((page - 1) * count, page * count);
  return api.bareArrays ? shown : { objects: shown, total_num: objects.length };
}

function wholeNumber(written: string | null, otherwise: number): number {
  const value = Number(written ?? otherwise);
  return Number.isInteger(value) && value >= 1 ? value : otherwise;
}
