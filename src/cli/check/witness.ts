// Tells what a meter itself has said so far, as the daemon has written it down: when, and whether the provider's days are the same ones.

import { configuredMeter, knownMeters } from '../../accounts/names.ts';
import { rememberLast } from '../../accounts/rememberLast.ts';
import { openWitnesses } from '../../daemon/witnesses.ts';
import { toUnits } from '../../domain/amount.ts';
import { openLedger } from '../../domain/ledger.ts';
import type { ReadingCloses } from '../../domain/readingCloses.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { WitnessView } from '../../publication/views.ts';
import type { Settings } from '../settings.ts';
import type { Check, Outcome } from './outcome.ts';

const OTHER_CLOSING = { same_day: 'previous_day', previous_day: 'same_day' } as const;

/** One for each meter of the configuration that has a witness. */
export function witnessChecks(settings: Settings, clock: Clock): readonly Check[] {
  const { config, state, zone } = settings;
  const configured = Object.entries(config.meters).filter(([, { witness }]) => witness !== undefined);
  // Read once for all checks, with the first of them.
  const read = rememberLast(async () => ({
    witnesses: await openWitnesses({ ...settings, clock }, () => undefined),
    meters: await knownMeters(state, config),
  }));
  return configured.map(([meter, { witness }]) => ({
    name: `witness of ${meter}`,
    async run() {
      const { witnesses, meters } = await read();
      const series = meters.find(
        ({ property, name }) => configuredMeter(config.meters, property, name)?.key === meter,
      );
      const stored = (await series?.ledger?.read()) ?? null;
      const view = witnesses.of(meter, stored?.ledger ?? openLedger(zone.dayAt(clock.now())));
      const heard = view && heardWords(view, (at) => zone.iso(at));
      if (!view || !heard) return { message: `nothing was heard in the last two days on ${witness?.topic}` };
      return dayWords(heard, view.compared, stored?.readingCloses ?? 'same_day');
    },
  }));
}

function heardWords({ energy, at }: WitnessView, iso: (at: number) => string): string | null {
  if (energy === null || at === null) return null;
  return `${toUnits(energy)} kWh, heard at ${iso(at)} (written once an hour)`;
}

/** The days of the meter itself show which day a reading of the provider is about. */
function dayWords(
  heard: string,
  { days, daysLate, differing }: WitnessView['compared'],
  closes: ReadingCloses,
): Outcome {
  if (daysLate === null) return { message: `${heard}; a week of days tells more` };
  const compared = `${heard}; ${days.size} of its days are known (reading_closes: ${closes})`;
  if (daysLate === 0) return { message: `${compared}, ${differing.length} differ from the provider's` };
  const direction = daysLate > 0 ? 'after' : 'before';
  const isOfClosing = (closes === 'same_day') === daysLate > 0;
  return {
    message: `${compared}, and the provider's days are each one ${direction} its own`,
    hint: isOfClosing
      ? `Set usage.reading_closes: ${OTHER_CLOSING[closes]}; the history is then read again.`
      : null,
  };
}
