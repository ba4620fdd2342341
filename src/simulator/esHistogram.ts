// `date_histogram` of the 7.1 line: `interval` only, local calendars, gaps filled on request.
import { type Answers, type Scope, withinLimit } from './esBuckets.ts';
import { allow, record, SearchError, text } from './esError.ts';
import { type Item, instant, numbersOf } from './esFields.ts';
import { type CalendarUnit, Zone } from './localTime.ts';

const UNITS: Record<string, CalendarUnit> = {
  minute: 'minute',
  '1m': 'minute',
  hour: 'hour',
  '1h': 'hour',
  day: 'day',
  '1d': 'day',
  week: 'week',
  '1w': 'week',
  month: 'month',
  '1M': 'month',
  quarter: 'quarter',
  '1q': 'quarter',
  year: 'year',
  '1y': 'year',
};
const STEPS_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const KNOWN = [
  'field',
  'interval',
  'time_zone',
  'min_doc_count',
  'extended_bounds',
  'format',
  'keyed',
  'order',
];

interface Steps {
  readonly floor: (at: number) => number;
  readonly next: (start: number) => number;
}

export function compileDateHistogram(
  parameters: Record<string, unknown>,
  scope: Scope,
  name: string,
): Answers {
  // `calendar_interval` and `fixed_interval` came with 7.2: here they are unknown words.
  allow(parameters, KNOWN, 'date_histogram');
  const field = text(parameters.field, 'date_histogram');
  if (scope.mapping[field] !== undefined && scope.mapping[field] !== 'date') {
    const reason = `Field [${field}] of type [${scope.mapping[field]}] is not supported for aggregation [${name}]`;
    throw new SearchError('illegal_argument_exception', reason);
  }
  const { floor, next } = steps(text(parameters.interval, 'date_histogram'), zoneOf(parameters.time_zone));
  const atLeast = Number(parameters.min_doc_count ?? 0);
  const bounds = boundsOf(parameters).map(floor);
  const newestFirst = JSON.stringify(parameters.order ?? {}).includes('desc');
  return (items, inside, maxBuckets) => {
    const groups = new Map<number, Item[]>();
    for (const item of items) {
      for (const at of numbersOf(item, field)) {
        const key = floor(at);
        const group = groups.get(key);
        if (group) group.push(item);
        else groups.set(key, [item]);
      }
    }
    if (atLeast === 0) fillGaps(groups, bounds, next, (count) => withinLimit(maxBuckets, count));
    withinLimit(maxBuckets, groups.size);
    const kept = [...groups].filter(([, group]) => group.length >= atLeast).sort(([a], [b]) => a - b);
    if (newestFirst) kept.reverse();
    const buckets = kept.map(([key, group]) => ({
      // Unhelpful like the real one: the day in UTC, which in summer is not the day of the bucket.
      key_as_string: new Date(key).toISOString().slice(0, 10),
      key,
      doc_count: group.length,
      ...inside(group),
    }));
    if (parameters.keyed !== true) return { buckets };
    return { buckets: Object.fromEntries(buckets.map((bucket) => [bucket.key_as_string, bucket])) };
  };
}

function fillGaps(
  groups: Map<number, Item[]>,
  bounds: readonly number[],
  next: (start: number) => number,
  count: (buckets: number) => void,
): void {
  const edges = [...groups.keys(), ...bounds];
  const last = edges.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const first = edges.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  for (let start = first; start <= last; start = next(start)) {
    if (groups.has(start)) continue;
    groups.set(start, []);
    count(groups.size);
  }
}

function steps(interval: string, zone: Zone): Steps {
  const unit = Object.hasOwn(UNITS, interval) ? UNITS[interval] : undefined;
  if (unit) return { floor: (at) => zone.floor(at, unit), next: (start) => zone.next(start, unit) };
  const [, count, letter = ''] = /^(\d+)([smhd])$/.exec(interval) ?? [];
  const stepMs = Number(count) * (STEPS_MS[letter] ?? Number.NaN);
  if (!(stepMs > 0)) {
    const reason = `failed to parse setting [date_histogram.interval] with value [${interval}] as a time value`;
    throw new SearchError('illegal_argument_exception', reason);
  }
  const floor = (at: number) => zone.floorFixed(at, stepMs);
  return { floor, next: (start) => floor(start + stepMs + Math.min(stepMs / 2, 3_600_000)) };
}

function zoneOf(asked: unknown): Zone {
  try {
    return new Zone(text(asked ?? 'UTC', 'date_histogram'));
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    throw new SearchError(
      'illegal_argument_exception',
      `The datetime zone id '${String(asked)}' is not recognised`,
    );
  }
}

function boundsOf({ extended_bounds: given, format, time_zone }: Record<string, unknown>): number[] {
  if (given === undefined) return [];
  const bounds = record(given, 'extended_bounds');
  allow(bounds, ['min', 'max'], 'extended_bounds');
  const zone = time_zone === undefined ? {} : { zone: text(time_zone, 'date_histogram') };
  const ends = [bounds.min, bounds.max].filter((end) => end !== undefined && end !== null);
  const [min = 0, max = min] = ends.map((end) => instant(end, { format, ...zone }));
  if (min <= max) return ends.map((end) => instant(end, { format, ...zone }));
  throw new SearchError(
    'illegal_argument_exception',
    `[extended_bounds.min][${min}] cannot be greater than [extended_bounds.max][${max}]`,
  );
}
