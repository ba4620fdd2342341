// Fields of documents and of their nested events: types, values, analysis and dates.

import { SearchError } from './esError.ts';
import { Zone } from './localTime.ts';

export type FieldType = 'keyword' | 'text' | 'long' | 'double' | 'date';
export type Mapping = Readonly<Record<string, FieldType>>;

export interface SearchDocument {
  readonly [field: string]: unknown;
  readonly event_fields: readonly Record<string, unknown>[];
}

/** What a query looks at: a document, or one of its nested events, never both. */
export interface Item {
  readonly document: SearchDocument;
  readonly event: Record<string, unknown> | undefined;
}

export const NESTED_PATH = 'event_fields';

/** Root documents do not see nested fields and nested ones do not see the root: the engine keeps them apart. */
export function valuesOf({ document, event }: Item, field: string): unknown[] {
  const isNested = field.startsWith(`${NESTED_PATH}.`);
  if (isNested !== (event !== undefined)) return [];
  if (!isNested && !field.includes('.')) return listed(document[field]);
  let value: unknown = event ?? document;
  for (const step of (isNested ? field.slice(NESTED_PATH.length + 1) : field).split('.')) {
    value =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined;
  }
  return listed(value);
}

function listed(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

export function numbersOf(item: Item, field: string): number[] {
  return valuesOf(item, field).filter((value) => typeof value === 'number');
}

export function numeric(asked: unknown): number {
  const value = typeof asked === 'string' && asked.trim() === '' ? Number.NaN : Number(asked);
  if (Number.isFinite(value)) return value;
  throw new SearchError('number_format_exception', `For input string: "${String(asked)}"`);
}

interface DateReading {
  readonly format?: unknown;
  readonly zone?: string;
  /** `lte` and `gt` mean the last millisecond of a rounded date. */
  readonly upper?: boolean;
}

const LOCAL_DATE =
  /^(\d{4})-(\d{2})(?:-(\d{2}))?(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

export function instant(asked: unknown, { format, zone = 'UTC', upper = false }: DateReading): number {
  const numberLike = typeof asked === 'number' || (typeof asked === 'string' && /^-?\d{5,}$/.test(asked));
  if (numberLike && format === 'epoch_second') return Number(asked) * 1000;
  if (numberLike) return Number(asked);
  const match = typeof asked === 'string' && format !== 'epoch_millis' ? LOCAL_DATE.exec(asked) : null;
  if (!match) {
    const reason = `failed to parse date field [${String(asked)}] with format [${String(format ?? 'strict_date_optional_time||epoch_millis')}]`;
    throw new SearchError('parse_exception', reason);
  }
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  const parts = [Number(year), Number(month) - 1, Number(day ?? 1), Number(hour ?? 0)] as const;
  const millis = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
  const start = Date.UTC(...parts, Number(minute ?? 0), Number(second ?? 0), millis);
  const written = new Zone(offset ?? zone);
  if (!upper || fraction !== undefined) return written.instantOf(start);
  if (second !== undefined) return written.instantOf(start) + 999;
  if (hour !== undefined) return written.instantOf(start) + 59_999;
  const [y, m, d] = parts;
  return written.instantOf(day === undefined ? Date.UTC(y, m + 1, 1) : Date.UTC(y, m, d + 1)) - 1;
}
