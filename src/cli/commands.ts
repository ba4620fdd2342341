// The table of commands: parsing, help and exit code follow from it. The code of a command is loaded when it is called.
import { parseArgs } from 'node:util';
import { about } from '../foundation/about.ts';
import { EXIT, Failure, framesOf, kindOf } from '../foundation/failure.ts';
import { adviceOf, type Command, type Io, wrongUsage } from './command.ts';

const CONFIG = '--config PATH  the configuration file';
const ACCOUNT = '--account ID  the account; default: the first';
const FORMAT = '--format table|json|csv  how to print; table on a terminal';
const YES = '--yes  do not ask';

/**
 * Each command as the help shows it. In its first line the one word that follows the name, in brackets if it may be left out; or
 * several, each with `…`. Without any, none may. Then its options: `--name`, for a value `VALUE` (`VALUE…`: several times), two
 * blanks, what it does.
 */
const HELP = `
demo: simulated provider, embedded broker and the real daemon in one process
  --port N  the broker's port; default: 1883, or a free one
setup: ask for provider, login and broker, try each answer, and write or change a configuration
  --config PATH  the file to write or to change; default: config.yaml
check: try everything that run needs, one line each
  ${CONFIG}
  --live  also ask issuer, provider, broker and Home Assistant (at most one login)
  --json  print JSON
run: the daemon (default)
  ${CONFIG}
usage: ask the provider for the usage of a period and print it
  ${CONFIG}
  ${ACCOUNT}
  --from DATE  first day, YYYY-MM-DD; default: 30 days, 12 weeks or months, 8 quarters, 4 years back
  --to DATE  last day; default: today
  --interval day|week|month|quarter|year  default: day
  --tariff UNIT_RATE,STANDING_CHARGE  also what it would have cost, such as 0.124,0.686
  ${FORMAT}
invoices: ask the provider for the invoices of the last three years and print them
  ${CONFIG}
  ${ACCOUNT}
  ${FORMAT}
constituencies: print the public list of constituencies; needs no account and no broker
  ${CONFIG}
  --chamber dail|seanad  all houses of the chamber; without any choice: its sitting house
  --house-no N  the number of the house
  --chamber-id URI…  a house as /ie/oireachtas/house/dail/33
  --skip N  leave out the first N
  --limit N  at most N; default: all
  ${FORMAT}
export: print the readings that are on this disk as CSV, JSON or line protocol; no request is made
  ${CONFIG}
  --account ID  the account; default: all
  --interval day|week|month  default: day
  --format csv|json|influx  default: csv
  --revisions  also how often each was corrected, and when it came
statement [MONTH]: one page about one complete month, from what is on this disk; no request is made
  ${CONFIG}
  ${ACCOUNT}
  --all  every account, with --output
  --meter NAME  one meter of the account; default: all
  --output DIR  a file for each meter in this directory, which only you can read
  --format text|json|html  default: text, with --output html
backup FILE: write configuration and state directory into one file, beside a running daemon too
  ${CONFIG}
  --force  replace FILE when it is there
restore FILE: put a backup in the place of what is in the state directory; asks once
  --config PATH  the configuration file; written when it is not there
  --force  replace the configuration, and a newer state directory; go on where it cannot be told whether a daemon runs
  ${YES}
report: a diagnosis to paste into a bug report; no secret, nothing personal, no request
  ${CONFIG}
mcp: answer an assistant's questions on standard input and output (Model Context Protocol), from what is on this disk
  ${CONFIG}
healthcheck: ask the running daemon; exit 0 healthy, 1 not
  ${CONFIG}
login: sign in once, beside a running daemon too; a second factor is asked for
  ${CONFIG}
  ${ACCOUNT}
  --method auto|password|form|device|link  default: provider.sign_in
logout: end the session at the issuer and forget its tokens
  ${CONFIG}
  ${ACCOUNT}
simulate: the simulated provider alone; prints a configuration that works with it
  --port N  the provider's port; default: 8180, or a free one
  --accounts N  so many accounts with a meter each; default: 1
  --fault wrong-password|down|slow|late|correction|html  a bad day to rehearse
uninstall: clear all topics and devices of this installation from the broker; asks once
  ${CONFIG}
  --force  go on where it cannot be told whether a daemon runs
  ${YES}
energy-dashboard: show, add or remove the meters in Home Assistant's Energy dashboard; a change is shown first
  ${CONFIG}
  --add  add each meter as a gas source named Heat; asks once
  --remove  remove the sources of the meters, and nothing else; asks once
  ${YES}
accounts import FILE.csv|list|pause ID…|resume ID…|remove ID…|reseal: the accounts of a fleet (docs/fleet.md)
  ${CONFIG}
  --from-state DIR  import: the accounts of this configuration, with all that DIR, its state_dir, keeps
  --dry-run  import: only say what it would do
  --force  import --from-state: go on where it cannot be told whether a daemon runs
  --failing  list: only those that fail, and what to do
  --format table|json|csv  list: how to print; default: table
  --yes  remove: do not ask
config example|schema|show: the commented example; JSON Schema for editors; the effective config, secrets masked
  ${CONFIG}
`;

