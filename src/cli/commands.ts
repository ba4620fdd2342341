// The commands: help, types and reading of a command line follow from this table.
import type { Io } from './command.ts';
import { type DeclaredOptions, flag, number, oneOf, port, text, type Values } from './options.ts';

export interface CommandRow {
  /** The one word that follows the name; undefined: none may. */
  readonly words?: { readonly shown: string; readonly isOptional?: true; readonly areMany?: true };
  readonly summary: string;
  readonly options: DeclaredOptions;
}

const config = text('PATH', 'the configuration file');
const account = text('ID', 'the account; default: the first');
const format = oneOf(['table', 'json', 'csv'], 'how to print; table on a terminal');
const yes = flag('do not ask');

/** Each command, and each of its options, in the order of the help. */
export const COMMANDS = {
  demo: {
    summary: 'simulated provider, embedded broker and the real daemon in one process',
    options: { port: port("the broker's port; default: 1883, or a free one") },
  },
  setup: {
    summary: 'ask for provider, login and broker, try each answer, and write or change a configuration',
    options: { config: text('PATH', 'the file to write or to change; default: config.yaml') },
  },
  check: {
    summary: 'try everything that run needs, one line each',
    options: {
      config,
      live: flag('also ask issuer, provider, broker and Home Assistant (at most one login)'),
      json: flag('print JSON'),
    },
  },
  run: {
    summary: 'the daemon (default)',
    options: { config },
  },
  usage: {
    summary: 'ask the provider for the usage of a period and print it',
    options: {
      config,
      account,
      from: text(
        'DATE',
        'first day, YYYY-MM-DD; default: 30 days, 12 weeks or months, 8 quarters, 4 years back',
      ),
      to: text('DATE', 'last day; default: today'),
      interval: oneOf(['day', 'week', 'month', 'quarter', 'year'], 'default: day'),
      tariff: text('UNIT_RATE,STANDING_CHARGE', 'also what it would have cost, such as 0.124,0.686'),
      format,
    },
  },
  invoices: {
    summary: 'ask the provider for the invoices of the last three years and print them',
    options: { config, account, format },
  },
  constituencies: {
    summary: 'print the public list of constituencies; needs no account and no broker',
    options: {
      config,
      chamber: text('dail|seanad', 'all houses of the chamber; without any choice: its sitting house'),
      'house-no': text('N', 'the number of the house'),
      'chamber-id': {
        shown: 'URI…',
        means: 'a house as /ie/oireachtas/house/dail/33',
        read: (typed: readonly string[]) => typed,
      },
      skip: text('N', 'leave out the first N'),
      limit: text('N', 'at most N; default: all'),
      format,
    },
  },
  export: {
    summary: 'print the readings that are on this disk as CSV, JSON or line protocol; no request is made',
    options: {
      config,
      account: text('ID', 'the account; default: all'),
      interval: oneOf(['day', 'week', 'month'], 'default: day'),
      format: oneOf(['csv', 'json', 'influx'], 'default: csv'),
      revisions: flag('also how often each was corrected, and when it came'),
    },
  },
  statement: {
    words: { shown: '[MONTH]', isOptional: true },
    summary: 'one page about one complete month, from what is on this disk; no request is made',
    options: {
      config,
      account,
      all: flag('every account, with --output'),
      meter: text('NAME', 'one meter of the account; default: all'),
      output: text('DIR', 'a file for each meter in this directory, which only you can read'),
      format: oneOf(['text', 'json', 'html'], 'default: text, with --output html'),
    },
  },
  backup: {
    words: { shown: 'FILE' },
    summary: 'write configuration and state directory into one file, beside a running daemon too',
    options: { config, force: flag('replace FILE when it is there') },
  },
  restore: {
    words: { shown: 'FILE' },
    summary: 'put a backup in the place of what is in the state directory; asks once',
    options: {
      config: text('PATH', 'the configuration file; written when it is not there'),
      force: flag(
        'replace the configuration, and a newer state directory; go on where it cannot be told whether a daemon runs',
      ),
      yes,
    },
  },
  report: {
    summary: 'a diagnosis to paste into a bug report; no secret, nothing personal, no request',
    options: { config },
  },
  mcp: {
    summary:
      "answer an assistant's questions on standard input and output (Model Context Protocol), from what is on this disk",
    options: { config },
  },
  healthcheck: {
    summary: 'ask the running daemon; exit 0 healthy, 1 not',
    options: { config },
  },
  login: {
    summary: 'sign in once, beside a running daemon too; a second factor is asked for',
    options: {
      config,
      account,
      method: oneOf(['auto', 'password', 'form', 'device', 'link'], 'default: provider.sign_in'),
    },
  },
  logout: {
    summary: 'end the session at the issuer and forget its tokens',
    options: { config, account },
  },
  simulate: {
    summary: 'the simulated provider alone; prints a configuration that works with it',
    options: {
      port: port("the provider's port; default: 8180, or a free one"),
      accounts: number('a number', 1, 1_000, 'so many accounts with a meter each; default: 1'),
      fault: oneOf(['wrong-password', 'down', 'slow', 'late', 'correction', 'html'], 'a bad day to rehearse'),
    },
  },
  uninstall: {
    summary: 'clear all topics and devices of this installation from the broker; asks once',
    options: { config, force: flag('go on where it cannot be told whether a daemon runs'), yes },
  },
  'energy-dashboard': {
    summary: "show, add or remove the meters in Home Assistant's Energy dashboard; a change is shown first",
    options: {
      config,
      add: flag('add each meter as a gas source named Heat; asks once'),
      remove: flag('remove the sources of the meters, and nothing else; asks once'),
      yes,
    },
  },
  accounts: {
    words: { shown: 'import FILE.csv|list|pause ID…|resume ID…|remove ID…|reseal', areMany: true },
    summary: 'the accounts of a fleet (docs/fleet.md)',
    options: {
      config,
      'from-state': text(
        'DIR',
        'import: the accounts of this configuration, with all that DIR, its state_dir, keeps',
      ),
      'dry-run': flag('import: only say what it would do'),
      force: flag('import --from-state: go on where it cannot be told whether a daemon runs'),
      failing: flag('list: only those that fail, and what to do'),
      format: oneOf(['table', 'json', 'csv'], 'list: how to print; default: table'),
      yes: flag('remove: do not ask'),
    },
  },
  config: {
    words: { shown: 'example|schema|show' },
    summary: 'the commented example; JSON Schema for editors; the effective config, secrets masked',
    options: { config },
  },
} as const satisfies Readonly<Record<string, CommandRow>>;

export type CommandName = keyof typeof COMMANDS;

/** The options that were given, and the words after the command. */
export interface Given<Name extends CommandName> {
  readonly options: Values<(typeof COMMANDS)[Name]['options']>;
  readonly words: readonly string[];
}

/** The values that an option may have. */
export type ValueOf<Name extends CommandName, Option extends keyof Given<Name>['options']> = NonNullable<
  Given<Name>['options'][Option]
>;

/** Resolves to the exit code. */
export type Command<Name extends CommandName> = (given: Given<Name>, io: Io) => Promise<number>;
