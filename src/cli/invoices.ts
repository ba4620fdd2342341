// heat2mqtt invoices: asks the provider for the invoices of the last three years, and prints them beside the days on disk.
import { ledgerFile } from '../accounts/meterLedger.ts';
import type { Upstream } from '../accounts/upstream.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { type BillCheckRecord, billCheckRecord } from '../domain/insight/billWords.ts';
import { type Invoice, invoiceRecord, newestFirst } from '../domain/invoice.ts';
import { type Ledger, ledgerSince } from '../domain/ledger.ts';
import { compareText } from '../domain/order.ts';
import { type Zone, zone as zoneOf } from '../domain/period.ts';
import { EXIT } from '../foundation/failure.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import type { Command, Io } from './command.ts';
import { type Column, formatFrom, keyColumns, print, tableLines } from './printing.ts';
import type { Settings } from './settings.ts';
import { findCurrency, loadWithAccount, openUpstreamBeside, pickAccount } from './upstream.ts';

export const invoices: Command = async ({ options, words }, io) => {
  const format = formatFrom(options.format, io);
  const settings = await loadWithAccount({ options, words }, io);
  const account = pickAccount(settings, options.account);
  const upstream = await openUpstreamBeside(settings, account, io);
  const found = await readAll(upstream, io);
  const currency = await findCurrency(settings, upstream);
  const zone = zoneOf(settings.config.usage.timezone);
  const ledgers = await ledgersOf(settings, upstream, zone);
  if (ledgers === null) io.err(NO_DAYS);
  const since = account.history_since;
  const compared = ledgers?.map((ledger) => ledgerSince(ledger, since ?? ledger.origin));
  const checks = billJudge()(found, compared ?? [], zone);
  const records = found.map((invoice) => {
    const check = checks.get(invoice.id);
    return {
      ...invoiceRecord(invoice, zone),
      currency,
      check: check ? billCheckRecord(check, currency) : null,
    };
  });
  const table = () => [
    ...tableLines(tableColumns(currency), records),
    `${records.length} in all`,
    ...sentences(records),
  ];
  print(format, { records, csv: CSV_COLUMNS, table }, io);
  return EXIT.fine;
};

/** Of all billing profiles. */
async function readAll({ provider, context }: Upstream, io: Io): Promise<Invoice[]> {
  const signal = io.interrupted;
  const { personCustomerId, billingProfileIds } = (await context.read()) ?? (await provider.discover(signal));
  const asked = { personCustomerId, billingProfileIds, now: Date.now(), signal };
  const read = await provider.invoices?.(asked);
  const found = new Map([...(read?.byProfile.values() ?? [])].flat().map((invoice) => [invoice.id, invoice]));
  return newestFirst([...found.values()]);
}

const NO_DAYS =
  'The invoices are not compared with their days: the history of a running bridge is not in state_dir.\n';

/** Of the meters of the account, as the daemon keeps them; `null` unless all of them are there and complete. */
async function ledgersOf(
  { config }: Settings,
  { state, context }: Upstream,
  zone: Zone,
): Promise<readonly Ledger[] | null> {
  const properties = (await context.read())?.properties ?? [];
  const ledgers: Ledger[] = [];
  for (const property of properties) {
    // Of a meter that several accounts have, one of them keeps the ledger.
    const files = config.accounts.map(({ id }) => state.document(ledgerFile(id, property), ledgerCodec));
    const found = (await Promise.all(files.map((file) => file.read()))).flatMap((document) =>
      document?.ledger.complete && document.timezone === zone.name ? [document.ledger] : [],
    );
    const newest = found.sort((a, b) => compareText(b.readTo, a.readTo))[0];
    if (!newest) return null;
    ledgers.push(newest);
  }
  return ledgers.length === 0 ? null : ledgers;
}

type Listed = ReturnType<typeof invoiceRecord> & { readonly check: BillCheckRecord | null };

/** Below an empty line. */
function sentences(records: readonly Listed[]): string[] {
  const lines = records.flatMap(({ check, period_start, period_end }) =>
    check ? [`${period_start} to ${period_end}: ${check.sentence}`] : [],
  );
  return lines.length === 0 ? [] : ['', ...lines];
}

const CHECK_KEYS = [
  ...(['sum_of_days', 'difference', 'difference_percent', 'explained_percent', 'explained_amount'] as const),
  ...(['rest', 'verdict', 'expected', 'unexplained', 'doubt', 'days_missing', 'days_estimated'] as const),
];

const INVOICE_COLUMNS = keyColumns(
  ...(['id', 'status', 'period_start', 'period_end', 'issued', 'due'] as const),
  ...(['amount', 'amount_due', 'currency'] as const),
);

const CSV_COLUMNS: readonly Column<Listed & { readonly currency: string }>[] = [
  ...INVOICE_COLUMNS,
  ...CHECK_KEYS.map((key) => ({ head: key, value: ({ check }: Listed) => check?.[key] ?? null })),
];

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