const LOAD: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./simulate.ts')).demo,
  setup: async () => (await import('./setup.ts')).setup,
  check: async () => (await import('./check.ts')).check,
  run: async () => (await import('./run.ts')).run,
  usage: async () => (await import('./usage.ts')).usage,
  invoices: async () => (await import('./invoices.ts')).invoices,
  constituencies: async () => (await import('./constituencies.ts')).constituencies,
  export: async () => (await import('./onDisk.ts')).exportLedgers,
  statement: async () => (await import('./onDisk.ts')).statement,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./backup.ts')).restore,
  report: async () => (await import('./report.ts')).report,
  mcp: async () => (await import('./mcp.ts')).mcp,
  healthcheck: async () => (await import('./healthcheck.ts')).healthcheck,
  login: async () => (await import('./login.ts')).login,
  logout: async () => (await import('./login.ts')).logout,
  simulate: async () => (await import('./simulate.ts')).simulate,
  uninstall: async () => (await import('./uninstall.ts')).uninstall,
  'energy-dashboard': async () => (await import('./energyDashboard.ts')).energyDashboard,
  accounts: async () => (await import('./accounts.ts')).accounts,
  config: async () => (await import('./config.ts')).config,
};

/** Runs a command line and resolves to its exit code; a Failure becomes a message. Never rejects. */
export async function exitCodeOf(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await runCommandLine(argv, io);
  } catch (err) {
    if (err instanceof Failure) {
      // Each line about an invalid configuration already says what is allowed.
      const advice = err.code === 'config_invalid' ? undefined : adviceOf(err);
      io.err(`${err.message}\n${advice ? `${advice}\n` : ''}`);
      return err.exitCode;
    }
    io.err(`${about.name}: unexpected fault: ${placeOf(err)}\n`);
    return EXIT.unexpected;
  }
}

/** The place where it was thrown, without the message: that may quote a secret. */
const placeOf = (err: unknown): string => [kindOf(err), ...framesOf(err).slice(0, 5)].join('\n');

/** Options of earlier versions. */
const GONE = ['with-secrets', 'passphrase-file'];
const SECRETS_APART = 'a backup has no secrets; keep passwords and password files apart';

const COMMANDS = new Map(
  HELP.trim()
    .split(/\n(?! )/)
    .map((block) => [block.split(/[ :]/)[0], commandIn(block)]),
);

function commandIn(block: string) {
  const [head = '', ...options] = block.split('\n  ');
  const [usage = '', summary = ''] = head.split(': ');
  const [name = '', words] = usage.split(/ (.*)/);
  return { name, usage, words, summary, options: options.map(optionIn) };
}

/** `--name VALUE  help` in its parts. */
function optionIn(text: string) {
  const [usage = '', help = ''] = text.split(/ {2}(.*)/);
  const [name = '', value] = usage.slice(2).split(' ');
  return { usage, help, name, value };
}

type CommandHelp = ReturnType<typeof commandIn>;

