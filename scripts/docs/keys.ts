// The keys of a payload in the order of its JSON Schema, nested ones after the key that they belong to.
import type { JsonSchema } from './schemas.ts';

export interface KeyLine {
  /** `meters[].topic` */
  readonly path: string;
  readonly type: string;
  readonly meaning: string;
}

/** A key in one variant of a payload, which has the name of its status, event type or step. */
interface Found {
  readonly parent: string;
  readonly schema: JsonSchema;
  readonly isOptional: boolean;
  readonly variant: string | undefined;
  /** All that there are beside each other. */
  readonly variants: readonly string[];
}

/** None for a payload that is no object. The number of the schema is left out: every payload has it. */
export function keysOf(schema: JsonSchema): KeyLine[] {
  const keys = new Map<string, Found[]>();
  collect(schema, '', '', keys, { variant: undefined, variants: [] });
  keys.delete('schema');
  return inOrder('', keys).map(([path, found]) => ({
    path,
    type: unique(found.map((one) => typeOf(one.schema))).join(' or '),
    meaning: [
      ...(only(found) === only(keys.get(found[0]?.parent ?? '') ?? []) ? [] : [only(found)]),
      ...unique(found.flatMap((one) => one.schema.description ?? [])),
      ...(found.every(({ isOptional }) => isOptional) ? ['May be absent.'] : []),
    ].join(' '),
  }));
}

const inOrder = (parent: string, keys: ReadonlyMap<string, Found[]>): [string, Found[]][] =>
  [...keys]
    .filter(([, [first]]) => first?.parent === parent)
    .flatMap((key) => [key, ...inOrder(key[0], keys)]);

/** `prefix`: what stands before a key below `parent`. */
function collect(
  schema: JsonSchema,
  parent: string,
  prefix: string,
  keys: Map<string, Found[]>,
  outer: Pick<Found, 'variant' | 'variants'>,
): void {
  const options = optionsOf(schema);
  const own = options.flatMap((option) => variantOf(option) ?? []);
  const variants = own.length > 0 ? own : outer.variants;
  for (const option of options) {
    const variant = variantOf(option) ?? outer.variant;
    for (const [key, value] of Object.entries(option.properties ?? {})) {
      const path = `${prefix}${key}`;
      const isOptional = !option.required?.includes(key);
      const found = { parent, schema: value as JsonSchema, isOptional, variant, variants };
      keys.set(path, [...(keys.get(path) ?? []), found]);
      collect(found.schema, path, `${path}.`, keys, found);
    }
    if (isSchema(option.items)) collect(option.items, parent, `${parent}[].`, keys, { variant, variants });
    if (isSchema(option.additionalProperties)) {
      collect(option.additionalProperties, parent, `${prefix}<…>.`, keys, { variant, variants });
    }
  }
}

/** A schema is a choice of these. */
function optionsOf(schema: JsonSchema): JsonSchema[] {
  const options = schema.anyOf ?? schema.oneOf;
  return options === undefined ? [schema] : options.flatMap((option) => optionsOf(option as JsonSchema));
}

/** The value of the key that can have one value only. */
function variantOf({ properties = {} }: JsonSchema): string | undefined {
  const fixed = Object.entries(properties).find(
    ([key, value]) => key !== 'schema' && constOf(value) !== undefined,
  );
  return fixed && String(constOf(fixed[1]));
}

/** Empty for a key that is in every variant. */
function only(found: readonly Found[]): string {
  const own = unique(found.flatMap(({ variant }) => variant ?? []));
  const isInAll = found[0]?.variants.every((variant) => own.includes(variant)) ?? true;
  return isInAll ? '' : `Only with ${own.map(code).join(', ')}.`;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
};
const FORMATS: Readonly<Record<string, string>> = { date: 'day', 'date-time': 'instant', uri: 'URL' };

function typeOf(schema: JsonSchema): string {
  const options = optionsOf(schema);
  if (options.length > 1) return unique(options.map(typeOf)).join(' or ');
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(value === '' ? '""' : String(value))).join(', ');
  if (schema.prefixItems)
    return `[${schema.prefixItems.map((item) => typeOf(item as JsonSchema)).join(', ')}]`;
  if (isSchema(schema.items)) return `list of ${typeOf(schema.items).replace(/^object$/, 'objects')}`;
  const { format = '', minimum, maximum } = schema;
  const bounds = maximum === undefined ? '' : ` from ${minimum} to ${maximum}`;
  return `${[schema.type ?? []]
    .flat()
    .map((type) => FORMATS[format] ?? SCALARS[type] ?? type)
    .join(' or ')}${bounds}`;
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const constOf = (value: unknown): unknown => (isSchema(value) ? value.const : undefined);
const unique = (texts: readonly string[]): string[] => [...new Set(texts)];
const code = (text: string): string => `\`${text}\``;
