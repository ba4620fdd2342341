// Reads a command line by the table of commands: parsing, exit code, and a Failure in words.
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { about } from '../foundation/about.ts';
import { EXIT, Failure, framesOf, kindOf } from '../foundation/failure.ts';
import { adviceOf, type Io, wrongUsage } from './command.ts';
import { COMMANDS, type Command, type CommandName, type CommandRow, type Given } from './commands.ts';
import type { DeclaredOptions } from './options.ts';

/** The code of a command is loaded when it is called. */
const LOAD: { readonly [Name in CommandName]: () => Promise<{ readonly [Own in Name]: Command<Own> }> } = {
  demo: () => import('./simulate.ts'),
  setup: () => import('./setup.ts'),
  check: () => import('./check.ts'),
  run: () => import('./run.ts'),
  usage: () => import('./usage.ts'),
  invoices: () => import('./invoices.ts'),
  constituencies: () => import('./constituencies.ts'),
  export: () => import('./export.ts'),
  statement: () => import('./statement.ts'),
  backup: () => import('./backup.ts'),
  restore: () => import('./backup.ts'),
  report: () => import('./report.ts'),
  mcp: () => import('./mcp.ts'),
  healthcheck: () => import('./healthcheck.ts'),
  login: () => import('./login.ts'),
  logout: () => import('./login.ts'),
  simulate: () => import('./simulate.ts'),
  uninstall: () => import('./uninstall.ts'),
  'energy-dashboard': () => import('./energyDashboard.ts'),
  accounts: () => import('./accounts.ts'),
  config: () => import('./config.ts'),
};

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

/** Runs a command line and resolves to its exit code; a Failure becomes a message. Never rejects. */
export async function exitCodeOf(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await Promise.race([runCommandLine(argv, io), longAfterInterrupt(io)]);
  } catch (err) {
    if (io.interrupted.aborted && isAbort(err)) {
      io.err('Ended before the answer came.\n');
      return EXIT.usage;
    }
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

/** The stop of a daemon takes less. */
const LONGEST_END_MS = 9_000;

/** Rejects with an AbortError. A command may wait for what it does not break off by itself, such as new tokens. */
async function longAfterInterrupt({ interrupted, clock }: Io): Promise<never> {
  if (!interrupted.aborted) await once(interrupted, 'abort');
  await clock.sleep(LONGEST_END_MS);
  throw interrupted.reason;
}

/** A question that was under way is no answer, and nothing is wrong with the network. */
const isAbort = (err: unknown): boolean =>
  [err, Object(err).cause].some((thrown) => Object(thrown).name === 'AbortError');

/** The place where it was thrown, without the message: that may quote a secret. */
const placeOf = (err: unknown): string => [kindOf(err), ...framesOf(err).slice(0, 5)].join('\n');

/** Options of earlier versions. */
const GONE = ['with-secrets', 'passphrase-file'];
const SECRETS_APART = 'a backup has no secrets; keep passwords and password files apart';

/** Resolves to the exit code. Rejects with wrong_usage, or with the failure of the command. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  const [first] = argv[0] === 'help' ? argv.slice(1) : argv;
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'run';
  if (argv.includes('--version') && !isNamed) {
    io.out(`${about.version}\n`);
    return EXIT.fine;
  }
  if (argv.includes('--help') || argv.includes('-h') || argv[0] === 'help') {
    const { helpText } = await import('./help.ts');
    io.out(helpText(isNamed && isCommand(name) ? name : null, io.columns));
    return EXIT.fine;
  }
  if (!isCommand(name))
    throw wrongUsage(`Unknown command: ${name.slice(0, 40)}.${await meant(name, Object.keys(COMMANDS))}`);
  return runCommand(name, isNamed ? argv.slice(1) : argv, io);
}

async function runCommand<Name extends CommandName>(
  name: Name,
  args: readonly string[],
  io: Io,
): Promise<number> {
  const row: CommandRow = COMMANDS[name];
  const { values, positionals: words } = await parse(row.options, args);
  refuseWords(name, row, words);
  const options = valuesOf(row.options, values) as Given<Name>['options'];
  const loaded = await LOAD[name]();
  return loaded[name]({ options, words }, io);
}

/** Throws wrong_usage. */
function refuseWords(name: string, { words: allowed }: CommandRow, words: readonly string[]): void {
  const [first = 'nothing', ...others] = words;
  if (allowed === undefined && words.length > 0)
    throw wrongUsage(
      isCommand(first)
        ? `The command comes first: ${about.name} ${first}, then its options.`
        : `${name} takes no further words, found: ${first.slice(0, 40)}.`,
    );
  if (allowed === undefined || allowed.areMany) return;
  if (others.length > 0 || (words.length === 0 && !allowed.isOptional))
    throw wrongUsage(
      `${name} takes one word, ${allowed.shown}; found: ${words.join(' ').slice(0, 40) || first}.`,
    );
}

/** A mistyped word, answered with the one of `words` that is nearest; empty: none is near. */
async function meant(word: string, words: readonly string[], before = ''): Promise<string> {
  const { didYouMean } = await import('../config/faults.ts');
  const nearest = didYouMean(word, words);
  return nearest === undefined ? '' : ` Did you mean ${before}${nearest}?`;
}

/** Rejects with wrong_usage. */
async function parse(declared: DeclaredOptions, args: readonly string[]) {
  const kinds = Object.entries(declared).map(([name, { shown }]) => {
    const type: 'string' | 'boolean' = shown === undefined ? 'boolean' : 'string';
    return [name, { type, multiple: true }] as const;
  });
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(kinds), allowPositionals: true });
  } catch (err) {
    // Node adds advice about its own conventions.
    const [message = ''] = (err as Error).message.split(/\.?(?:\n|\. |$)/);
    const [, name = ''] = /--([\w-]+)/.exec(message) ?? [];
    const shown = declared[name]?.shown;
    if (GONE.includes(name)) throw wrongUsage(`--${name} is gone: ${SECRETS_APART}.`);
    if (shown !== undefined)
      throw wrongUsage(
        `--${name} has no value, or one that begins with a dash (then --${name}=…); allowed: --${name} ${shown}.`,
      );
    const isUnknown = name !== '' && !Object.hasOwn(declared, name);
    const advice = isUnknown ? await meant(name, Object.keys(declared), '--') : '';
    throw wrongUsage(`${message}.${advice}`);
  }
}

/** Throws wrong_usage. */
const valuesOf = (declared: DeclaredOptions, typed: Awaited<ReturnType<typeof parse>>['values']) =>
  Object.fromEntries(
    Object.entries(typed).map(([name, given]) => [
      name,
      declared[name]?.read([given ?? []].flat().map(String), `--${name}`),
    ]),
  );
