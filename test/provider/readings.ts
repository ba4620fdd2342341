// One property whose readings a test spells out, and what an honest report of them says, summed on its own.
import { zone } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';
import { usageReports } from '../../src/provider/monetization/usageReport.ts';
import type { UsageQuestion } from '../../src/provider/provider.ts';
import type { Ask } from '../../src/provider/request.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { logLines } from '../support/logLines.ts';
import { openProvider } from './home.ts';

export const PROPERTY = 512_001;
export const REPORT = '/api/v1/reports/usage';

/** Forty days around the readings that most tests spell out. */
export const QUESTION: UsageQuestion = {
  propertyCustomerId: String(PROPERTY),
  span: { from: '2026-02-01', to: '2026-03-11' },
  interval: 'day',
  zone: zone('Europe/Dublin'),
  readingCloses: 'same_day',
};

/** The amounts alone. */
export async function readUsageOf(ask: Ask, changes: Partial<UsageQuestion> = {}): Promise<Bucket[]> {
  const buckets = await usageReports(ask, logLines().log).usage({ ...QUESTION, ...changes });
  return buckets.map(({ readAt: _, ...amounts }) => amounts);
}

/** `events` is read live: push to it and the provider knows more. */
export async function openHome(events: ExplicitEvent[] = []) {
  const services = [{ identifier: '70418235', meter: { events } }];
  const groups = [{ properties: [{ id: PROPERTY, services }] }];
  const provider = await openProvider([{ username: 'me@example.org', password: 'p', groups }]);
  const report = (question?: Partial<UsageQuestion>) => readUsageOf(provider.ask, question);
  return { ...provider, events, report };
}

/** `2026-03-01 12.5 kWh 1.5 EUR`, read half an hour after midnight UTC. */
export const reading = (
  day: string,
  kwh: number | null,
  eur: number | null,
  more: Partial<ExplicitEvent> = {},
): ExplicitEvent => ({ at: Date.parse(`${day}T00:30:00Z`), kwh, eur, ...more });

/** Energy and cost of each local day in millionths, from the readings themselves. */
export function expectedDays(events: readonly ExplicitEvent[], timezone: string, shiftDays = 0): Bucket[] {
  const local = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const days = new Map<string, { energy: number | null; cost: number | null }>();
  for (const { at, kwh, eur } of events) {
    const written = local.format(at);
    const day = new Date(Date.parse(written) + shiftDays * 86_400_000).toISOString().slice(0, 10);
    const sum = days.get(day) ?? { energy: null, cost: null };
    if (kwh !== null) sum.energy = (sum.energy ?? 0) + Math.round(kwh * 1e6);
    if (eur !== null) sum.cost = (sum.cost ?? 0) + Math.round(eur * 1e6);
    days.set(day, sum);
  }
  return [...days].map(([day, sums]) => ({ day, ...sums })).sort((a, b) => (a.day < b.day ? -1 : 1));
}