/** Resolves to the exit code. Rejects with wrong_usage, or with the failure of the command. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  const [first] = argv[0] === 'help' ? argv.slice(1) : argv;
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'run';
  const row = COMMANDS.get(name);
  if (argv.includes('--version') && !isNamed) {
    io.out(`${about.version}\n`);
    return EXIT.fine;
  }
  if (argv.includes('--help') || argv.includes('-h') || argv[0] === 'help') {
    const width = Math.min(io.columns, WIDTH);
    io.out(isNamed && row ? helpOf(row, width) : overview(width));
    return EXIT.fine;
  }
  const load = LOAD[name];
  if (!row || !load)
    throw wrongUsage(`Unknown command: ${name.slice(0, 40)}.${await meant(name, Object.keys(LOAD))}`);
  const { values, positionals } = await parse(row, isNamed ? argv.slice(1) : argv);
  refuseWords(row, positionals);
  const command = await load();
  return command({ options: values, words: positionals }, io);
}

/** Throws wrong_usage. */
function refuseWords({ name, words: allowed }: CommandHelp, words: readonly string[]): void {
  const [first = 'nothing', ...others] = words;
  if (allowed === undefined && words.length > 0)
    throw wrongUsage(
      COMMANDS.has(first)
        ? `The command comes first: ${about.name} ${first}, then its options.`
        : `${name} takes no further words, found: ${first.slice(0, 40)}.`,
    );
  if (allowed === undefined || allowed.includes('…')) return;
  if (others.length > 0 || (words.length === 0 && !allowed.startsWith('[')))
    throw wrongUsage(`${name} takes one word, ${allowed}; found: ${words.join(' ').slice(0, 40) || first}.`);
}

/** A mistyped word, answered with the one of `words` that is nearest; empty: none is near. */
async function meant(word: string, words: readonly string[], before = ''): Promise<string> {
  const { didYouMean } = await import('../config/draft.ts');
  const nearest = didYouMean(word, words);
  return nearest === undefined ? '' : ` Did you mean ${before}${nearest}?`;
}

/** Rejects with wrong_usage. */
async function parse({ options }: CommandHelp, args: readonly string[]) {
  const kinds = options.map(({ name, value }) => {
    const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
    return [name, { type, multiple: value?.endsWith('…') === true }] as const;
  });
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(kinds), allowPositionals: true });
  } catch (err) {
    // Node adds advice about its own conventions.
    const [message = ''] = err instanceof Error ? err.message.split(/\.?(?:\n|\. |$)/) : [];
    const [, name = ''] = /--([\w-]+)/.exec(message) ?? [];
    const allowed = options.find((option) => option.name === name);
    if (!allowed && GONE.includes(name)) throw wrongUsage(`--${name} is gone: ${SECRETS_APART}.`);
    if (allowed?.value)
      throw wrongUsage(
        `--${name} has no value, or one that begins with a dash (then --${name}=…); allowed: ${allowed.usage}.`,
      );
    const names = options.map((option) => option.name);
    const other = allowed || name === '' ? '' : await meant(name, names, '--');
    throw wrongUsage(`${message || 'Wrong usage'}.${other}`);
  }
}

/** Any terminal has so many columns, and a page of the help no more of them. */
const WIDTH = 80;
/** A left column as wide as the widest of its cells would leave no room for what they mean. */
const WIDEST_LEFT = 24;

const overview = (
  width: number,
): string => `${about.name} ${about.version}: heat meter readings to MQTT, Home Assistant and Node-RED

Usage: ${about.name} [command] [options]

${columns(
  [...COMMANDS.values()].map(({ name, usage, summary }) => [shortUsage(name, usage), summary]),
  width,
)}

${wrapped(`${about.name} COMMAND --help tells the options of a command. --version prints the version.`, width)}
${wrapped(EXIT_CODES, width)}
`;

const EXIT_CODES =
  'Exit codes: 0 fine, 1 unexpected fault, 2 wrong usage, 3 configuration invalid, 4 credentials refused, 5 provider unreachable, 6 broker unreachable, 7 Home Assistant unreachable.';

const shortUsage = (name: string, usage: string): string =>
  usage.length > WIDEST_LEFT ? `${name} …` : usage;

const helpOf = ({ usage, summary, options }: CommandHelp, width: number): string =>
  `${wrapped(`${about.name} ${usage}: ${summary}`, width)}\n\n${columns(
    options.map(({ usage, help }) => [usage, help]),
    width,
  )}\n`;

/** An entry that is too wide for the left column has a line of its own. */
function columns(rows: readonly (readonly [string, string])[], width: number): string {
  const lefts = rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT);
  const indent = ' '.repeat(Math.max(0, ...lefts) + 4);
  return rows
    .map(([left, right]) => {
      const text = wrapped(right, width - indent.length).replaceAll('\n', `\n${indent}`);
      const isWide = left.length + 4 > indent.length;
      return isWide ? `  ${left}\n${indent}${text}` : `${`  ${left}`.padEnd(indent.length)}${text}`;
    })
    .join('\n');
}

/** In lines of at most so many characters, broken between words. */
function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}
