// The table of commands: parsing, help and exit code follow from it. The code of a command is loaded when it is called.
import { parseArgs } from 'node:util';
import { about } from '../foundation/about.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { adviceOf, type Command, type Io, wrongUsage } from './command.ts';

interface CommandRow {
  /** The one word that follows the name, in brackets if it may be left out; or several, each with `…`. Without this, none may. */
  readonly words?: string;
  readonly summary: string;
  /** As the help shows them: `--name`, for a value `VALUE` (`VALUE…`: several times), two blanks, what it does. */
  readonly options: readonly string[];
  /** Options of earlier versions: what to use instead. */
  readonly gone?: Readonly<Record<string, string>>;
  readonly load: () => Promise<Command>;
}

const CONFIG = '--config PATH  the configuration file';
const ACCOUNT = '--account ID  the account; default: the first';
const FORMAT = '--format table|json|csv  how to print; table on a terminal';
const YES = '--yes  do not ask';
const SECRETS_APART = 'a backup has no secrets; keep passwords and password files apart';

const COMMANDS: Readonly<Record<string, CommandRow>> = {
  run: {
    summary: 'the daemon (default)',
    options: [CONFIG],
    load: async () => (await import('./run.ts')).run,
  },
  check: {
    summary: 'try everything that run needs, one line each',
    options: [
      CONFIG,
      '--live  also ask issuer, provider, broker and Home Assistant (at most one login)',
      '--json  print JSON',
    ],
    load: async () => (await import('./check.ts')).check,
  },
  usage: {
    summary: 'ask the provider for the usage of a period and print it',
    options: [
      CONFIG,
      ACCOUNT,
      '--from DATE  first day, YYYY-MM-DD; default: 30 days, 12 weeks or months, 8 quarters, 4 years back',
      '--to DATE  last day; default: today',
      '--interval day|week|month|quarter|year  default: day',
      '--tariff UNIT_RATE,STANDING_CHARGE  also what it would have cost, such as 0.124,0.686',
      FORMAT,
    ],
    load: async () => (await import('./usage.ts')).usage,
  },
  invoices: {
    summary: 'ask the provider for the invoices of the last three years and print them',
    options: [CONFIG, ACCOUNT, FORMAT],
    load: async () => (await import('./invoices.ts')).invoices,
  },
  constituencies: {
    summary: 'print the public list of constituencies; needs no account and no broker',
    options: [
      CONFIG,
      '--chamber dail|seanad  all houses of the chamber; without any choice: its sitting house',
      '--house-no N  the number of the house',
      '--chamber-id URI…  a house as /ie/oireachtas/house/dail/33',
      '--skip N  leave out the first N',
      '--limit N  at most N; default: all',
      FORMAT,
    ],
    load: async () => (await import('./constituencies.ts')).constituencies,
  },
  export: {
    summary: 'print the readings that are on this disk as CSV, JSON or line protocol; no request is made',
    options: [
      CONFIG,
      '--account ID  the account; default: all',
      '--interval day|week|month  default: day',
      '--format csv|json|influx  default: csv',
      '--revisions  also how often each was corrected, and when it came',
    ],
    load: async () => (await import('./export.ts')).exportLedgers,
  },
  statement: {
    words: '[MONTH]',
    summary: 'one page about one complete month, from what is on this disk; no request is made',
    options: [
      CONFIG,
      ACCOUNT,
      '--meter NAME  one meter of the account; default: all',
      '--format text|json|html  default: text',
    ],
    load: async () => (await import('./statement.ts')).statement,
  },
  backup: {
    words: 'FILE',
    summary: 'write configuration and state directory into one file, beside a running daemon too',
    options: [CONFIG, '--force  replace FILE when it is there'],
    gone: { 'with-secrets': SECRETS_APART, 'passphrase-file': SECRETS_APART },
    load: async () => (await import('./backup.ts')).backup,
  },
  restore: {
    words: 'FILE',
    summary: 'put a backup in the place of what is in the state directory; asks once',
    options: [
      '--config PATH  the configuration file; written when it is not there',
      '--force  replace the configuration, and a newer state directory',
      YES,
    ],
    gone: { 'passphrase-file': SECRETS_APART },
    load: async () => (await import('./backup.ts')).restore,
  },
  report: {
    summary: 'a diagnosis to paste into a bug report; no secret, nothing personal, no request',
    options: [CONFIG],
    load: async () => (await import('./report.ts')).report,
  },
  healthcheck: {
    summary: 'ask the running daemon; exit 0 healthy, 1 not',
    options: [CONFIG],
    load: async () => (await import('./healthcheck.ts')).healthcheck,
  },
  login: {
    summary: 'sign in once, beside a running daemon too; a second factor is asked for',
    options: [CONFIG, ACCOUNT, '--method auto|password|form|device|link  default: provider.sign_in'],
    load: async () => (await import('./login.ts')).login,
  },
  logout: {
    summary: 'end the session at the issuer and forget its tokens',
    options: [CONFIG, ACCOUNT],
    load: async () => (await import('./login.ts')).logout,
  },
  demo: {
    summary: 'simulated provider, embedded broker and the real daemon in one process',
    options: ["--port N  the broker's port; default: 1883, or a free one"],
    load: async () => (await import('./demo.ts')).demo,
  },
  simulate: {
    summary: 'the simulated provider alone; prints a configuration that works with it',
    options: [
      "--port N  the provider's port; default: 8180, or a free one",
      '--accounts N  so many accounts with a meter each; default: 1',
      '--fault wrong-password|down|slow|late|correction|html  a bad day to rehearse',
    ],
    load: async () => (await import('./simulate.ts')).simulate,
  },
  setup: {
    summary: 'ask for provider, login and broker, try each answer, and write a configuration',
    options: ['--config PATH  the file to write; default: config.yaml'],
    load: async () => (await import('./setup.ts')).setup,
  },
  uninstall: {
    summary: 'clear all topics and devices of this installation from the broker; asks once',
    options: [CONFIG, YES],
    load: async () => (await import('./uninstall.ts')).uninstall,
  },
  'energy-dashboard': {
    summary: "show, add or remove the meters in Home Assistant's Energy dashboard; a change is shown first",
    options: [
      CONFIG,
      '--add  add each meter as a gas source named Heat; asks once',
      '--remove  remove the sources of the meters, and nothing else; asks once',
      YES,
    ],
    load: async () => (await import('./energyDashboard.ts')).energyDashboard,
  },
  accounts: {
    words: 'import FILE.csv|list|pause ID…|resume ID…|remove ID…|reseal',
    summary: 'the accounts of a fleet (docs/fleet.md)',
    options: [
      CONFIG,
      '--from-state DIR  import: the accounts of this configuration, with all that DIR, its state_dir, keeps',
      '--dry-run  import: only say what it would do',
      '--failing  list: only those that fail, and what to do',
      '--format table|json|csv  list: how to print; default: table',
      '--yes  remove: do not ask',
    ],
    load: async () => (await import('./accounts.ts')).accounts,
  },
  config: {
    words: 'example|schema|show',
    summary: 'the commented example; JSON Schema for editors; the effective config, secrets masked',
    options: [CONFIG],
    load: async () => (await import('./config.ts')).config,
  },
};

