// When a stored value answers what was asked: analysed text, exact keywords, numbers and dates.
import { type FieldType, type Item, instant, type Mapping, numeric, valuesOf } from './esFields.ts';

export type Matches = (item: Item) => boolean;

// The same few words stand in every document.
const analysed = new Map<string, readonly string[]>();
const MOST_ANALYSED = 1000;

/** A field nobody mapped is no error for the engine: it just never matches. */
export function anyValue(
  field: string,
  mapping: Mapping,
  test: (type: FieldType, stored: unknown) => boolean,
): Matches {
  const type = mapping[field];
  if (type === undefined) return () => false;
  return (item) => valuesOf(item, field).some((stored) => test(type, stored));
}

export function matchesText(type: FieldType, stored: unknown, asked: unknown, every: boolean): boolean {
  if (type !== 'text') return sameTerm(type, stored, asked);
  const present = words(String(stored));
  const wanted = words(String(asked));
  if (wanted.length === 0) return false;
  return every
    ? wanted.every((word) => present.includes(word))
    : wanted.some((word) => present.includes(word));
}

export function matchesPhrase(type: FieldType, stored: unknown, asked: unknown): boolean {
  if (type !== 'text') return sameTerm(type, stored, asked);
  const wanted = words(String(asked));
  return wanted.length > 0 && ` ${words(String(stored)).join(' ')} `.includes(` ${wanted.join(' ')} `);
}

/** The standard analyser: words of letters, digits and underscores in lower case. */
export function words(text: string): readonly string[] {
  const known = analysed.get(text);
  if (known) return known;
  const found = text.toLowerCase().match(/[\p{L}\p{N}_]+(?:[.'](?=[\p{L}\p{N}])[\p{L}\p{N}_]+)*/gu) ?? [];
  if (analysed.size < MOST_ANALYSED) analysed.set(text, found);
  return found;
}

/** Equality as a `term` query sees it: unanalysed on the side of the question. */
export function sameTerm(type: FieldType, stored: unknown, asked: unknown): boolean {
  if (type === 'text') return words(String(stored)).includes(String(asked));
  if (type === 'keyword') return String(stored) === String(asked);
  if (type === 'date') return stored === instant(asked, {});
  return stored === numeric(asked);
}
