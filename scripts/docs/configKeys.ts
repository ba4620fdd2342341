// The keys of the configuration, nested as they are in the schema.
import { type Key, type KeySchema, mappingOf, type Path } from '../../src/config/keys.ts';

export interface NestedKey extends Key {
  readonly required: boolean;
  /** The keys inside, when it is a section or a list of sections. */
  readonly keys: readonly NestedKey[];
}

export function configKeys(schema: KeySchema, path: Path = []): NestedKey[] {
  const mapping = mappingOf(schema);
  return Object.entries(mapping?.properties ?? {}).map(([name, inner]) => {
    const here = [...path, name];
    const [each, at] = inner.items?.properties
      ? [inner.items, '<n>']
      : [inner.additionalProperties, '<meter>'];
    const keys = each ? configKeys(each, [...here, at]) : configKeys(inner, here);
    return { path: here, schema: inner, required: mapping?.required?.includes(name) ?? false, keys };
  });
}

/** All of them in one list; a section comes before its keys. */
export const inOneList = (keys: readonly NestedKey[]): NestedKey[] =>
  keys.flatMap((key) => [key, ...inOneList(key.keys)]);
