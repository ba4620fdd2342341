// The fields about the meter's own register: at both ends of the month, where it was exchanged, and what a witness heard.
import { toUnits } from '../../domain/amount.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../../domain/period.ts';
import { type Register, readingsByMeter } from '../../domain/reading.ts';
import { dayClosedBy } from '../../domain/readingCloses.ts';
import { untold } from './charges.ts';
import { type AccountFacts, type MeterFacts, type Statement, unknown, valued } from './fields.ts';

/** `provider`: what the provider says was used, kWh. */
export function registerFields(
  meter: MeterFacts,
  account: AccountFacts,
  span: DaySpan,
  provider: number | null,
) {
  return {
    register_first: registerAt(meter, account, addDays(span.from, -1)),
    register_last: registerAt(meter, account, addDays(span.to, -1)),
    exchanges: exchangesIn(meter, span),
    ...(meter.witness && { witness: witnessOver(meter.witness, meter.zone, span, provider) }),
  };
}

const dayOf = ({ readAt }: Register, { readingCloses, zone }: MeterFacts): Day =>
  dayClosedBy(readAt, readingCloses, zone);

/** The register when the day closed. */
function registerAt(meter: MeterFacts, account: AccountFacts, day: Day): Statement['register_first'] {
  if (meter.register === null) return untold(account, 'meter_reading');
  const reading = meter.register.readings.findLast((candidate) => dayOf(candidate, meter) === day);
  if (reading === undefined) return unknown('not_recorded');
  const at = meter.zone.iso(reading.readAt);
  return valued({ kwh: toUnits(reading.energy), at }, { kind: 'register', at });
}

/** Exchanges that are known, after which the register was read in the span for the first time. */
function exchangesIn(meter: MeterFacts, span: DaySpan): Statement['exchanges'] {
  const field = ({ energy, readAt, meter: identifier }: Register) => ({
    kwh: toUnits(energy),
    at: meter.zone.iso(readAt),
    meter_identifier: identifier ?? null,
  });
  const meters = readingsByMeter(meter.register?.readings ?? []);
  return meters.flatMap(([first], at) => {
    const last = meters[at - 1]?.at(-1);
    if (!last || !first) return [];
    const day = dayOf(first, meter);
    return day >= span.from && day < span.to ? [{ last: field(last), first: field(first) }] : [];
  });
}

/** The meter at the end of the month, where its register tells; else those of now. */
export function identifiersAt(meter: MeterFacts, end: Day): string[] {
  const readings = meter.register?.readings ?? [];
  const newest = readings.findLast((reading) => dayOf(reading, meter) < end) ?? readings[0];
  return newest?.meter === undefined ? [...meter.identifiers] : [newest.meter];
}

/** Use as the meter itself says it, by its registers at the midnights of both ends. */
function witnessOver(
  { midnights }: NonNullable<MeterFacts['witness']>,
  zone: Zone,
  { from, to }: DaySpan,
  provider: number | null,
): NonNullable<Statement['witness']> {
  const atStartOf = (day: Day) => midnights?.readings.find(({ readAt }) => zone.dayAt(readAt) === day);
  const first = atStartOf(from);
  const last = atStartOf(to);
  if (!first || !last) return unknown('not_recorded');
  const value = { kwh: toUnits(last.energy - first.energy), provider_kwh: provider };
  return valued(value, { kind: 'register', at: zone.iso(last.readAt) });
}
