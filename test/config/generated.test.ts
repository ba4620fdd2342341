// What is made from the schema: its JSON Schema, and the committed reference (`vitest -u` writes it anew).
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { configReference } from '../../scripts/docs/configuration.ts';
import { exampleConfig } from '../../src/config/example.ts';
import { allKeys, configJsonSchema } from '../../src/config/keys.ts';

it('docs/configuration.md is current', async () => {
  await expect(configReference()).toMatchFileSnapshot('../../docs/configuration.md');
});

it('each key is described and has an example', () => {
  for (const { path, schema, keys } of allKeys()) {
    expect([path, schema.description]).toEqual([path, expect.stringMatching(/\.$/)]);
    if (keys.length === 0)
      expect([path, schema.examples ?? [schema.default]]).toEqual([path, [expect.anything()]]);
  }
});

describe('the JSON Schema', () => {
  const schema = configJsonSchema();
  const validator = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);

  it('is plain JSON without words of our own', () => {
    const text = JSON.stringify(schema);
    expect(JSON.parse(text)).toEqual(schema);
    expect(text).not.toMatch(/"(private|readable|essential)":/);
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
