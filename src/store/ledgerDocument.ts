// A ledger as it is kept on disk: its days as short rows, and how they were cut.
import * as z from 'zod';
import type { Change, DayRecord, Ledger } from '../domain/ledger.ts';
import { type Day, isDay, isInstant, METERED } from '../domain/period.ts';
import { calendarDay, instant } from '../domain/reading.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { type Tariff, type TariffChange, tariff } from '../domain/tariff/tariff.ts';
import { versioned } from './documents.ts';
import type { Codec } from './stateStore.ts';

const micro = z.number().int();

/** A ledger and how its days were cut: other cuts need the history again. */
export interface LedgerDocument {
  readonly timezone: string;
  /** `null`: not decided yet. */
  readonly readingCloses: ReadingCloses | null;
  readonly ledger: Ledger;
  /** The one that was published last; only a different one is an event. */
  readonly tariff: Tariff | null;
  /** The retained history on the broker has not been read yet. */
  readonly isNew: boolean;
  /** Changes that are worth an event, and that the broker has not answered yet. Oldest first. */
  readonly untold: readonly (Change | TariffChange)[];
}

const amounts = { energy: micro.nullable(), cost: micro.nullable() };
/** A day as it is kept. */
export type DayRow = readonly [
  day: string,
  energy: number | null,
  cost: number | null,
  revision: number,
  receivedAt: number,
];

// Read by hand: zod takes 55 ms for the 7,300 rows of twenty years, on a Raspberry Pi several times that, at each start.
function isDayRow(row: unknown): boolean {
  if (!Array.isArray(row) || row.length !== 5) return false;
  const [date, energy, cost, revision, receivedAt] = row;
  const isAmount = (amount: unknown) => amount === null || Number.isSafeInteger(amount);
  return (
    typeof date === 'string' &&
    isDay(date) &&
    date < METERED.to &&
    isAmount(energy) &&
    isAmount(cost) &&
    Number.isSafeInteger(revision) &&
    isInstant(receivedAt)
  );
}

const dayChange = z.object({
  kind: z.enum(['new_day', 'corrected']),
  day: calendarDay,
  before: z.object(amounts).nullable(),
  after: z.object(amounts),
});
const tariffChange = z.object({ kind: z.literal('tariff_changed'), before: tariff, after: tariff });

const ledgerSchema = z.object({
  timezone: z.string(),
  readingCloses: z.enum(['same_day', 'previous_day']).nullable(),
  // A clock that was years ahead has opened it later than any day of a meter.
  origin: calendarDay.refine((day) => day >= METERED.from),
  readTo: calendarDay,
  complete: z.boolean(),
  sweptOn: calendarDay.nullable(),
  /** The quarantined days. */
  held: z.array(z.tuple([calendarDay, amounts.energy, amounts.cost])),
  /** Further facts about them: day, times changed, of the first history. Files of 0.1.0 do not have it. */
  quarantine: z.array(z.tuple([calendarDay, z.number().int(), z.boolean()])).default([]),
  isNew: z.boolean().default(false),
  tariff: tariff.nullable().default(null),
  untold: z.array(z.union([dayChange, tariffChange])).default([]),
  /** The reading times of the newest days. Files of 0.1 do not have them. */
  readTimes: z.array(z.tuple([calendarDay, instant])).default([]),
  days: z.custom<DayRow[]>((rows) => Array.isArray(rows) && rows.every(isDayRow)),
});
const flat = versioned(ledgerSchema);

export const ledgerCodec: Codec<LedgerDocument> = {
  decode(json) {
    const { timezone, readingCloses, isNew, tariff, untold, ...more } = flat.decode(json);
    const { days, readTimes, held, quarantine, ...rest } = more;
    const quarantined = new Map(
      held.map(([date, energy, cost]) => {
        const [, timesChanged, isHistory] = quarantine.find(([day]) => day === date) ?? [date, 0, true];
        return [date, { energy, cost, timesChanged, isHistory }];
      }),
    );
    const records = new Map<Day, DayRecord>();
    for (const [date, energy, cost, revision, receivedAt] of days)
      if (date >= rest.origin) records.set(date, { energy, cost, revision, receivedAt });
    const ledger = { ...rest, readTimes: new Map(readTimes), quarantined, days: records };
    return { timezone, readingCloses, ledger, isNew, tariff, untold };
  },
  encode({ ledger: { days, readTimes, quarantined, ...rest }, untold, ...others }) {
    return flat.encode({
      ...others,
      untold: [...untold],
      ...rest,
      readTimes: [...readTimes],
      held: [...quarantined].map(([date, { energy, cost }]) => [date, energy, cost]),
      quarantine: [...quarantined].map(([date, { timesChanged, isHistory }]) => [
        date,
        timesChanged,
        isHistory,
      ]),
      days: [...days].map(([date, r]) => [date, r.energy, r.cost, r.revision, r.receivedAt]),
    });
  },
};
