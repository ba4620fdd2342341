// The table of an account: state payload, discovery and reference derive from it.
import type { EntityRow } from './entityRow.ts';
import type { AccountView } from './views.ts';

type AccountRow = EntityRow<AccountView>;
const laterAccount = (key: string, name: string, help: string): AccountRow => ({
  key,
  name,
  help,
  platform: 'later',
  read: () => null,
});

export const ACCOUNT_ROWS: readonly AccountRow[] = [
  {
    key: 'auth_state',
    name: 'Sign-in',
    help: 'How the session with the provider stands.',
    platform: 'sensor',
    deviceClass: 'enum',
    category: 'diagnostic',
    options: [
      'ok',
      'refreshing',
      'backoff',
      'bad_credentials_or_locked',
      'needs_user_action',
      'method_disabled',
      'provider_down',
    ],
    read: ({ auth }) => auth.state,
  },
  laterAccount('balance_due', 'Balance due', 'What is owed now.'),
  laterAccount('invoice_amount', 'Invoice amount', 'Amount of the newest invoice.'),
  laterAccount('invoice_due', 'Invoice due', 'Day by which the newest invoice is to be paid.'),
  laterAccount('invoice_status', 'Invoice status', "Status of the newest invoice, in the provider's words."),
  laterAccount('invoice_issued', 'Invoice issued', 'Day of the newest invoice.'),
  {
    key: 'requests_today',
    name: 'Requests today',
    help: 'Requests to the provider since local midnight.',
    platform: 'sensor',
    category: 'diagnostic',
    icon: 'mdi:swap-vertical',
    read: ({ requestsToday }) => requestsToday,
  },
  {
    key: 'logins_today',
    name: 'Logins today',
    help: 'Logins with the password since local midnight.',
    platform: 'sensor',
    category: 'diagnostic',
    icon: 'mdi:login',
    read: ({ loginsToday }) => loginsToday,
  },
];
