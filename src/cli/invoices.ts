// heat2mqtt invoices: asks the provider for the invoices of the last three years, and prints them beside the days on disk.
import { knownMeters } from '../accounts/names.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { type BillCheckRecord, billCheckRecord } from '../domain/insight/billWords.ts';
import { type Invoice, invoiceRecord, newestFirst } from '../domain/invoice.ts';
import { type Ledger, ledgerSince } from '../domain/ledger.ts';
import { compareText } from '../domain/order.ts';
import { EXIT } from '../foundation/failure.ts';
import { findCurrency, type Opened, openAccount } from './account.ts';
import type { Command, Io } from './command.ts';
import { type Column, formatFrom, keyColumns, print, tableLines } from './printing.ts';

export const invoices: Command = async (given, io) => {
  const format = formatFrom(given.options.format, io);
  const opened = await openAccount(given, io);
  const { account, zone } = opened;
  const found = await readInvoices(opened, io);
  const currency = await findCurrency(opened);
  const ledgers = await completeLedgers(opened);
  if (ledgers.length === 0)
    io.err(
      'The invoices are not compared with their days: the history of a running bridge is not in state_dir.\n',
    );
  const tenancies = ledgers.map((ledger) => ledgerSince(ledger, account.history_since ?? ledger.origin));
  const checks = billJudge()(found, tenancies, zone);
  const records = found.map((invoice) => {
    const check = checks.get(invoice.id);
    const record = check ? billCheckRecord(check, currency) : null;
    return { ...invoiceRecord(invoice, zone), currency, check: record };
  });
  const sentences = records.flatMap(({ check, period_start, period_end }) =>
    check ? [`${period_start} to ${period_end}: ${check.sentence}`] : [],
  );
  const table = () => [
    ...tableLines(tableColumns(currency), records),
    `${records.length} in all`,
    ...(sentences.length === 0 ? [] : ['', ...sentences]),
  ];
  print(format, { records, csv: CSV_COLUMNS, table }, io);
  return EXIT.fine;
};

/** Of all billing profiles. */
async function readInvoices({ upstream }: Opened, { clock, interrupted: signal }: Io): Promise<Invoice[]> {
  const { provider, context } = upstream;
  const { personCustomerId, billingProfileIds } = (await context.read()) ?? (await provider.discover(signal));
  const asked = { personCustomerId, billingProfileIds, now: clock.now(), signal };
  const read = await provider.invoices?.(asked);
  const found = new Map([...(read?.byProfile.values() ?? [])].flat().map((invoice) => [invoice.id, invoice]));
  return newestFirst([...found.values()]);
}

/** Of the meters of the account, as the daemon keeps them; none unless all of them are there and complete. */
async function completeLedgers({ config, state, upstream, zone }: Opened): Promise<readonly Ledger[]> {
  const ledgers: Ledger[] = [];
  const known = await knownMeters(state, config);
  for (const { propertyCustomerId: id } of (await upstream.context.read())?.properties ?? []) {
    // Where several accounts have the meter, one of them keeps the ledger.
    const kept = known.filter(({ property }) => property.propertyCustomerId === id);
    const found = (await Promise.all(kept.map(({ ledger }) => ledger?.read()))).flatMap((document) =>
      document?.ledger.complete && document.timezone === zone.name ? [document.ledger] : [],
    );
    const [newest] = found.sort((a, b) => compareText(b.readTo, a.readTo));
    if (!newest) return [];
    ledgers.push(newest);
  }
  return ledgers;
}

type Listed = ReturnType<typeof invoiceRecord> & {
  readonly currency: string;
  readonly check: BillCheckRecord | null;
};

const CHECK_KEYS = [
  ...(['sum_of_days', 'difference', 'difference_percent', 'explained_percent', 'explained_amount'] as const),
  ...(['rest', 'verdict', 'expected', 'unexplained', 'doubt', 'days_missing', 'days_estimated'] as const),
];

const CSV_COLUMNS: readonly Column<Listed>[] = [
  ...keyColumns('id', 'status', 'period_start', 'period_end', 'issued', 'due'),
  ...keyColumns('amount', 'amount_due', 'currency'),
  ...CHECK_KEYS.map((key) => ({ head: key, value: ({ check }: Listed) => check?.[key] ?? null })),
];

const tableColumns = (currency: string): Column<Listed>[] => [
  { head: 'Issued', value: ({ issued }) => issued },
  { head: 'From', value: ({ period_start }) => period_start },
  { head: 'To', value: ({ period_end }) => period_end },
  { head: 'Due', value: ({ due }) => due },
  { head: 'Status', value: ({ status }) => status },
  { head: currency, value: ({ amount }) => amount, decimals: 2 },
  { head: 'Still due', value: ({ amount_due }) => amount_due, decimals: 2 },
  { head: 'Invoice', value: ({ id }) => id },
];
