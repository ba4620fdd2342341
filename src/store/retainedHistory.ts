// The retained history of a meter, read back from the broker when the state directory is lost.
import * as z from 'zod';
import { toMicro } from '../domain/amount.ts';
import type { RetainedHistory } from '../domain/recovery.ts';

const LARGEST_UNITS = 1_000_000_000;
const day = z.iso.date();
const amount = z
  .number()
  .min(-LARGEST_UNITS)
  .max(LARGEST_UNITS)
  .nullable()
  .transform((units) => (units === null ? null : toMicro(units)));
const history = z.object({
  schema: z.literal(1),
  timezone: z.string(),
  reading_closes: z.enum(['same_day', 'previous_day']),
  origin: day,
  days: z.array(z.tuple([day, amount, amount])),
});

/** `null` for anything that is not a history of ours: every client of the broker may publish there. */
export function readRetainedHistory(payload: Buffer): RetainedHistory | null {
  let json: unknown;
  try {
    json = JSON.parse(payload.toString('utf8'));
  } catch {
    return null;
  }
  const parsed = history.safeParse(json);
  if (!parsed.success) return null;
  const { timezone, reading_closes: readingCloses, origin, days } = parsed.data;
  if (days.some(([each]) => each < origin)) return null;
  return {
    timezone,
    readingCloses,
    origin,
    days: new Map(days.map(([each, energy, cost]) => [each, { energy, cost }])),
  };
}
