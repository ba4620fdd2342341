// docs/schemas: a JSON Schema for each kind of payload, for those who check or generate code on the other side.
import * as z from 'zod';
import { about } from '../../src/foundation/about.ts';
import { TOPICS } from '../../src/publication/payloads/payloads.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** `meter/<meter>/usage/<interval>` is in meter-usage.json. */
export const schemaFile = (topic: string): string =>
  `${topic.replaceAll(/\/<\w+>/g, '').replaceAll('/', '-')}.json`;

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

function jsonSchemaOf(topic: string, schema: z.ZodType): JsonSchema {
  const { $schema = DRAFT, ...rest } = z.toJSONSchema(schema, {
    override: ({ jsonSchema }) => {
      // zod bounds every whole number by what JavaScript can count.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return {
    $schema,
    $id: `${about.url}/raw/main/docs/schemas/${schemaFile(topic)}`,
    title: `<base>/${topic.replaceAll(/<\w+>/g, '+')}`,
    ...rest,
  };
}

/** By topic, as in `TOPICS`. */
export const SCHEMAS: ReadonlyMap<string, JsonSchema> = new Map(
  Object.entries(TOPICS).map(([topic, schema]) => [topic, jsonSchemaOf(topic, schema)]),
);

/** Texts by the name of the file. */
export const schemaFiles = (): Record<string, string> =>
  Object.fromEntries(
    [...SCHEMAS].map(([topic, schema]) => [schemaFile(topic), `${JSON.stringify(schema, null, 2)}\n`]),
  );
