// The commands: help, options and types follow from this table (commandLine.ts). The code of a command is loaded when it is called.
import type { Command } from './command.ts';

export interface CommandRow {
  /** The one word that follows the name, in brackets if it may be left out; or several, each with `…`. Without any, none may. */
  readonly words?: string;
  readonly summary: string;
  readonly options: Options;
  readonly load: () => Promise<Command>;
}

/** Each option as the help shows it, and what it does: `--name`, for a value `--name VALUE` (`VALUE…`: several times). */
type Options = Readonly<Record<string, string>>;

const CONFIG: Options = { '--config PATH': 'the configuration file' };
const ACCOUNT: Options = { '--account ID': 'the account; default: the first' };
const FORMAT: Options = { '--format table|json|csv': 'how to print; table on a terminal' };
const YES: Options = { '--yes': 'do not ask' };

/** Each command in the order of the help. */
export const COMMANDS: Readonly<Record<string, CommandRow>> = {
  demo: {
    summary: 'simulated provider, embedded broker and the real daemon in one process',
    options: { '--port N': "the broker's port; default: 1883, or a free one" },
    load: async () => (await import('./simulate.ts')).demo,
  },
  setup: {
    summary: 'ask for provider, login and broker, try each answer, and write or change a configuration',
    options: { '--config PATH': 'the file to write or to change; default: config.yaml' },
    load: async () => (await import('./setup.ts')).setup,
  },
  check: {
    summary: 'try everything that run needs, one line each',
    options: {
      ...CONFIG,
      '--live': 'also ask issuer, provider, broker and Home Assistant (at most one login)',
      '--json': 'print JSON',
    },
    load: async () => (await import('./check.ts')).check,
  },
  run: {
    summary: 'the daemon (default)',
    options: { ...CONFIG },
    load: async () => (await import('./run.ts')).run,
  },
  usage: {
    summary: 'ask the provider for the usage of a period and print it',
    options: {
      ...CONFIG,
      ...ACCOUNT,
      '--from DATE': 'first day, YYYY-MM-DD; default: 30 days, 12 weeks or months, 8 quarters, 4 years back',
      '--to DATE': 'last day; default: today',
      '--interval day|week|month|quarter|year': 'default: day',
      '--tariff UNIT_RATE,STANDING_CHARGE': 'also what it would have cost, such as 0.124,0.686',
      ...FORMAT,
    },
    load: async () => (await import('./usage.ts')).usage,
  },
  invoices: {
    summary: 'ask the provider for the invoices of the last three years and print them',
    options: { ...CONFIG, ...ACCOUNT, ...FORMAT },
    load: async () => (await import('./invoices.ts')).invoices,
  },
  constituencies: {
    summary: 'print the public list of constituencies; needs no account and no broker',
    options: {
      ...CONFIG,
      '--chamber dail|seanad': 'all houses of the chamber; without any choice: its sitting house',
      '--house-no N': 'the number of the house',
      '--chamber-id URI…': 'a house as /ie/oireachtas/house/dail/33',
      '--skip N': 'leave out the first N',
      '--limit N': 'at most N; default: all',
      ...FORMAT,
    },
    load: async () => (await import('./constituencies.ts')).constituencies,
  },
  export: {
    summary: 'print the readings that are on this disk as CSV, JSON or line protocol; no request is made',
    options: {
      ...CONFIG,
      '--account ID': 'the account; default: all',
      '--interval day|week|month': 'default: day',
      '--format csv|json|influx': 'default: csv',
      '--revisions': 'also how often each was corrected, and when it came',
    },
    load: async () => (await import('./onDisk.ts')).exportLedgers,
  },
  statement: {
    words: '[MONTH]',
    summary: 'one page about one complete month, from what is on this disk; no request is made',
    options: {
      ...CONFIG,
      ...ACCOUNT,
      '--all': 'every account, with --output',
      '--meter NAME': 'one meter of the account; default: all',
      '--output DIR': 'a file for each meter in this directory, which only you can read',
      '--format text|json|html': 'default: text, with --output html',
    },
    load: async () => (await import('./onDisk.ts')).statement,
  },
  backup: {
    words: 'FILE',
    summary: 'write configuration and state directory into one file, beside a running daemon too',
    options: { ...CONFIG, '--force': 'replace FILE when it is there' },
    load: async () => (await import('./backup.ts')).backup,
  },
  restore: {
    words: 'FILE',
    summary: 'put a backup in the place of what is in the state directory; asks once',
    options: {
      '--config PATH': 'the configuration file; written when it is not there',
      '--force':
        'replace the configuration, and a newer state directory; go on where it cannot be told whether a daemon runs',
      ...YES,
    },
    load: async () => (await import('./backup.ts')).restore,
  },
  report: {
    summary: 'a diagnosis to paste into a bug report; no secret, nothing personal, no request',
    options: { ...CONFIG },
    load: async () => (await import('./report.ts')).report,
  },
  mcp: {
    summary:
      "answer an assistant's questions on standard input and output (Model Context Protocol), from what is on this disk",
    options: { ...CONFIG },
    load: async () => (await import('./mcp.ts')).mcp,
  },
  healthcheck: {
    summary: 'ask the running daemon; exit 0 healthy, 1 not',
    options: { ...CONFIG },
    load: async () => (await import('./healthcheck.ts')).healthcheck,
  },
  login: {
    summary: 'sign in once, beside a running daemon too; a second factor is asked for',
    options: {
      ...CONFIG,
      ...ACCOUNT,
      '--method auto|password|form|device|link': 'default: provider.sign_in',
    },
    load: async () => (await import('./login.ts')).login,
  },
  logout: {
    summary: 'end the session at the issuer and forget its tokens',
    options: { ...CONFIG, ...ACCOUNT },
    load: async () => (await import('./login.ts')).logout,
  },
  simulate: {
    summary: 'the simulated provider alone; prints a configuration that works with it',
    options: {
      '--port N': "the provider's port; default: 8180, or a free one",
      '--accounts N': 'so many accounts with a meter each; default: 1',
      '--fault wrong-password|down|slow|late|correction|html': 'a bad day to rehearse',
    },
    load: async () => (await import('./simulate.ts')).simulate,
  },
  uninstall: {
    summary: 'clear all topics and devices of this installation from the broker; asks once',
    options: { ...CONFIG, '--force': 'go on where it cannot be told whether a daemon runs', ...YES },
    load: async () => (await import('./uninstall.ts')).uninstall,
  },
  'energy-dashboard': {
    summary: "show, add or remove the meters in Home Assistant's Energy dashboard; a change is shown first",
    options: {
      ...CONFIG,
      '--add': 'add each meter as a gas source named Heat; asks once',
      '--remove': 'remove the sources of the meters, and nothing else; asks once',
      ...YES,
    },
    load: async () => (await import('./energyDashboard.ts')).energyDashboard,
  },
  accounts: {
    words: 'import FILE.csv|list|pause ID…|resume ID…|remove ID…|reseal',
    summary: 'the accounts of a fleet (docs/fleet.md)',
    options: {
      ...CONFIG,
      '--from-state DIR':
        'import: the accounts of this configuration, with all that DIR, its state_dir, keeps',
      '--dry-run': 'import: only say what it would do',
      '--force': 'import --from-state: go on where it cannot be told whether a daemon runs',
      '--failing': 'list: only those that fail, and what to do',
      '--format table|json|csv': 'list: how to print; default: table',
      '--yes': 'remove: do not ask',
    },
    load: async () => (await import('./accounts.ts')).accounts,
  },
  config: {
    words: 'example|schema|show',
    summary: 'the commented example; JSON Schema for editors; the effective config, secrets masked',
    options: { ...CONFIG },
    load: async () => (await import('./config.ts')).config,
  },
};
