// The pair of external statistics of each meter: their ids, names and units.
import { createHash } from 'node:crypto';
import type { SeriesKind } from '../domain/statistics.ts';

export interface Series {
  readonly kind: SeriesKind;
  readonly id: string;
  /** Home Assistant wants it equal to what stands before the colon of the id. */
  readonly source: string;
  readonly name: string;
  readonly unit: string;
  /** What makes the energy selectable in the Energy dashboard; money has none. */
  readonly unitClass: 'energy' | null;
}

// Home Assistant's database has columns of this width.
const LONGEST_SOURCE = 32;
const LONGEST_NAME = 100;

/**
 * Energy and cost of one of the meters. `all`: every `meter`, since two may differ in what an id cannot hold.
 * `friendlyName`: what a person calls it.
 */
export function seriesOf(
  baseTopic: string,
  { meter, friendlyName, currency }: { meter: string; friendlyName: string | null; currency: string },
  all: readonly string[],
): readonly Series[] {
  const source = slug(baseTopic, LONGEST_SOURCE) || 'heat2mqtt';
  const name = uniqueSlug(meter, all);
  const called = friendlyName ?? `Heat meter ${meter}`;
  return [
    {
      kind: 'energy',
      id: `${source}:${name}_energy`,
      source,
      name: `${called} energy`,
      unit: 'kWh',
      unitClass: 'energy',
    },
    {
      kind: 'cost',
      id: `${source}:${name}_cost`,
      source,
      name: `${called} cost`,
      unit: currency,
      unitClass: null,
    },
  ];
}

/** Lower-case letters and digits, with single underscores between them. */
function slug(name: string, longest: number): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, '_');
  return plain.replace(/^_/, '').slice(0, longest).replace(/_$/, '');
}

/** Where several meters have the same slug, the first by name has it plain. */
function uniqueSlug(meter: string, all: readonly string[]): string {
  const plain = slug(meter, LONGEST_NAME) || 'meter';
  const rivals = all.filter((other) => (slug(other, LONGEST_NAME) || 'meter') === plain).sort();
  if (rivals.length === 0 || rivals[0] === meter) return plain;
  return `${plain}_${createHash('sha256').update(meter).digest('hex').slice(0, 8)}`;
}
