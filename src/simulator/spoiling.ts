// Ready-made changes of a usage report: its buckets and sums, wherever in the answer they stand.
import type { Fault } from './faults.ts';

type Bucket = Record<string, unknown>;

/** Shuffle, drop, double or rewrite the innermost and outer lists of buckets. */
export function inBuckets(change: (buckets: Bucket[]) => unknown): Fault {
  return {
    kind: 'change',
    change: (body) => walked(body, 'buckets', (value) => (Array.isArray(value) ? change(value) : value)),
  };
}

/** Rewrite every `{value: …}`: negative, huge, text in place of a number. */
export function inSums(change: (value: unknown) => unknown): Fault {
  return { kind: 'change', change: (body) => walked(body, 'value', change, 'hits') };
}

function walked(part: unknown, key: string, change: (value: unknown) => unknown, except?: string): unknown {
  if (Array.isArray(part)) return part.map((one) => walked(one, key, change, except));
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => {
    if (name === except) return [name, value];
    const inner = walked(value, key, change, except);
    return [name, name === key ? change(inner) : inner];
  });
  return Object.fromEntries(entries);
}
