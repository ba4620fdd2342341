// What is made from the schema: its JSON Schema, and the committed reference (`vitest -u` writes it anew).
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configReference } from '../../scripts/docs/configuration.ts';
import { exampleConfig } from '../../src/config/example.ts';
import { configJsonSchema } from '../../src/config/jsonSchema.ts';
import { fileSchema } from '../../src/config/schema.ts';
import { fileShape, flat, keysOf } from '../../src/config/shape.ts';

it('docs/configuration.md is current', async () => {
  await expect(configReference()).toMatchFileSnapshot('../../docs/configuration.md');
});

it('each key is described and has an example', () => {
  for (const { path, shape, keys } of flat(keysOf())) {
    expect([path, shape.description]).toEqual([path, expect.stringMatching(/\.$/)]);
    if (keys.length === 0) expect([path, shape.examples]).toEqual([path, [expect.anything()]]);
  }
});

it('what we go by is what zod says of the schema', () => {
  const told = z.toJSONSchema(fileSchema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => Object.assign(jsonSchema, z.globalRegistry.get(zodSchema)),
  });
  // zod leaves out an empty list of required keys.
  const written = JSON.stringify(fileShape()).replaceAll(',"required":[]', '');
  expect(told).toMatchObject(JSON.parse(written));
  expect(written).toMatch(/"minimum":.*"exclusiveMinimum":.*"private":true/);
});

describe('the JSON Schema', () => {
  const schema = configJsonSchema();
  const validator = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);

  it('is plain JSON without words of our own', () => {
    const text = JSON.stringify(schema);
    expect(JSON.parse(text)).toEqual(schema);
    expect(text).not.toMatch(/"(allowed|private|readable|everyday)":/);
  });

  it('knows both keys of a secret, descriptions, defaults and examples', () => {
    expect(schema).toMatchObject({
      $schema: expect.stringContaining('json-schema.org'),
      properties: {
        usage: {
          properties: { reread_days: { type: 'integer', default: 14, description: expect.any(String) } },
        },
        mqtt: {
          properties: { password: { examples: [expect.any(String)] }, password_file: { type: 'string' } },
        },
      },
    });
  });

  it('accepts the example and refuses what the schema refuses', () => {
    const example = parse(exampleConfig());
    expect(validator.safeParse(example).success).toBe(true);
    expect(validator.safeParse({ ...example, colour: 1 }).success).toBe(false);
    expect(validator.safeParse({ ...example, http: { listen: 1 } }).success).toBe(false);
    expect(validator.safeParse({ ...example, usage: { concurrency: 65 } }).success).toBe(false);
  });
});
