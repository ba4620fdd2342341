// heat2mqtt invoices: asks the provider for the invoices of the last three years, and prints them beside the days on disk.
import { knownMeters } from '../accounts/names.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { billCheckRecord } from '../domain/insight/billWords.ts';
import { type Invoice, invoiceRecord, newestFirst } from '../domain/invoice.ts';
import { EXIT } from '../foundation/failure.ts';
import { billedLedgers, findCurrency, type Opened, openAccount } from './account.ts';
import type { Io } from './command.ts';
import type { Command } from './commands.ts';
import { formatFrom, print, tableLines } from './printing.ts';

export const invoices: Command<'invoices'> = async (given, io) => {
  const format = formatFrom(given.options.format, io);
  const opened = await openAccount(given, io);
  const { account, zone, state, config } = opened;
  const read = await readInvoices(opened, io);
  const currency = await findCurrency(opened);
  const ledgers = await billedLedgers(await knownMeters(state, config), opened, account.id);
  if (ledgers.length === 0)
    io.err(
      'The invoices are not compared with their days: the history of a running bridge is not in state_dir.\n',
    );
  const checks = billJudge()(read, ledgers, zone);
  const records = read.map((invoice) => {
    const checked = checks.get(invoice.id);
    const check = checked ? billCheckRecord(checked, currency) : null;
    return { ...invoiceRecord(invoice, zone), currency, check };
  });
  const sentences = records.flatMap(({ check, period_start, period_end }) =>
    check ? [`${period_start} to ${period_end}: ${check.sentence}`] : [],
  );
  const columns = {
    Issued: 'issued',
    From: 'period_start',
    To: 'period_end',
    Due: 'due',
    Status: 'status',
    [currency]: 'amount',
    'Still due': 'amount_due',
    Invoice: 'id',
  } as const;
  const table = () => [
    ...tableLines(columns, records, { amounts: ['amount', 'amount_due'] }),
    `${records.length} in all`,
    sentences.length > 0 && '',
    ...sentences,
  ];
  const rows = records.map(({ check, ...row }) => ({ ...check, ...row }));
  print(format, { records, rows, csv: CSV, table }, io);
  return EXIT.fine;
};

/** The invoices of all billing profiles. */
async function readInvoices({ upstream }: Opened, { clock, interrupted: signal }: Io): Promise<Invoice[]> {
  const { provider, listed: context } = upstream;
  const { personCustomerId, billingProfileIds } = (await context.read()) ?? (await provider.discover(signal));
  const asked = { personCustomerId, billingProfileIds, now: clock.now(), signal };
  const { byProfile } = (await provider.invoices?.(asked)) ?? {};
  const byId = new Map([...(byProfile?.values() ?? [])].flat().map((invoice) => [invoice.id, invoice]));
  return newestFirst([...byId.values()]);
}

const CSV = [
  ...['id', 'status', 'period_start', 'period_end', 'issued', 'due', 'amount', 'amount_due', 'currency'],
  ...['sum_of_days', 'difference', 'difference_percent', 'explained_percent', 'explained_amount', 'rest'],
  ...['verdict', 'expected', 'unexplained', 'doubt', 'days_missing', 'days_estimated'],
];
