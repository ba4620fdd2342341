// The meter's own register, from the single readings, whatever their order and their ids.
import * as z from 'zod';
import type { Register } from '../../domain/reading.ts';
import type { RegisterQuestion } from '../provider.ts';
import { looseAmount, looseInstant, meterIdentifier, readKnown } from '../reply.ts';
import { type Ask, ProviderRefused, UnexpectedReply } from '../request.ts';
import { NAMES, PATHS } from './names.ts';

const WHAT = 'single readings';
const DAY_MS = 24 * 3_600_000;
const FIRST_WINDOW_DAYS = 35;
// Days are booked late and corrected afterwards.
const OVERLAP_DAYS = 7;
const KWH_IN: Readonly<Record<string, number>> = { wh: 0.001, kwh: 1, mwh: 1_000 };

/**
 * Oldest first; none when nothing has been read lately. A meter that has been exchanged lately is asked about too: its last reading may
 * be booked after those of the one in its place.
 */
export async function readRegister(ask: Ask, question: RegisterQuestion): Promise<readonly Register[]> {
  const { property, known, now } = question;
  const since = known === null ? now - FIRST_WINDOW_DAYS * DAY_MS : known.readAt - OVERLAP_DAYS * DAY_MS;
  const [identifier] = property.meterIdentifiers;
  const readings = await readMeter(ask, question, identifier, since);
  const begun = readings[0]?.readAt ?? Number.POSITIVE_INFINITY;
  const lately = [...(known?.readings ?? []), ...(known ? [known] : [])].filter(
    ({ readAt }) => readAt >= since,
  );
  const earlier = new Set(lately.flatMap(({ meter }) => (meter === identifier ? [] : (meter ?? []))));
  const before: Register[] = [];
  for (const meter of earlier)
    before.push(...(await readMeter(ask, question, meter, since).catch(unlessRefused)));
  // Later values of it are of no use.
  const ended = before.filter(({ readAt }) => readAt < begun).sort((a, b) => a.readAt - b.readAt);
  return [...ended, ...readings];
}

/** The provider may have forgotten a meter that is not there any more. */
function unlessRefused(err: unknown): readonly Register[] {
  const isAboutTheMeter = err instanceof ProviderRefused && err.status !== 401;
  if (isAboutTheMeter || err instanceof UnexpectedReply) return [];
  throw err;
}

/** The register of one meter, oldest first; without an identifier, of the only one that there is. */
async function readMeter(
  ask: Ask,
  { property, now, signal }: RegisterQuestion,
  identifier: string | undefined,
  since: number,
): Promise<readonly Register[]> {
  const list = {
    what: WHAT,
    path: PATHS.readings(property.propertyCustomerId),
    query: {
      'time-from': String(since),
      'time-to': String(now + DAY_MS),
      'service-type': NAMES.heatService,
      ...(identifier === undefined ? {} : { identifier }),
      ...(property.balanceGroupId === null ? {} : { 'balance-group': property.balanceGroupId }),
      // Should there be too many, the newest ones are among those that are read.
      'order-dir': 'desc',
    },
    row: reading,
    signal,
  };
  const readings = await readKnown(ask, list, 'readings with meter_value and time_of_read');
  const actual = readings.filter(
    (reading) => reading.isActual && reading.readAt <= now + DAY_MS && isOf(reading, identifier),
  );
  // If two readings are of one moment, the one that was booked later is the corrected one.
  const inOrder = actual.sort((a, b) => a.readAt - b.readAt || a.bookedAt - b.bookedAt);
  const meter = identifier === undefined ? {} : { meter: identifier };
  return [...new Map(inOrder.map(({ energy, readAt }) => [readAt, { energy, readAt, ...meter }])).values()];
}

interface Reading extends Register {
  readonly identifier: string | null;
  readonly isActual: boolean;
  readonly bookedAt: number;
}

const isOf = (reading: Reading, identifier: string | undefined): boolean =>
  identifier === undefined || reading.identifier === null || reading.identifier === identifier;

/** `null` for whatever cannot be read as kWh at a time. */
const reading = z
  .object({
    created_at: looseInstant,
    fields: z.object({
      identifier: meterIdentifier.nullish(),
      meter_value: looseAmount,
      time_of_read: looseInstant,
      reading_type: z.string().nullish(),
      meter_value_unit: z.string().nullish(),
    }),
  })
  .transform(({ created_at, fields }): Reading | null => {
    const { identifier, meter_value, time_of_read, reading_type, meter_value_unit } = fields;
    const factor = KWH_IN[(meter_value_unit ?? 'kWh').toLowerCase()];
    if (meter_value === null || meter_value < 0 || time_of_read === null || factor === undefined) return null;
    return {
      energy: Math.round(meter_value * factor),
      readAt: time_of_read,
      identifier: identifier ?? null,
      isActual: (reading_type ?? NAMES.actualReading) === NAMES.actualReading,
      bookedAt: created_at ?? 0,
    };
  });
