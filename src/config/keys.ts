// The schema as plain data: what environment, secrets, errors, example and reference go by, and `config schema` prints.
import * as z from 'zod';
import { fileSchema } from './schema.ts';

/** Positions in a list are written as numbers: `accounts.0.id`. */
export type Path = readonly string[];

/** The part of a JSON Schema that we read. */
export interface KeySchema {
  type?: string;
  properties?: Record<string, KeySchema>;
  required?: string[];
  items?: KeySchema;
  additionalProperties?: KeySchema | false;
  anyOf?: KeySchema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  description?: string;
  /** Our own: never shown in errors, and taken from YAML as written, `0123` as `0123`. */
  private?: true;
}

export interface Key {
  /** A position in a list is written `<n>`, a name that people choose `<meter>`. */
  readonly path: Path;
  readonly schema: KeySchema;
}

/** The schema as it is written: defaults may be left out, and a secret is a text. `change`: what is known of each key. */
export const jsonSchemaOf = (change: (key: z.core.$ZodType, jsonSchema: KeySchema) => void): KeySchema =>
  z.toJSONSchema(fileSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => change(zodSchema, jsonSchema as KeySchema),
  }) as KeySchema;

/** The JSON Schema for editors. */
export const configJsonSchema = () => jsonSchemaOf((_, jsonSchema) => delete jsonSchema.private);

let drawn: KeySchema | undefined;

// Drawn once, by the first that asks: that takes 8 ms of a start of 160.
function rootSchema(): KeySchema {
  drawn ??= jsonSchemaOf(() => undefined);
  return drawn;
}

/** They have the order of the schema; a section comes before its keys. */
export function allKeys(schema: KeySchema = rootSchema(), above: Path = []): Key[] {
  if (schema.items) return allKeys(schema.items, [...above, '<n>']);
  if (schema.additionalProperties) return allKeys(schema.additionalProperties, [...above, '<meter>']);
  return Object.entries(mappingOf(schema)?.properties ?? {}).flatMap(([name, inner]) => {
    const path = [...above, name];
    return [{ path, schema: inner }, ...allKeys(inner, path)];
  });
}

/** Keys that one variable can hold: sections only when they can be switched with true and false. */
export const settableKeys = (): Key[] =>
  allKeys().filter(
    ({ schema }) => !schema.properties && !schema.items?.properties && !schema.additionalProperties,
  );

export function schemaAt(path: Path): KeySchema | undefined {
  return path.reduce<KeySchema | undefined>((schema, name) => {
    const { items, additionalProperties } = schema ?? {};
    return items ?? mappingOf(schema)?.properties?.[name] ?? (additionalProperties || undefined);
  }, rootSchema());
}

/** The schema itself, or the one of its alternatives, that has keys. */
export function mappingOf(schema: KeySchema | undefined): KeySchema | undefined {
  return [schema, ...(schema?.anyOf ?? [])].find((alternative) => alternative?.properties);
}

/** Names a file: of a secret, or a certificate. */
export const isFileKey = (path: Path): boolean =>
  path.at(-1)?.endsWith('_file') === true && schemaAt(path) !== undefined;

/** The key of the file that a secret may be in instead: `mqtt.password_file` for `mqtt.password`. */
export const fileKeyOf = (path: Path): Path => [...path.slice(0, -1), `${path.at(-1)}_file`];

/** Both keys of a secret, from either of them: the inline one, then that of its file. None for another key. */
export function secretKeysOf(path: Path): Path[] {
  const inline = [...path.slice(0, -1), path.at(-1)?.replace(/_file$/, '') ?? ''];
  return isSecret(inline) ? [inline, fileKeyOf(inline)] : [];
}

/** The inline key of a secret is private, and there is a key for its file. */
export const isSecret = (path: Path): boolean =>
  schemaAt(path)?.private === true && schemaAt(fileKeyOf(path)) !== undefined;

/** The inline key of a secret, from either of its two keys; any other key as it is. */
export const mainKeyOf = (path: Path): Path => secretKeysOf(path)[0] ?? path;

/** An empty section, and one that is switched on by `true`, is one with all defaults. */
export function asSection(path: Path, value: unknown): unknown {
  const { anyOf, items, properties, additionalProperties } = schemaAt(path) ?? {};
  if (value === true && anyOf?.some((alternative) => alternative.properties)) return {};
  if (value === null && items?.properties) return [];
  return value === null && (properties || additionalProperties) ? {} : value;
}

/** `HEAT2MQTT_MQTT_URL` for `mqtt.url`. */
export function variableOf(path: Path): string {
  return `HEAT2MQTT_${path.join('_').toUpperCase()}`;
}
