// heat2mqtt invoices: asks the provider for the invoices of the last three years and prints them.
import type { Upstream } from '../daemon/accounts/upstream.ts';
import { type Invoice, invoiceRecord, newestFirst } from '../domain/invoice.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { EXIT } from '../foundation/failure.ts';
import { findCurrency, pickAccount } from './accounts.ts';
import { openReadOnlyUpstream } from './borrow.ts';
import type { Command } from './command.ts';
import type { Io } from './io.ts';
import { type Format, formatFrom, printCsv, printTable } from './printing.ts';
import { loadSettings } from './settings.ts';

export const invoices: Command = async ({ options, words }, io) => {
  const format = formatFrom(options.format, io);
  const settings = await loadSettings({ options, words }, io);
  const account = pickAccount(settings, options.account);
  const upstream = await openReadOnlyUpstream(settings, account, io);
  const found = await readAll(upstream, io);
  const currency = await findCurrency(settings, upstream);
  const zone = zoneOf(settings.config.usage.timezone);
  const rows = found.map((invoice) => ({ ...invoiceRecord(invoice, zone), currency }));
  print(rows, currency, format, io);
  return EXIT.fine;
};

/** Of all billing profiles. */
async function readAll({ client, context, identity }: Upstream, io: Io): Promise<Invoice[]> {
  const signal = io.interrupted;
  const { personCustomerId, billingProfileIds } =
    (await context.read()) ?? (await client.discover(await identity(), signal));
  const found = new Map<string, Invoice>();
  for (const billingProfileId of billingProfileIds.length > 0 ? billingProfileIds : [null]) {
    const asked = { personCustomerId, billingProfileId, now: Date.now(), signal };
    for (const invoice of await client.invoices(asked)) found.set(invoice.id, invoice);
  }
  return newestFirst([...found.values()]);
}

type Row = ReturnType<typeof invoiceRecord> & { readonly currency: string };

const COLUMNS = [
  'id',
  'status',
  'period_start',
  'period_end',
  'issued',
  'due',
  'amount',
  'amount_due',
  'currency',
] as const satisfies readonly (keyof Row)[];

function print(rows: readonly Row[], currency: string, format: Format, io: Io): void {
  if (format === 'json') io.out(`${JSON.stringify(rows, null, 2)}\n`);
  else if (format === 'csv') {
    const cells = rows.map((row) => COLUMNS.map((column) => row[column]));
    printCsv(COLUMNS, cells, io);
  } else {
    const heads = ['Issued', 'From', 'To', 'Due', 'Status', currency, 'Still due', 'Invoice'];
    const cells = rows.map((row) => [
      ...[row.issued, row.period_start, row.period_end, row.due, row.status],
      ...[row.amount, row.amount_due, row.id],
    ]);
    printTable(heads, cells, io);
    io.out(`${rows.length} in all\n`);
  }
}
