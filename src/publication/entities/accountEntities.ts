// The table of an account: its state, discovery and documentation derive from it.
import { knownUnits } from '../../domain/amount.ts';
import type { AuthState } from '../../domain/health.ts';
import type { Verdict } from '../../domain/insight/bill.ts';
import type { BillForecast } from '../../domain/insight/billForecast.ts';
import { billCheckRecord } from '../../domain/insight/billWords.ts';
import { type Invoice, invoiceRecord, overdueInvoices } from '../../domain/invoice.ts';
import { addDays } from '../../domain/period.ts';
import type { AccountView } from '../views.ts';
import type { EntityRow } from './entityRow.ts';

type AccountRow = EntityRow<AccountView>;
type Shape = Pick<AccountRow, 'platform' | 'deviceClass' | 'unit' | 'precision' | 'icon' | 'enabled'>;
const money: Shape = { platform: 'sensor', deviceClass: 'monetary', unit: '{currency}', precision: 2 };
const date: Shape = { platform: 'sensor', deviceClass: 'date' };
const inMoney = { unit: '{currency}' };
const inDays = { unit: 'd' };

/** A row of the newest invoice. */
const ofInvoice = (
  field: 'amount' | 'due' | 'status' | 'issued',
  name: string,
  help: string,
  shape: Shape,
): AccountRow => ({
  ...shape,
  key: `invoice_${field}`,
  name,
  help,
  given: ({ invoices }) => invoices !== null,
  read: ({ newestInvoice, zone }) => newestInvoice && invoiceRecord(newestInvoice, zone)[field],
});

/** An attribute of the difference. */
const ofCheck = (
  as: keyof NonNullable<ReturnType<typeof newestCheck>>,
  name: string,
  help: string,
  shape: Pick<AccountRow, 'unit' | 'deviceClass'> = {},
): AccountRow => ({
  ...shape,
  key: `invoice_difference_${as}`,
  as,
  name,
  help,
  platform: 'attribute',
  of: 'invoice_difference',
  read: (view) => newestCheck(view)?.[as] ?? null,
});

function newestCheck({ newestInvoice, checks, currency }: AccountView) {
  const check = checks.get(newestInvoice?.id ?? '');
  return check && { ...billCheckRecord(check, currency), from: check.from, to: check.to };
}

const VERDICT_WORDS: Readonly<Record<Verdict, string>> = {
  as_expected: 'As expected',
  differs: 'Differs',
  rule_changed: 'Rule changed',
  unknown: 'Unknown',
};

const SIGN_IN_WORDS: Readonly<Record<AuthState, string>> = {
  ok: 'Signed in',
  refreshing: 'Signing in',
  backoff: 'Waiting',
  bad_credentials_or_locked: 'Password refused',
  needs_user_action: 'Action needed',
  method_disabled: 'Method not allowed',
  login_needed: 'Sign-in needed',
  provider_down: 'Provider unreachable',
};

const overdue = ({ invoices, balance, today, zone }: AccountView): readonly Invoice[] | null =>
  invoices && overdueInvoices(invoices.all, balance?.amount ?? null, today, zone);

/** An attribute of the next bill. */
const ofNextBill = (
  as: string,
  name: string,
  help: string,
  shape: Pick<AccountRow, 'unit' | 'deviceClass'>,
  read: (bill: BillForecast) => number | string | null,
): AccountRow => ({
  ...shape,
  key: `invoice_forecast_${as}`,
  as,
  name: `Next bill ${name}`,
  help,
  platform: 'attribute',
  of: 'invoice_forecast',
  read: ({ nextBill }) => nextBill && read(nextBill),
});

const inKwh = { unit: 'kWh' } as const;

const NEXT_BILL_ROWS: readonly AccountRow[] = [
  {
    ...money,
    key: 'invoice_forecast',
    name: 'Next bill forecast',
    help: 'What the days since the newest invoice will cost by the usual end of a period, of all meters, with what invoices usually have on top; null without invoices that tell their periods.',
    icon: 'mdi:invoice-clock-outline',
    given: ({ invoices }) => invoices !== null,
    read: ({ nextBill }) => knownUnits(nextBill?.cost?.amount),
  },
  ofNextBill('low', 'at least', 'In 80 of 100 cases it is between this and the next.', inMoney, ({ cost }) =>
    knownUnits(cost?.low),
  ),
  ofNextBill('high', 'at most', 'The other end.', inMoney, ({ cost }) => knownUnits(cost?.high)),
  ofNextBill('from', 'from', 'First day of its period.', date, ({ span }) => span.from),
  ofNextBill('to', 'to', 'Last day of its period, as long as the periods before.', date, ({ span }) =>
    addDays(span.to, -1),
  ),
  ofNextBill('energy', 'energy', 'Heat of the period.', inKwh, ({ energy }) => knownUnits(energy?.amount)),
  ofNextBill(
    'energy_low',
    'energy at least',
    'In 80 of 100 cases it is between this and the next.',
    inKwh,
    ({ energy }) => knownUnits(energy?.low),
  ),
  ofNextBill('energy_high', 'energy at most', 'The other end.', inKwh, ({ energy }) =>
    knownUnits(energy?.high),
  ),
];

