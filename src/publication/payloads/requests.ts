// The questions on `bridge/request/<name>`. The daemon checks requests with these schemas: each message says what is allowed.
import * as z from 'zod';

export const transaction = z
  .union([z.string().max(256), z.number()])
  .optional()
  .describe('Comes back in the answer, unaltered.');

const request = <S extends z.ZodRawShape>(does: string, shape: S) =>
  z
    .strictObject({ ...shape, transaction })
    .describe(
      `${does} JSON, or empty. Retained requests are ignored (with MQTT 3.1.1, those that were there before the bridge connected).`,
    );

const day = z.iso.date('a day as YYYY-MM-DD');
const wholeNumber = (from: number, to: number) => {
  const allowed = `a whole number from ${from} to ${to}`;
  return z.int(allowed).min(from, allowed).max(to, allowed);
};

const MOST_HOUSES = 50;
const HOUSES = `a house URI such as /ie/oireachtas/house/dail/33, or a list of at most ${MOST_HOUSES}`;
const houseUri = z
  .string(HOUSES)
  .regex(/^(https?:\/\/[^/?#\s]+)?\/ie\/[a-z0-9_-]+\/house\/(dail|seanad)\/[1-9]\d{0,3}$/, HOUSES);

export const REQUESTS = {
  refresh: request('Polls every account at once.', {}),
  backfill: request('Reads these days again.', {
    from: day.describe('First day to be read again.'),
    to: day.optional().describe('Last day; default: today.'),
  }),
  constituencies: request('Fetches a list of constituencies; without parameters the configured one.', {
    chamber: z.enum(['dail', 'seanad', ''], 'dail, seanad, or empty for both').optional(),
    house_no: wholeNumber(1, 9_999).optional(),
    chamber_id: z.union([houseUri, z.array(houseUri).max(MOST_HOUSES, HOUSES)], HOUSES).optional(),
    skip: wholeNumber(0, 1_000_000).optional(),
    limit: wholeNumber(1, 5_000).optional(),
    force: z.boolean('true, false').optional().describe('Fetch although the list is younger than a minute.'),
  }),
  health: request('Publishes bridge/health.', {}),
};
