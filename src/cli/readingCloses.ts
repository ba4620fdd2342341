// Which day the readings of a property close: as configured, as the daemon has decided, or as the provider's readings say now.
import { ledgerFile } from '../accounts/meterLedger.ts';
import type { Upstream } from '../accounts/upstream.ts';
import { addDays, type Zone } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { closingOf, DAYS_LOOKED_AT, type ReadingCloses } from '../domain/readingCloses.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import type { Settings } from './settings.ts';

export interface Closing {
  readonly closes: ReadingCloses;
  /** How that is known; `unknown`: there is no reading to tell. */
  readonly from: 'configuration' | 'state' | 'readings' | 'unknown';
  /** Of how many of the newest days there are readings, where they were asked for. */
  readonly days: number | null;
}

/** Asks the provider only where it is neither configured nor decided. Rejects with the provider's failures. */
export async function findClosing(
  { config }: Settings,
  { provider, state }: Upstream,
  { account, property, zone }: { account: string; property: Property; zone: Zone },
): Promise<Closing> {
  const { reading_closes: configured } = config.usage;
  if (configured !== 'auto') return { closes: configured, from: 'configuration', days: null };
  const kept = await state.document(ledgerFile(account, property), ledgerCodec).read();
  if (kept?.readingCloses && kept.timezone === zone.name)
    return { closes: kept.readingCloses, from: 'state', days: null };
  const to = addDays(zone.dayAt(Date.now()), 1);
  const { propertyCustomerId } = property;
  const span = { from: addDays(to, -DAYS_LOOKED_AT), to };
  const hours = (await provider.readingHours?.({ propertyCustomerId, span, zone })) ?? [];
  const days = new Set(hours.map((at) => zone.dayAt(at))).size;
  const closes = closingOf(hours, zone);
  return closes ? { closes, from: 'readings', days } : { closes: 'same_day', from: 'unknown', days };
}

const CLOSED = {
  same_day: 'the day on which it is taken',
  previous_day: 'the day before it is taken',
} as const;
const KNOWN_FROM = {
  configuration: 'as configured',
  state: 'as the history was read',
  readings: 'seen from the times of the newest readings',
  unknown: 'assumed, as long as there are no readings to tell',
} as const;

export const closingWords = ({ closes, from }: Pick<Closing, 'closes' | 'from'>): string =>
  `each reading counts for ${CLOSED[closes]} (${KNOWN_FROM[from]})`;
