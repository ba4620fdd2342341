// The schema seen as plain data: what the environment, faults, example and reference go by.
import * as z from 'zod';
import { fileSchema } from './schema.ts';
import type { Path } from './tree.ts';

/** In the words of JSON Schema, and our own about each key. */

export interface Shape {
  type?: string;
  properties?: Record<string, Shape>;
  required?: string[];
  items?: Shape;
  anyOf?: Shape[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  description?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  allowed?: string;
  private?: true;
  readable?: true;
  everyday?: true;
}

/** One key or section; a position in a list is written `<n>`. */
export interface Key {
  readonly path: Path;
  readonly shape: Shape;
  readonly required: boolean;
  /** The keys inside, when it is a section or a list of sections. */
  readonly keys: readonly Key[];
}

let drawn: Shape | undefined;

export function fileShape(): Shape {
  drawn ??= draw(fileSchema);
  return drawn;
}

// zod's own JSON Schema has more than anybody here looks at, and costs each start 6 ms.
function draw(schema: z.core.$ZodType): Shape {
  const words = z.globalRegistry.get(schema) as Shape | undefined;
  return { ...drawPlain(schema as z.core.$ZodTypes), ...words };
}

function drawPlain({ _zod: { def } }: z.core.$ZodTypes): Shape {
  if (def.type === 'object') return drawMapping(Object.entries(def.shape));
  if (def.type === 'default' || def.type === 'prefault')
    return { ...draw(def.innerType), default: def.defaultValue };
  if (def.type === 'optional') return draw(def.innerType);
  if (def.type === 'pipe') return draw(def.in);
  if (def.type === 'union') return { anyOf: def.options.map(draw) };
  if (def.type === 'array') return { type: 'array', items: draw(def.element) };
  if (def.type === 'enum') return { type: 'string', enum: Object.values(def.entries) };
  if (def.type === 'literal') {
    const [only] = def.values;
    return def.values.length > 1 ? { enum: [...def.values] } : { type: typeof only, const: only };
  }
  if (def.type !== 'number') return { type: def.type };
  const bounds = (def.checks ?? []).map((check) => boundOf(check as z.core.$ZodChecks));
  return Object.assign({ type: 'format' in def ? 'integer' : 'number' }, ...bounds);
}

function drawMapping(keys: readonly [string, z.core.$ZodType][]): Shape {
  return {
    type: 'object',
    properties: Object.fromEntries(keys.map(([name, inner]) => [name, draw(inner)])),
    required: keys.filter(([, { _zod }]) => _zod.optin === undefined).map(([name]) => name),
  };
}

function boundOf({
  _zod: { def },
}: z.core.$ZodChecks): Pick<Shape, 'minimum' | 'maximum' | 'exclusiveMinimum'> {
  const value = 'value' in def ? Number(def.value) : 0;
  if (def.check === 'less_than') return { maximum: value };
  if (def.check !== 'greater_than') return {};
  return def.inclusive ? { minimum: value } : { exclusiveMinimum: value };
}

/** All keys in the order of the schema; sections stand before their keys. */
export function keysOf(shape: Shape = fileShape(), path: Path = []): Key[] {
  const mapping = mappingOf(shape);
  return Object.entries(mapping?.properties ?? {}).map(([name, inner]) => {
    const here = [...path, name];
    const list = inner.items?.properties !== undefined;
    const keys = list ? keysOf(inner.items, [...here, '<n>']) : keysOf(inner, here);
    return { path: here, shape: inner, required: mapping?.required?.includes(name) ?? false, keys };
  });
}

export function flat(keys: readonly Key[]): Key[] {
  return keys.flatMap((key) => [key, ...flat(key.keys)]);
}

export function shapeAt(path: Path): Shape | undefined {
  let shape: Shape | undefined = fileShape();
  for (const name of path) {
    const position: boolean = shape?.items !== undefined && /^(\d+|<n>)$/.test(name);
    shape = position ? shape?.items : mappingOf(shape)?.properties?.[name];
  }
  return shape;
}

/** The shape itself, or the one of its alternatives, that has keys. */
export function mappingOf(shape: Shape | undefined): Shape | undefined {
  if (shape?.properties !== undefined) return shape;
  return shape?.anyOf?.find((alternative) => alternative.properties !== undefined);
}

/** Completes "allowed: …". */
export function allowedWords(shape: Shape | undefined): string {
  if (shape === undefined) return 'nothing';
  if (shape.allowed !== undefined) return shape.allowed;
  if (shape.enum !== undefined) return shape.enum.map((choice) => (choice === '' ? '""' : choice)).join(', ');
  if (shape.type === 'boolean') return 'true or false';
  if (shape.type === 'integer') return `a whole number from ${shape.minimum} to ${shape.maximum}`;
  if (shape.type === 'number') return `a number above ${shape.exclusiveMinimum}, at most ${shape.maximum}`;
  if (shape.type === 'array') return 'a list';
  if (shape.type === 'string') return 'a text';
  return `a mapping with ${Object.keys(shape.properties ?? {}).join(', ')}`;
}

/** `HEAT2MQTT_MQTT_URL` for `mqtt.url`. */
export function variableOf(path: Path): string {
  return `HEAT2MQTT_${path.join('_').toUpperCase()}`;
}
