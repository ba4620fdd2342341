// The table of an account: its state, discovery and documentation derive from it.
import { knownUnits } from '../../domain/amount.ts';
import { AUTH_STATES } from '../../domain/health.ts';
import { VERDICTS } from '../../domain/insight/bill.ts';
import { billCheckRecord } from '../../domain/insight/billWords.ts';
import {
  type Invoice,
  invoiceRecord,
  overdueInvoices,
  type Payment,
  paymentOf,
} from '../../domain/invoice.ts';
import { addDays } from '../../domain/period.ts';
import type { AccountView } from '../views.ts';
import { band, type EntityRow, fieldsOf, LOWER_END, UPPER_END, withAll } from './entityRow.ts';

type AccountRow = EntityRow<AccountView>;

const money = { deviceClass: 'monetary', unit: '{currency}', precision: 2 } as const;
const date = { deviceClass: 'date' } as const;
const diagnostic = { category: 'diagnostic', enabled: false } as const;
const inMoney = { unit: '{currency}' };
const inDays = { unit: 'd' };
const inKwh = { unit: 'kWh' };
const asDate = { deviceClass: 'date' };

const PAYMENTS: readonly Payment[] = ['paid', 'to_pay', 'overdue'];

const hasInvoices = ({ invoices }: AccountView): boolean => invoices !== null;

/** The newest invoice as it is published. */
const newest = ({ newestInvoice, zone }: AccountView) => newestInvoice && invoiceRecord(newestInvoice, zone);

function newestCheck({ newestInvoice, checks, currency }: AccountView) {
  const check = checks.get(newestInvoice?.id ?? '');
  return check ? { ...billCheckRecord(check, currency), from: check.from, to: addDays(check.to, -1) } : null;
}

const overdue = ({ invoices, balance, today, zone }: AccountView): readonly Invoice[] | null =>
  invoices && overdueInvoices(invoices.all, balance?.amount ?? null, today, zone);

const INVOICE_ROWS: readonly AccountRow[] = [
  {
    ...money,
    key: 'invoice_amount',
    help: 'Amount of the newest invoice.',
    read: (view) => newest(view)?.amount ?? null,
    attributes: [{ key: 'currency', help: 'Of all amounts of money.', read: ({ currency }) => currency }],
  },
  {
    ...date,
    key: 'invoice_due',
    help: 'Day by which the newest invoice is to be paid.',
    read: (view) => newest(view)?.due ?? null,
  },
  {
    key: 'invoice_payment',
    help: 'Whether the newest invoice is paid; null when the provider does not tell.',
    deviceClass: 'enum',
    icon: 'mdi:file-document-check-outline',
    options: PAYMENTS,
    read: (view) => view.newestInvoice && paymentOf(view.newestInvoice, overdue(view)),
  },
  {
    key: 'invoice_status',
    help: "Status of the newest invoice, in the provider's own words.",
    icon: 'mdi:file-document-outline',
    enabled: false,
    read: (view) => newest(view)?.status ?? null,
  },
  {
    ...date,
    key: 'invoice_issued',
    help: 'Day on which the period of the newest invoice ended. After an end at midnight it is the day that begins then.',
    enabled: false,
    read: (view) => newest(view)?.issued ?? null,
  },
  {
    key: 'invoice_overdue',
    help: 'An invoice is past its due day and not paid, the newest or an older one; null when the provider does not tell.',
    platform: 'binary_sensor',
    deviceClass: 'problem',
    read(view) {
      const invoices = overdue(view);
      return invoices && invoices.length > 0;
    },
    attributes: [
      {
        key: 'overdue_invoices',
        help: 'The numbers of these invoices.',
        read: (view) => overdue(view)?.map(({ id }) => id) ?? null,
      },
    ],
  },
];

const ofCheck = fieldsOf(newestCheck);

