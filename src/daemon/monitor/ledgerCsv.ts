// The days of a meter as CSV, for a spreadsheet.
import { knownInFull } from '../../domain/amount.ts';
import { csv } from '../../domain/csv.ts';
import { compareText } from '../../domain/order.ts';
import type { MeterView } from '../../publication/views.ts';

const HEAD = ['day', 'energy_kwh', 'cost', 'currency', 'revision', 'received_at'];

/** Oldest first; amounts unrounded. */
export function ledgerCsv({
  tenancy,
  currency,
  zone,
}: Pick<MeterView, 'currency' | 'zone'> & { readonly tenancy: Pick<MeterView['ledger'], 'days'> }): string {
  const rows = [...tenancy.days]
    .sort(([a], [b]) => compareText(a, b))
    .map(([day, { energy, cost, revision, receivedAt }]) => [
      day,
      knownInFull(energy),
      knownInFull(cost),
      currency,
      revision,
      zone.iso(receivedAt),
    ]);
  return csv([HEAD, ...rows]);
}
