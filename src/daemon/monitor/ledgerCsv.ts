// The days of a meter as CSV, for a spreadsheet.
import { inFull, type Micro } from '../../domain/amount.ts';
import { compareText } from '../../domain/order.ts';
import type { MeterView } from '../../publication/views.ts';

const HEAD = ['day', 'energy_kwh', 'cost', 'currency', 'revision', 'received_at'];

/** Oldest first; amounts unrounded. */
export function ledgerCsv({
  ledger,
  currency,
  zone,
}: Pick<MeterView, 'ledger' | 'currency' | 'zone'>): string {
  const amount = (value: Micro | null) => (value === null ? '' : inFull(value));
  const rows = [...ledger.days]
    .sort(([a], [b]) => compareText(a, b))
    .map(([day, { energy, cost, revision, receivedAt }]) => [
      day,
      amount(energy),
      amount(cost),
      currency,
      revision,
      zone.iso(receivedAt),
    ]);
  return [HEAD, ...rows].map((cells) => `${cells.map(cell).join(',')}\r\n`).join('');
}

/** A spreadsheet takes a text that begins like this for a formula. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
