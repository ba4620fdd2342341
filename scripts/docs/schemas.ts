// docs/schemas: a JSON Schema for each kind of payload, for those who check or generate code on the other side.
import * as z from 'zod';
import { about } from '../../src/foundation/about.ts';
import { PAYLOADS } from '../../src/publication/payloads/payloads.ts';

/** By the name of the file. */
export const payloadJsonSchemas = (): Record<string, Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(PAYLOADS).map(([kind, schema]) => [schemaFile(kind), draw(kind, schema)]),
  );

/** `meter/+/usage/+` is in meter-usage.json. */
export const schemaFile = (kind: string): string => `${kind.replaceAll('/+', '').replaceAll('/', '-')}.json`;

function draw(kind: string, schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    override: ({ jsonSchema }) => {
      // zod bounds every whole number by what JavaScript can count.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return {
    $schema,
    $id: `${about.url}/raw/main/docs/schemas/${schemaFile(kind)}`,
    title: `<base>/${kind}`,
    ...rest,
  };
}
