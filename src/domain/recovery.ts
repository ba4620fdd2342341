// A lost ledger is restored from the history retained on the broker, as if it had never been lost.
import * as z from 'zod';
import { toMicro } from './amount.ts';
import { type Amounts, type DayRecord, type Ledger, newerAmounts, openLedger } from './ledger.ts';
import { listOf } from './listOf.ts';
import { type Day, METERED } from './period.ts';
import type { ReadingCloses } from './readingCloses.ts';

/** Every day of a ledger as it was published last, and how its days were cut. */
export interface RetainedHistory {
  readonly timezone: string;
  readonly readingCloses: ReadingCloses;
  readonly origin: Day;
  readonly days: ReadonlyMap<Day, Amounts>;
}

const LARGEST_UNITS = 1_000_000_000;
const amount = z
  .number()
  .min(-LARGEST_UNITS)
  .max(LARGEST_UNITS)
  .nullable()
  .transform((units) => (units === null ? null : toMicro(units)));
const history = z
  .object({
    schema: z.literal(1),
    timezone: z.string(),
    reading_closes: z.enum(['same_day', 'previous_day']),
    origin: z.iso.date(),
    days: listOf(z.tuple([z.iso.date(), amount, amount])),
  })
  .refine(({ origin, days }) => origin >= METERED.from && days.every(([day]) => day >= origin));

/** `null` for anything that is not a history of ours: every client of the broker may publish there. */
export function readRetainedHistory(payload: Buffer): RetainedHistory | null {
  try {
    const { timezone, reading_closes, origin, days } = history.parse(JSON.parse(payload.toString('utf8')));
    const amounts = days.map(([day, energy, cost]) => [day, { energy, cost }] as const);
    return { timezone, readingCloses: reading_closes, origin, days: new Map(amounts) };
  } catch {
    return null;
  }
}

/**
 * The retained days, and over them whatever the provider has given since: the newest amounts count, and absence never
 * erases. If the retained origin is not the ledger's own, the history is still to be read from there.
 */
export function restoreLedger(ledger: Ledger, { origin, days }: RetainedHistory, at: number): Ledger {
  const records = new Map<Day, DayRecord>();
  for (const [day, { energy, cost }] of days) records.set(day, { energy, cost, revision: 0, receivedAt: at });
  for (const [day, read] of ledger.days) {
    if (day < origin) continue;
    records.set(day, { ...read, ...newerAmounts(read, days.get(day)) });
  }
  return { ...(ledger.origin === origin ? ledger : openLedger(origin)), days: records };
}
