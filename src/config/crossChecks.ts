// What one key alone cannot tell: checks between keys, and against the day of today. Each looks at whatever is there.
import { type Faults, foundWords, type Origins } from './faults.ts';
import { isTree, type Path, type Tree, textAt, valueAt } from './tree.ts';

export interface Checked {
  readonly tree: Tree;
  readonly origins: Origins;
  readonly faults: Faults;
  /** Paths of the secrets that were found, wherever they come from. */
  readonly secrets: ReadonlySet<string>;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly validateCron: ((expression: string) => boolean) | undefined;
  /** Where a configuration file was looked for, when there is none. */
  readonly lookedIn: readonly string[];
}

export function crossCheck(checked: Checked): void {
  for (const check of CHECKS) check(checked);
}

const CHECKS = [
  somethingToAsk,
  providerForAccounts,
  accountIds,
  encryptedProvider,
  schedule,
  historyInThePast,
  brokerName,
  certificateWithKey,
];

function somethingToAsk({ tree, faults, lookedIn }: Checked): void {
  const accounts = tree.accounts ?? [];
  if (!Array.isArray(accounts) || accounts.length > 0 || tree.constituencies !== undefined) return;
  const noFile = lookedIn.length === 0 ? '' : `, and no configuration file (${lookedIn.join(', ')})`;
  faults.missing(
    'accounts',
    'at least one of the two sections; `heat2mqtt config example` prints a file to begin with',
    `neither accounts nor constituencies${noFile}`,
  );
}

function providerForAccounts({ tree, faults }: Checked): void {
  if (accountsOf(tree).length === 0 || tree.provider !== undefined) return;
  faults.missing('provider', 'with accounts: issuer, api_url and client_id of their provider');
}

function accountIds({ tree, faults }: Checked): void {
  const accounts = accountsOf(tree);
  const seen = new Map<string, number>();
  for (const [n, account] of accounts.entries()) {
    const id = valueAt(account, ['id']);
    const path = `accounts.${n}.id`;
    if (id === undefined && accounts.length > 1 && isTree(account)) {
      faults.missing(path, 'with several accounts, a different id for each');
    }
    if (typeof id !== 'string') continue;
    const first = seen.get(id);
    if (first !== undefined)
      faults.add(path, `the id of accounts.${first} again`, 'a different id for each account');
    seen.set(id, seen.get(id) ?? n);
  }
}

function encryptedProvider({ tree, faults, origins }: Checked): void {
  if (![undefined, false].includes(valueAt(tree, ['provider', 'allow_insecure']) as undefined)) return;
  for (const name of ['issuer', 'api_url']) {
    const path = ['provider', name];
    const address = textAt(tree, path);
    if (address === undefined || !URL.canParse(address)) continue;
    const { protocol, hostname } = new URL(address);
    if (protocol !== 'http:' || isLoopback(hostname)) continue;
    const allowed = 'https://, or http:// to this machine, or provider.allow_insecure: true';
    faults.add(path.join('.'), foundWords(tree, path, origins), allowed);
  }
}

function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
}

function schedule({ tree, faults, origins, validateCron }: Checked): void {
  const path = ['usage', 'schedule'];
  const expression = textAt(tree, path);
  if (expression === undefined || validateCron === undefined || validateCron(expression)) return;
  faults.add(
    path.join('.'),
    foundWords(tree, path, origins),
    'a cron expression of 5 or 6 fields, each in its range',
  );
}

function historyInThePast({ tree, faults, origins, now }: Checked): void {
  const path = ['usage', 'history_since'];
  const since = textAt(tree, path);
  if (since === undefined) return;
  const today = localDay(now, textAt(tree, ['usage', 'timezone']) ?? 'Europe/Dublin');
  if (since <= today) return;
  faults.add(
    path.join('.'),
    foundWords(tree, path, origins),
    `a day as YYYY-MM-DD, from 2000-01-01 until ${today}`,
  );
}

function localDay(now: number, timeZone: string): string {
  const moment = new Date(now);
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(moment);
  } catch {
    return moment.toISOString().slice(0, 10);
  }
}

function brokerName({ tree, faults, secrets }: Checked): void {
  if (!secrets.has('mqtt.password') || valueAt(tree, ['mqtt', 'username']) !== undefined) return;
  faults.missing('mqtt.username', 'a name and a password, or neither', 'nothing, but a password');
}

function certificateWithKey({ tree, faults }: Checked): void {
  const pair = ['cert_file', 'key_file'];
  const [missing, ...rest] = pair.filter((name) => valueAt(tree, ['mqtt', name]) === undefined);
  if (missing === undefined || rest.length > 0) return;
  faults.missing(`mqtt.${missing}`, 'cert_file and key_file together, or neither');
}

function accountsOf(tree: Tree): unknown[] {
  const accounts: unknown = valueAt(tree, ['accounts'] satisfies Path);
  return Array.isArray(accounts) ? accounts : [];
}
