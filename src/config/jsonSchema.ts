// The JSON Schema of the configuration file, for editors that complete and check while one types.
import * as z from 'zod';
import { fileSchema } from './schema.ts';

/** Of the file as it is written: defaults may be left out, and each secret has its `_file` key. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(fileSchema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      // zod leaves examples out where a transform follows, since it cannot know that ours are inputs.
      const examples = z.globalRegistry.get(zodSchema)?.examples;
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      // Our own words about each key, which JSON Schema does not know.
      for (const name of ['allowed', 'private', 'readable', 'everyday']) delete jsonSchema[name];
    },
  });
}
