// The lists of constituencies, as schemas.
import * as z from 'zod';
import { count, instant, payload, text } from './parts.ts';

export const total = count
  .nullable()
  .describe('How many match in all, whatever skip and limit leave out; null when the service does not tell.');
export const complete = z
  .boolean()
  .nullable()
  .describe(
    'Whether the list has all that match: false for a page of them; null when the service does not tell.',
  );

export const constituenciesSummary = payload({
  count: count.nullable(),
  topic: text.nullable().describe('Where the whole list is; null until the sitting house is known.'),
  fetched_at: instant.nullable(),
  stale: z.boolean().nullable(),
  names: z
    .array(z.string())
    .nullable()
    .describe('Each once; null while not fetched, and when they are too many for Home Assistant.'),
  note: text
    .nullable()
    .describe(
      'What names and count do not tell: why they differ, or that the list is not whole. null: nothing.',
    ),
}).describe('The configured list in short.');

export const constituencyRecord = z.strictObject({
  uri: text,
  name: z.string(),
  code: z.string().nullable(),
  type: z.string().nullable(),
  house: z.strictObject({
    chamber: z.string().nullable(),
    house_no: z.int().nullable(),
    name: z.string().nullable(),
    uri: z.string().nullable(),
  }),
});

export const constituencies = z.array(constituencyRecord).nullable();

export const constituencyList = payload({
  fetched_at: instant,
  stale: z.boolean().describe('A later fetch has failed.'),
  query: z.strictObject({
    chamber: z.enum(['dail', 'seanad']).nullable(),
    house_no: z.int().nullable(),
    chamber_id: z.array(text),
    skip: z.int().nullable(),
    limit: z.int().nullable(),
  }),
  count: count
    .nullable()
    .describe('null when no reply has had a known shape yet: the newest one is in raw then.'),
  total,
  complete,
  constituencies,
  raw: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The reply, when its shape is unknown and no list is known.'),
}).describe('The list of a house or a chamber, published on request. `all` stands for a missing part.');
