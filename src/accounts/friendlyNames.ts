// The names that the configuration gives to meters: which meter has which, and which fit none.
import type { Config } from '../config/schema.ts';
import type { Property } from '../domain/reading.ts';
import type { AccountContext } from './context.ts';

interface WithMeters {
  readonly meters: readonly { readonly name: string; readonly property: Property }[] | null;
}

const MOST_NAMED = 20;

/** The name for its series, or for one of its meters; `null` without one. */
export function friendlyNameOf(
  names: Config['meters'],
  property: Pick<Property, 'meterIdentifiers'>,
  series: string,
): string | null {
  // Identifiers come from the provider: one may be the name of something that every object has.
  const key = [series, ...property.meterIdentifiers].find((each) => Object.hasOwn(names, each));
  return key === undefined ? null : (names[key]?.name ?? null);
}

/** The keys of `meters` that are neither the series nor an identifier of one of these. */
export function strayNames(names: Config['meters'], known: ReadonlySet<string>): string[] {
  return Object.keys(names).filter((key) => !known.has(key));
}

/** To be called at the start and after each poll. Warns once, when all meters are known. */
export function strayNamesWarning(
  accounts: readonly WithMeters[],
  { config, log }: Pick<AccountContext, 'config' | 'log'>,
): () => void {
  let isTold = false;
  return () => {
    if (isTold || accounts.some(({ meters }) => meters === null)) return;
    isTold = true;
    const meters = accounts.flatMap((account) => account.meters ?? []);
    const known = new Set(meters.flatMap(({ name, property }) => [name, ...property.meterIdentifiers]));
    const strays = strayNames(config.meters, known);
    if (strays.length === 0) return;
    const some = [...known].slice(0, MOST_NAMED);
    log.warn({ meters: strays, known: some }, 'the configuration names meters that no account has');
  };
}
