// The troubles of an account's meters, for health.
import type { Reason } from '../domain/health.ts';
import { seriesName } from '../domain/reading.ts';
import { DUPLICATE_METER } from '../domain/sharedMeter.ts';
import type { Account } from './account.ts';
import type { AccountContext } from './context.ts';
import type { Meter } from './meter.ts';

export function meterReasons(
  meter: Meter,
  { zone, config }: Pick<AccountContext, 'zone' | 'config'>,
): Reason[] {
  const { account, name, ledger } = meter;
  const reasons: Reason[] = [];
  if (ledger.quarantined.size > 0)
    reasons.push({
      code: 'implausible_reading',
      message: `The provider's amounts for ${[...ledger.quarantined.keys()].sort().join(', ')} are implausible and not counted yet.`,
      hint: 'They count once the provider reports the same amounts again.',
    });
  if (meter.isContradicted) {
    const isSame = meter.book.readingCloses === 'same_day';
    const [taken, counted] = isSame ? ['the first hours', 'that day'] : ['the second half', 'the day before'];
    const request = JSON.stringify({ from: ledger.origin });
    reasons.push({
      code: 'reading_closes_doubtful',
      message: `Readings are taken in ${taken} of a day now, and counted for ${counted}: every day may be one day off.`,
      hint: `Send the request backfill with ${request}: the bridge then decides again and reads all days again. Or set usage.reading_closes.`,
    });
  }
  const { late, readingAt } = meter.reading() ?? { late: false, readingAt: null };
  if (late && readingAt !== null)
    reasons.push({
      code: 'data_late',
      message: `The newest reading was taken ${zone.iso(readingAt)}, more than ${config.usage.late_after_hours} hours ago.`,
      hint: 'The provider has nothing newer. Nothing is lost: late days fill in by themselves.',
    });
  return reasons.map((reason) => ({ ...reason, account, meter: name }));
}

/** The meters that other accounts read, and that it has too. */
export const duplicateReasons = ({ id, properties }: Account): Reason[] =>
  properties.duplicates().map(({ property, reader }) => ({
    code: DUPLICATE_METER,
    message: `The accounts ${reader} and ${id} have the same meter. It is read once, by ${reader}.`,
    hint: `One of the two accounts is enough. If ${reader} cannot read it for a day, or needs somebody to sign in, ${id} takes it over with its history.`,
    account: id,
    meter: seriesName(property),
  }));
