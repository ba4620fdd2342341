// The stored registers of a meter's own: the newest, and the first after each local midnight. And which telegrams are believed.
import * as z from 'zod';
import { toMicro, toUnits } from './amount.ts';
import type { Zone } from './period.ts';
import { instant, namedReadings, type Register, register, registerHistory, withReadings } from './reading.ts';
import type { Telegram, WitnessRefusal } from './witness.ts';

const HOUR_MS = 3_600_000;
const HALF_DAY_MS = 12 * HOUR_MS;
/** After so long without a telegram nothing is known any more. */
export const SILENT_AFTER_MS = 48 * HOUR_MS;
/** Registers that were published with few digits may seem to fall by so much. */
const NOISE = toMicro(0.1);
const KWH = toMicro(1);
/** No building of this kind takes more: 1 MW, and the step of a register in MWh. */
const MOST_KWH_PER_HOUR = 1000;
/** A new meter begins below a tenth of what the old one showed. */
const SHARE_OF_A_NEW_METER = 0.1;
/** Days on which the register grew at midnight only, after which it is taken for one of midnight. */
const STILL_DAYS = 2;

const number = z.number().optional();

export const witnessRecord = z.object({
  newest: register.extend({ flowTemperature: number, returnTemperature: number, volume: number }).nullable(),
  /** The first of each day that was heard at its midnight, or when the register had hardly moved since. */
  midnights: registerHistory.nullable(),
  stillDays: z.int(),
  /** The newest of those that may be of another meter, and since when it is heard. */
  other: register.extend({ since: instant }).nullable(),
});
export type WitnessRecord = Readonly<z.infer<typeof witnessRecord>>;

export const NOTHING_HEARD: WitnessRecord = { newest: null, midnights: null, stillDays: 0, other: null };

/** The register stands still but for midnight: how much of it is of today is not known. */
export const isOfMidnight = ({ stillDays }: WitnessRecord): boolean => stillDays >= STILL_DAYS;

/** The record after the telegram of that moment, the same where it is older than what is known; and why it is not believed. */
export function hearTelegram(
  earlier: WitnessRecord,
  telegram: Telegram,
  at: number,
  zone: Zone,
): { readonly record: WitnessRecord; readonly refusal: WitnessRefusal | null } {
  const { energy, meter } = telegram;
  const before = namedRecord(earlier, meter);
  const { newest, other } = before;
  if (newest !== null && at <= newest.readAt) return { record: earlier, refusal: null };
  const heard: Register = { energy, readAt: at, ...(meter === undefined ? {} : { meter }) };
  const doubt = newest && doubtOf(newest, heard);
  if (doubt === null)
    return { record: { ...withRegister(before, heard, telegram, zone), other: null }, refusal: null };
  const since = other !== null && doubtOf(other, heard) === null ? other.since : at;
  if (at - since < doubt.believedAfterMs)
    return { record: { ...earlier, other: { ...heard, since } }, refusal: doubt };
  return { record: withRegister(NOTHING_HEARD, heard, telegram, zone), refusal: null };
}

/** Registers that did not name their meter are those of the first meter that is named. */
function namedRecord(record: WitnessRecord, meter: string | undefined): WitnessRecord {
  const { newest, midnights } = record;
  if (newest === null || newest.meter !== undefined || meter === undefined) return record;
  return { ...record, newest: { ...newest, meter }, midnights: midnights && namedReadings(midnights, meter) };
}

/** Readings in the future of a clock that was ahead once are left out; a small step back is waited for. */
export function withoutFuture(record: WitnessRecord, now: number): WitnessRecord {
  const { newest, midnights } = record;
  if (newest === null || newest.readAt <= now + HOUR_MS) return record;
  const readings = (midnights?.readings ?? []).filter(({ readAt }) => readAt <= now);
  const last = readings.at(-1);
  if (last === undefined) return NOTHING_HEARD;
  return { ...NOTHING_HEARD, newest: last, midnights: { ...last, readings } };
}

/** `null`: the same meter a while later. */
function doubtOf(
  before: Register,
  after: Register,
): (WitnessRefusal & { readonly believedAfterMs: number }) | null {
  const grown = after.energy - before.energy;
  const [was, is] = [before, after].map(({ energy }) => `${toUnits(energy)} kWh`);
  if (before.meter !== after.meter) {
    const message = `it is of the meter ${after.meter ?? 'without an identifier'}, and was of ${before.meter}`;
    return { refused: 'another_meter', message, believedAfterMs: HOUR_MS };
  }
  if (grown < -NOISE) {
    const isNew = after.energy < before.energy * SHARE_OF_A_NEW_METER;
    const message = `it has fallen from ${was} to ${is}`;
    return { refused: 'fallen', message, believedAfterMs: isNew ? HOUR_MS : SILENT_AFTER_MS };
  }
  const hours = (after.readAt - before.readAt) / HOUR_MS;
  if (grown <= toMicro(MOST_KWH_PER_HOUR * (1 + hours))) return null;
  return {
    refused: 'jumped',
    message: `it has jumped from ${was} to ${is}`,
    believedAfterMs: SILENT_AFTER_MS,
  };
}

function withRegister(before: WitnessRecord, heard: Register, telegram: Telegram, zone: Zone): WitnessRecord {
  const { newest } = before;
  const register = { ...heard, energy: Math.max(heard.energy, newest?.energy ?? 0) };
  const isFirst = newest === null || zone.dayAt(newest.readAt) < zone.dayAt(heard.readAt);
  return {
    ...before,
    newest: { ...newest, ...register, ...telegram.surroundings },
    midnights: tellsMidnight(before, register, isFirst, telegram, zone)
      ? withReadings(before.midnights, [register], zone)
      : before.midnights,
    stillDays: isFirst ? stillDaysAfter(before, register, telegram) : before.stillDays,
  };
}

/** The register is that of the last midnight. */
function tellsMidnight(
  { newest, midnights }: WitnessRecord,
  { energy, readAt }: Register,
  isFirst: boolean,
  { isOfMidnight }: Telegram,
  zone: Zone,
): boolean {
  // Its own midnight may be an hour later.
  if (isOfMidnight) return isFirst || midnights?.energy !== energy;
  if (!isFirst) return false;
  const isSoon = readAt - zone.startOf(zone.dayAt(readAt)) <= HOUR_MS;
  return isSoon || (newest !== null && energy - newest.energy <= KWH);
}

function stillDaysAfter(
  { newest, midnights, stillDays }: WitnessRecord,
  { energy }: Register,
  { isOfMidnight }: Telegram,
) {
  if (isOfMidnight) return STILL_DAYS;
  if (newest === null || midnights === null) return 0;
  const hasMoved = newest.energy > midnights.energy;
  if (hasMoved) return 0;
  const isLong = newest.readAt - midnights.readAt > HALF_DAY_MS;
  return isLong && energy > newest.energy ? stillDays + 1 : stillDays;
}