/** Runs a command line and resolves to its exit code; a Failure becomes a message. Never rejects. */
export async function exitCodeOf(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await runCommandLine(argv, io);
  } catch (err) {
    if (err instanceof Failure) {
      // Each line about an invalid configuration already says what is allowed.
      const advice = err.exitCode === EXIT.config ? undefined : adviceOf(err);
      io.err(`${err.message}\n${advice ? `${advice}\n` : ''}`);
      return err.exitCode;
    }
    io.err(`${about.name}: unexpected fault: ${placeOf(err)}\n`);
    return EXIT.unexpected;
  }
}

/** Where it was thrown, without the message: that may quote a secret. */
function placeOf(err: unknown): string {
  if (!(err instanceof Error)) return typeof err;
  const lines = err.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return [err.name, ...lines.slice(0, 5)].join('\n');
}

/** Resolves to the exit code. Rejects with wrong_usage, or with the failure of the command. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  const [first] = argv;
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'run';
  const row = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (argv.includes('--version') && !isNamed) {
    io.out(`${about.version}\n`);
    return EXIT.fine;
  }
  if (argv.includes('--help') || argv.includes('-h') || first === 'help') {
    io.out(isNamed && row ? helpOf(name, row) : overview());
    return EXIT.fine;
  }
  if (!row) throw wrongUsage(`Unknown command: ${name.slice(0, 40)}.`);
  const { values, positionals } = parse(row, isNamed ? argv.slice(1) : argv);
  refuseWords(name, row.words, positionals);
  const command = await row.load();
  return command({ options: values, words: positionals }, io);
}

/** Throws wrong_usage. */
function refuseWords(name: string, allowed: string | undefined, words: readonly string[]): void {
  const [first = 'nothing', ...others] = words;
  if (allowed === undefined && words.length > 0)
    throw wrongUsage(`${name} takes no further words, found: ${first.slice(0, 40)}.`);
  if (allowed === undefined || allowed.includes('…')) return;
  if (others.length > 0 || (words.length === 0 && !allowed.startsWith('[')))
    throw wrongUsage(`${name} takes one word, ${allowed}; found: ${words.join(' ').slice(0, 40) || first}.`);
}

/** `--name VALUE  help` in its parts. */
function optionIn(text: string) {
  const [usage = '', help = ''] = text.split(/ {2}(.*)/);
  const [name = '', value] = usage.slice(2).split(' ');
  return { usage, help, name, value };
}

function parse({ options, gone }: CommandRow, args: readonly string[]) {
  const known = options.map(optionIn);
  const kinds = known.map(({ name, value }) => {
    const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
    return [name, { type, multiple: value?.endsWith('…') === true }] as const;
  });
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(kinds), allowPositionals: true });
  } catch (err) {
    // Node adds advice about its own conventions.
    const [said = ''] = err instanceof Error ? err.message.split(/\.?(?:\n|\. |$)/) : [];
    const [, name = ''] = /--([\w-]+)/.exec(said) ?? [];
    if (gone?.[name] !== undefined) throw wrongUsage(`--${name} is gone: ${gone[name]}.`);
    const allowed = known.find((one) => one.name === name && one.value !== undefined);
    throw wrongUsage(`${said || 'Wrong usage'}${allowed ? `; allowed: ${allowed.usage}` : ''}.`);
  }
}

function overview(): string {
  return `${about.name} ${about.version}: heat meter readings to MQTT, Home Assistant and Node-RED

Usage: ${about.name} [command] [options]

${columns(Object.entries(COMMANDS).map(([name, row]) => [usageOf(name, row), row.summary]))}

${about.name} COMMAND --help tells the options of a command. --version prints the version.
Exit codes: 0 fine, 1 unexpected fault, 2 wrong usage, 3 configuration invalid, 4 credentials refused,
5 provider unreachable, 6 broker unreachable, 7 Home Assistant unreachable.
`;
}

const helpOf = (name: string, row: CommandRow): string => {
  const options = row.options.map(optionIn).map(({ usage, help }) => [usage, help] as const);
  return `${about.name} ${usageOf(name, row)}: ${row.summary}\n\n${columns(options)}\n`;
};

const usageOf = (name: string, { words }: CommandRow): string => (words ? `${name} ${words}` : name);

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
}
