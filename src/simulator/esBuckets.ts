// What every kind of bucket agrees on: its side of the nesting, its sub-aggregations, the limit of buckets.
import { SearchError } from './esError.ts';
import type { Item, Mapping } from './esFields.ts';

export interface Scope {
  readonly mapping: Mapping;
  readonly nested: boolean;
}

/** Makes the answer of one aggregation; `inside` answers the sub-aggregations for the items of a bucket. */
export type Answers = (items: readonly Item[], inside: Inside, maxBuckets: number) => Record<string, unknown>;
export type Inside = (items: readonly Item[]) => Record<string, unknown>;

export function withinLimit(maxBuckets: number, buckets: number): void {
  if (buckets <= maxBuckets) return;
  const reason = `Trying to create too many buckets. Must be less than or equal to: [${maxBuckets}] but was [${buckets}].`;
  throw new SearchError('too_many_buckets_exception', reason, 503);
}