/** The newest invoice against its days. */
const CHECK_ROWS: readonly AccountRow[] = [
  {
    ...money,
    key: 'invoice_unexplained',
    help: 'What of the newest invoice neither its days nor the usual tax and fees explain; null while the verdict is unknown.',
    icon: 'mdi:scale-unbalanced',
    derived: true,
    read: (view) => newestCheck(view)?.unexplained ?? null,
    alsoShows: 'invoice_difference',
  },
  {
    key: 'invoice_verdict',
    help: 'The newest invoice against its days, by the rule of the invoices before it: a tax, a fee, a charge. `rule_changed`: it is the third in a row that keeps to another one.',
    deviceClass: 'enum',
    icon: 'mdi:scale-balance',
    options: VERDICTS,
    read: (view) => view.newestInvoice && (newestCheck(view)?.verdict ?? 'unknown'),
  },
  {
    ...money,
    key: 'invoice_difference',
    help: 'Total of the newest invoice less the cost of the days of its period, with the usual tax and fees in it; null where the days are not known.',
    icon: 'mdi:scale-balance',
    enabled: false,
    read: (view) => newestCheck(view)?.difference ?? null,
    attributes: [
      ofCheck(
        'explained_percent',
        'What invoices have on top of the sum of their days, such as VAT; null until the rule is known, and where it has another form.',
        { unit: '%' },
      ),
      ofCheck('explained_amount', 'The same amount that each invoice has on top besides.', inMoney),
      ofCheck(
        'rest',
        'What the usual percentage and amount leave of the difference; null while they are not known or days are missing.',
        inMoney,
      ),
      ofCheck('from', 'First day of the period.', asDate),
      ofCheck('to', 'Last day of the period.', asDate),
      ofCheck('days_missing', 'Days of the period that are not in the sum.', inDays),
      ofCheck('days_estimated', 'Days of the period whose cost came with a later reading.', inDays),
      ofCheck('sum_of_days', 'Cost of the days of the period, of all meters.', inMoney),
      ofCheck('sentence', 'All of it in one sentence.'),
    ],
  },
];

const ofNextBill = fieldsOf(
  ({ nextBill }: AccountView) =>
    nextBill && {
      from: nextBill.span.from,
      to: addDays(nextBill.span.to, -1),
      energy: knownUnits(nextBill.energy?.amount),
      energy_low: knownUnits(nextBill.energy?.low),
      energy_high: knownUnits(nextBill.energy?.high),
    },
);

const FORECAST_ROW: AccountRow = {
  ...money,
  key: 'invoice_forecast',
  help: 'What the days since the newest invoice will cost by the usual end of a period, of all meters, with what invoices usually have on top; null without invoices that tell their periods.',
  icon: 'mdi:invoice-clock-outline',
  read: ({ nextBill }) => knownUnits(nextBill?.cost?.amount),
  attributes: [
    ...band<AccountView>('{currency}', LOWER_END, ({ nextBill }, end) => knownUnits(nextBill?.cost?.[end])),
    ofNextBill('from', 'First day of its period.', asDate),
    ofNextBill('to', 'Last day of its period, as long as the periods before.', asDate),
    ofNextBill('energy', 'Heat of the period.', inKwh),
    ofNextBill('energy_low', LOWER_END, inKwh),
    ofNextBill('energy_high', UPPER_END, inKwh),
  ],
};

export const ACCOUNT_ROWS: readonly AccountRow[] = [
  {
    key: 'auth_state',
    help: 'State of the session with the provider.',
    deviceClass: 'enum',
    category: 'diagnostic',
    icon: 'mdi:account-key',
    options: AUTH_STATES,
    read: ({ auth }) => auth.state,
  },
  {
    ...money,
    key: 'balance_due',
    help: 'What is to be paid now, where the provider tells.',
    given: ({ balance }) => balance !== null,
    read: ({ balance }) => knownUnits(balance?.amount),
  },
  {
    ...money,
    key: 'credit_balance',
    help: "The account's credit, with the sign that the provider gives it.",
    enabled: false,
    given: ({ credit }) => credit !== null,
    read: ({ credit }) => knownUnits(credit?.amount),
  },
  ...withAll({ given: hasInvoices }, [...INVOICE_ROWS, ...CHECK_ROWS, FORECAST_ROW]),
  {
    ...diagnostic,
    key: 'requests_today',
    help: 'Requests of the running bridge since local midnight. One that is killed forgets those since its last poll.',
    icon: 'mdi:swap-vertical',
    read: ({ requestsToday }) => requestsToday,
  },
  {
    ...diagnostic,
    key: 'logins_today',
    help: 'Successful logins of the running bridge since local midnight, without refreshes of the session.',
    icon: 'mdi:login',
    read: ({ loginsToday }) => loginsToday,
  },
];