export const ACCOUNT_ROWS: readonly AccountRow[] = [
  {
    key: 'auth_state',
    name: 'Sign-in',
    help: 'State of the session with the provider.',
    platform: 'sensor',
    deviceClass: 'enum',
    category: 'diagnostic',
    icon: 'mdi:account-key',
    options: SIGN_IN_WORDS,
    read: ({ auth }) => auth.state,
  },
  {
    ...money,
    key: 'balance_due',
    name: 'Balance due',
    help: 'What is to be paid now, where the provider tells.',
    given: ({ balance }) => balance !== null,
    read: ({ balance }) => knownUnits(balance?.amount),
  },
  {
    ...money,
    key: 'credit_balance',
    name: 'Credit balance',
    help: "The account's credit, with the sign that the provider gives it.",
    enabled: false,
    given: ({ credit }) => credit !== null,
    read: ({ credit }) => knownUnits(credit?.amount),
  },
  ofInvoice('amount', 'Bill amount', 'Amount of the newest invoice.', money),
  ofInvoice('due', 'Bill due', 'Day by which the newest invoice is to be paid.', date),
  ofInvoice('status', 'Bill status', "Status of the newest invoice, in the provider's words.", {
    platform: 'sensor',
    icon: 'mdi:file-document-outline',
  }),
  ofInvoice(
    'issued',
    'Bill issued',
    'Day on which the period of the newest invoice ended. After an end at midnight it is the day that begins then.',
    {
      ...date,
      enabled: false,
    },
  ),
  {
    key: 'invoice_overdue',
    name: 'Bill overdue',
    help: 'An invoice is past its due day and not paid, the newest or an older one; null when the provider does not tell.',
    platform: 'binary_sensor',
    deviceClass: 'problem',
    given: ({ invoices }) => invoices !== null,
    read: (view) => {
      const found = overdue(view);
      return found && found.length > 0;
    },
  },
  {
    key: 'overdue_invoices',
    name: 'Overdue bills',
    help: 'The numbers of these invoices.',
    platform: 'attribute',
    of: 'invoice_overdue',
    read: (view) => overdue(view)?.map(({ id }) => id) ?? null,
  },
  {
    ...money,
    key: 'invoice_difference',
    name: 'Invoice difference',
    help: 'Total of the newest invoice less the cost of the days of its period; null where the days are not known.',
    icon: 'mdi:scale-balance',
    given: ({ invoices }) => invoices !== null,
    read: (view) => newestCheck(view)?.difference ?? null,
  },
  {
    key: 'invoice_verdict',
    name: 'Invoice verdict',
    help: 'The newest invoice against its days, by the rule of the invoices before it: a tax, a fee, a charge. `rule_changed`: it is the third in a row that keeps to another one.',
    platform: 'sensor',
    deviceClass: 'enum',
    icon: 'mdi:scale-balance',
    options: VERDICT_WORDS,
    given: ({ invoices }) => invoices !== null,
    read: (view) => view.newestInvoice && (newestCheck(view)?.verdict ?? 'unknown'),
  },
  {
    ...money,
    key: 'invoice_unexplained',
    name: 'Invoice unexplained',
    help: 'What of the newest invoice remains beside its days and the rule; null while the verdict is unknown.',
    icon: 'mdi:scale-unbalanced',
    derived: true,
    given: ({ invoices }) => invoices !== null,
    read: (view) => newestCheck(view)?.unexplained ?? null,
  },
  ofCheck(
    'explained_percent',
    'Usual percentage',
    'What invoices have on top of the sum of their days, such as VAT; null until the rule is known, and where it has another form.',
    { unit: '%' },
  ),
  ofCheck(
    'explained_amount',
    'Usual amount',
    'The same amount that each invoice has on top besides.',
    inMoney,
  ),
  ofCheck(
    'rest',
    'Unexplained rest',
    'What the usual percentage and amount leave of the difference; null while they are not known or days are missing.',
    inMoney,
  ),
  ofCheck('from', 'First day', 'First day of the period.', date),
  ofCheck('to', 'Last day', 'Last day of the period.', date),
  ofCheck('days_missing', 'Days without a cost', 'Days of the period that are not in the sum.', inDays),
  ofCheck(
    'days_estimated',
    'Days in a later reading',
    'Days of the period whose cost came with a later reading.',
    inDays,
  ),
  ofCheck('sum_of_days', 'Sum of days', 'Cost of the days of the period, of all meters.', inMoney),
  ofCheck('sentence', 'In words', 'All of it in one sentence.'),
  ...NEXT_BILL_ROWS,
  {
    key: 'requests_today',
    name: 'Requests today',
    help: 'Requests to the provider since local midnight.',
    platform: 'sensor',
    category: 'diagnostic',
    enabled: false,
    icon: 'mdi:swap-vertical',
    read: ({ requestsToday }) => requestsToday,
  },
  {
    key: 'logins_today',
    name: 'Logins today',
    help: 'Successful logins of the running bridge since local midnight, without refreshes of the session.',
    platform: 'sensor',
    category: 'diagnostic',
    enabled: false,
    icon: 'mdi:login',
    read: ({ loginsToday }) => loginsToday,
  },
];
