// The table of commands. Parsing and help derive from it, and the code of a command is loaded when it is called.
import { parseArgs } from 'node:util';
import { about } from '../foundation/about.ts';
import { EXIT } from '../foundation/failure.ts';
import { type Command, type Io, wrongUsage } from './command.ts';

interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** Stands for the value in the help. */
  readonly value?: string;
  readonly help: string;
}

interface CommandRow {
  readonly name: string;
  /** What may follow the name; without this, no further words are allowed. */
  readonly words?: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, Option>>;
  /** Options of before: what to use instead. */
  readonly gone?: Readonly<Record<string, string>>;
  readonly load: () => Promise<Command>;
}

const flag = (help: string): Option => ({ type: 'boolean', help });
const text = (value: string, help: string): Option => ({ type: 'string', value, help });

const SECRETS_APART = 'a backup has no secrets; keep passwords and password files apart';

const CONFIG = { config: text('PATH', 'the configuration file') };
const ACCOUNT = text('ID', 'the account; default: the first');
const FORMAT = text('table|json|csv', 'how to print; table on a terminal');

const COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'the daemon (default)',
    options: CONFIG,
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'check',
    summary: 'try everything that run needs, one line each',
    options: {
      ...CONFIG,
      live: flag('also ask issuer, provider, broker and Home Assistant (at most one login)'),
      json: flag('print JSON'),
    },
    load: async () => (await import('./check.ts')).check,
  },
  {
    name: 'usage',
    summary: 'ask the provider for the usage of a period and print it',
    options: {
      ...CONFIG,
      account: ACCOUNT,
      from: text(
        'DATE',
        'first day, YYYY-MM-DD; default: 30 days, 12 weeks or months, 8 quarters, 4 years back',
      ),
      to: text('DATE', 'last day; default: today'),
      interval: text('day|week|month|quarter|year', 'default: day'),
      tariff: text('UNIT_RATE,STANDING_CHARGE', 'also what it would have cost, such as 0.124,0.686'),
      format: FORMAT,
    },
    load: async () => (await import('./questions/usage.ts')).usage,
  },
  {
    name: 'invoices',
    summary: 'ask the provider for the invoices of the last three years and print them',
    options: { ...CONFIG, account: ACCOUNT, format: FORMAT },
    load: async () => (await import('./questions/invoices.ts')).invoices,
  },
  {
    name: 'constituencies',
    summary: 'print the public list of constituencies; needs no account and no broker',
    options: {
      ...CONFIG,
      chamber: text('dail|seanad', 'all houses of the chamber; without any choice: its sitting house'),
      'house-no': text('N', 'the number of the house'),
      'chamber-id': { ...text('URI', 'a house as /ie/oireachtas/house/dail/33'), multiple: true },
      skip: text('N', 'leave out the first N'),
      limit: text('N', 'at most N; default: all'),
      format: FORMAT,
    },
    load: async () => (await import('./questions/constituencies.ts')).constituencies,
  },
  {
    name: 'export',
    summary: 'print the readings that are on this disk as CSV or JSON; asks nobody',
    options: {
      ...CONFIG,
      account: text('ID', 'the account; default: all'),
      interval: text('day|week|month', 'default: day'),
      format: text('csv|json', 'default: csv'),
      revisions: flag('also how often each was corrected, and when it came'),
    },
    load: async () => (await import('./data/export.ts')).exportLedgers,
  },
  {
    name: 'backup',
    words: 'FILE',
    summary: 'write configuration and state directory into one file, beside a running daemon too',
    options: {
      ...CONFIG,
      force: flag('replace FILE when it is there'),
    },
    gone: { 'with-secrets': SECRETS_APART, 'passphrase-file': SECRETS_APART },
    load: async () => (await import('./data/backup.ts')).backup,
  },
  {
    name: 'restore',
    words: 'FILE',
    summary: 'put a backup in the place of what is in the state directory; asks once',
    options: {
      config: text('PATH', 'the configuration file; written when it is not there'),
      force: flag('replace the configuration, and a newer state directory'),
      yes: flag('do not ask'),
    },
    gone: { 'passphrase-file': SECRETS_APART },
    load: async () => (await import('./data/restore.ts')).restore,
  },
  {
    name: 'report',
    summary: 'a diagnosis to paste into a bug report; no secret, nothing personal, asks nobody',
    options: CONFIG,
    load: async () => (await import('./report.ts')).report,
  },
  {
    name: 'healthcheck',
    summary: 'ask the running daemon; exit 0 healthy, 1 not',
    options: CONFIG,
    load: async () => (await import('./healthcheck.ts')).healthcheck,
  },
  {
    name: 'login',
    summary: 'sign in once, beside a running daemon too; a second factor is asked for',
    options: {
      ...CONFIG,
      account: ACCOUNT,
      method: text('auto|password|form|device|link', 'default: provider.sign_in'),
    },
    load: async () => (await import('./login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'end the session at the issuer and forget its tokens',
    options: { ...CONFIG, account: ACCOUNT },
    load: async () => (await import('./login.ts')).logout,
  },
  {
    name: 'demo',
    summary: 'simulated provider, embedded broker and the real daemon in one process',
    options: { port: text('N', "the broker's port; default: 1883, or a free one") },
    load: async () => (await import('./demo/demo.ts')).demo,
  },
  {
    name: 'simulate',
    summary: 'the simulated provider alone; prints a configuration that works with it',
    options: {
      port: text('N', "the provider's port; default: 8180, or a free one"),
      accounts: text('N', 'so many accounts with a meter each; default: 1'),
      fault: text('wrong-password|down|slow|late|correction|html', 'a bad day to rehearse'),
    },
    load: async () => (await import('./demo/simulate.ts')).simulate,
  },
  {
    name: 'setup',
    summary: 'ask for provider, login and broker, try each answer, and write a configuration',
    options: { config: text('PATH', 'the file to write; default: config.yaml') },
    load: async () => (await import('./setup/setup.ts')).setup,
  },
  {
    name: 'uninstall',
    summary: 'clear all topics and devices of this installation from the broker; asks once',
    options: { ...CONFIG, yes: flag('do not ask') },
    load: async () => (await import('./uninstall.ts')).uninstall,
  },
  {
    name: 'energy-dashboard',
    summary: "show, add or remove the meters in Home Assistant's Energy dashboard; a change is shown first",
    options: {
      ...CONFIG,
      add: flag('add each meter as a gas source named Heat; asks once'),
      remove: flag('remove the sources of the meters, and nothing else; asks once'),
      yes: flag('do not ask'),
    },
    load: async () => (await import('./energyDashboard.ts')).energyDashboard,
  },
  {
    name: 'accounts',
    words: 'import FILE.csv|list|pause ID…|resume ID…|remove ID…|reseal',
    summary: 'the accounts of a fleet (docs/fleet.md)',
    options: {
      ...CONFIG,
      'from-state': text(
        'DIR',
        'import: the accounts of this configuration, with all that DIR, its state_dir, keeps',
      ),
      'dry-run': flag('import: only say what it would do'),
      failing: flag('list: only those that fail, and what to do'),
      format: text('table|json|csv', 'list: how to print; default: table'),
      yes: flag('remove: do not ask'),
    },
    load: async () => (await import('./accounts.ts')).accounts,
  },
  {
    name: 'config',
    words: 'example|schema|show',
    summary: 'the commented example; JSON Schema for editors; the effective config, secrets masked',
    options: CONFIG,
    load: async () => (await import('./config.ts')).config,
  },
];

/** Parses and runs; resolves to the exit code. Rejects with wrong_usage, or with the failure of the command. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  const [first] = argv;
  const isNamed = first !== undefined && !first.startsWith('-');
  const row = COMMANDS.find(({ name }) => name === (isNamed ? first : 'run'));
  if (argv.includes('--version') && !isNamed) {
    io.out(`${about.version}\n`);
    return EXIT.fine;
  }
  if (argv.includes('--help') || argv.includes('-h') || first === 'help') {
    io.out(isNamed && row ? helpOf(row) : overview());
    return EXIT.fine;
  }
  if (!row) throw wrongUsage(`Unknown command: ${first?.slice(0, 40)}.`);
  const { values, positionals } = parse(row, isNamed ? argv.slice(1) : argv);
  if (!row.words && positionals[0] !== undefined) {
    throw wrongUsage(`${row.name} takes no further words, found: ${positionals[0].slice(0, 40)}.`);
  }
  const command = await row.load();
  return command({ options: values, words: positionals }, io);
}

function parse(row: CommandRow, args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: row.options, allowPositionals: true });
  } catch (err) {
    // Node adds advice about its own conventions.
    const [said = ''] = err instanceof Error ? err.message.split(/\.?(?:\n|\. |$)/) : [];
    const [, name = ''] = /--([\w-]+)/.exec(said) ?? [];
    const value = row.options[name]?.value;
    const instead = row.gone?.[name];
    if (instead !== undefined) throw wrongUsage(`--${name} is gone: ${instead}.`);
    throw wrongUsage(`${said || 'Wrong usage'}${value ? `; allowed: --${name} ${value}` : ''}.`);
  }
}

function overview(): string {
  const width = Math.max(...COMMANDS.map((row) => usageOf(row).length)) + 2;
  const rows = COMMANDS.map((row) => `  ${usageOf(row).padEnd(width)}${row.summary}`);
  return `${about.name} ${about.version}: heat meter readings to MQTT, Home Assistant and Node-RED

Usage: ${about.name} [command] [options]

${rows.join('\n')}

${about.name} COMMAND --help tells the options of a command. --version prints the version.
Exit codes: 0 fine, 1 unexpected fault, 2 wrong usage, 3 configuration invalid, 4 credentials refused,
5 provider unreachable, 6 broker unreachable, 7 Home Assistant unreachable.
`;
}

function helpOf(row: CommandRow): string {
  const lines = Object.entries(row.options).map(([name, { value, help, multiple }]) => {
    const flag = `--${name}${value ? ` ${value}` : ''}${multiple ? ' …' : ''}`;
    return `  ${flag.padEnd(42)}${help}`;
  });
  return `${about.name} ${usageOf(row)}: ${row.summary}\n\n${lines.join('\n')}\n`;
}

const usageOf = ({ name, words }: CommandRow): string => (words ? `${name} ${words}` : name);
