// heat2mqtt invoices: asks the provider for the invoices of the last three years and prints them.
import type { Upstream } from '../../daemon/accounts/upstream.ts';
import { type Invoice, invoiceRecord, newestFirst } from '../../domain/invoice.ts';
import { zone as zoneOf } from '../../domain/period.ts';
import { EXIT } from '../../foundation/failure.ts';
import { readInvoices } from '../../provider/billing.ts';
import { discover } from '../../provider/discovery.ts';
import type { Command, Io } from '../command.ts';
import { type Column, formatFrom, keyColumns, print, tableLines } from '../printing.ts';
import { loadSettings } from '../settings.ts';
import { findCurrency, openUpstreamBeside, pickAccount } from '../upstream.ts';

export const invoices: Command = async ({ options, words }, io) => {
  const format = formatFrom(options.format, io);
  const settings = await loadSettings({ options, words }, io);
  const account = pickAccount(settings, options.account);
  const upstream = await openUpstreamBeside(settings, account, io);
  const found = await readAll(upstream, io);
  const currency = await findCurrency(settings, upstream);
  const zone = zoneOf(settings.config.usage.timezone);
  const records = found.map((invoice) => ({ ...invoiceRecord(invoice, zone), currency }));
  const table = () => [...tableLines(tableColumns(currency), records), `${records.length} in all`];
  print(format, { records, csv: CSV_COLUMNS, table }, io);
  return EXIT.fine;
};

/** Of all billing profiles. */
async function readAll({ ask, context, identity, log }: Upstream, io: Io): Promise<Invoice[]> {
  const signal = io.interrupted;
  const { personCustomerId, billingProfileIds } =
    (await context.read()) ?? (await discover(ask, await identity(), log, signal));
  const asked = { personCustomerId, billingProfileIds, now: Date.now(), signal };
  const { byProfile } = await readInvoices(ask, asked);
  const found = new Map([...byProfile.values()].flat().map((invoice) => [invoice.id, invoice]));
  return newestFirst([...found.values()]);
}

const CSV_COLUMNS = keyColumns(
  ...(['id', 'status', 'period_start', 'period_end', 'issued', 'due'] as const),
  ...(['amount', 'amount_due', 'currency'] as const),
);

const tableColumns = (currency: string): Column<ReturnType<typeof invoiceRecord>>[] => [
  { head: 'Issued', value: ({ issued }) => issued },
  { head: 'From', value: ({ period_start }) => period_start },
  { head: 'To', value: ({ period_end }) => period_end },
  { head: 'Due', value: ({ due }) => due },
  { head: 'Status', value: ({ status }) => status },
  { head: currency, value: ({ amount }) => amount, decimals: 2 },
  { head: 'Still due', value: ({ amount_due }) => amount_due, decimals: 2 },
  { head: 'Invoice', value: ({ id }) => id },
];
