// heat2mqtt accounts: the accounts of a fleet, in its database. Loaded with what it needs of PostgreSQL when it is called.
import { readFile } from 'node:fs/promises';
import type { Fleet } from '../config/schema.ts';
import { decodeText, whyUnreadable } from '../config/secret.ts';
import { readLogins } from '../fleet/loginFile.ts';
import { moveHousehold } from '../fleet/moving.ts';
import { type OpenFleet, openFleet } from '../fleet/open.ts';
import {
  changeAccounts,
  countWords,
  type Deed,
  importLogins,
  listAccounts,
  resealAll,
  unknownIds,
} from '../fleet/roster.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { claimDirectory } from '../store/locks.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { type Arguments, type Command, type Io, isAgreed, mustBeAnswerable, wrongUsage } from './command.ts';
import { columnsOf, formatFrom, print, tableLines } from './printing.ts';
import { loadSettings, type Settings } from './settings.ts';

const NO_FLEET =
  'The configuration has no fleet: its accounts are in the section accounts. docs/fleet.md tells who needs one.';

interface Parts {
  readonly name: string;
  readonly given: Arguments;
  /** After the name of the action. */
  readonly words: readonly string[];
  readonly settings: Settings;
  readonly fleet: Fleet;
  readonly opened: OpenFleet;
}

interface Action {
  /** Beside `--config`. */
  readonly options?: readonly string[];
  /** Which words it takes; without it none. */
  readonly takes?: string;
  readonly run: (parts: Parts, io: Io) => Promise<number>;
}

const IDS = 'the ID of an account, or several';

const ACTIONS: Readonly<Record<string, Action>> = {
  import: {
    options: ['from-state', 'dry-run'],
    takes: 'one word, the FILE.csv; or --from-state DIR and none',
    run: (parts, io) => (parts.given.options['from-state'] ? importHousehold : importFile)(parts, io),
  },
  list: { options: ['format', 'failing'], run: printAccounts },
  pause: { takes: IDS, run: change },
  resume: { takes: IDS, run: change },
  remove: { options: ['yes'], takes: IDS, run: change },
  reseal: { run: reseal },
};

export const accounts: Command = async (given, io) => {
  const [name = 'nothing', ...words] = given.words;
  const action = ACTIONS[name];
  if (action === undefined)
    throw wrongUsage(`accounts takes ${Object.keys(ACTIONS).join(', ')}; found: ${name.slice(0, 40)}.`);
  const { options = [], takes = 'no further words' } = action;
  const stray = Object.keys(given.options).find((one) => one !== 'config' && !options.includes(one));
  if (stray !== undefined) throw wrongUsage(`accounts ${name} takes no --${stray}.`);
  const isFile = name === 'import' && !given.options['from-state'];
  const fits = takes === IDS ? words.length > 0 : words.length === Number(isFile);
  if (!fits) throw wrongUsage(`accounts ${name} takes ${takes}.`);
  if (name === 'remove') mustBeAnswerable('accounts remove', given, io);
  const settings = await loadSettings(given, io);
  const { fleet } = settings.config;
  if (fleet === undefined) throw failure('no_fleet', NO_FLEET, { exit: EXIT.config, retry: 'never' });
  const opened = await openFleet(fleet, settings.log);
  try {
    return await action.run({ name, given, words, settings, fleet, opened }, io);
  } finally {
    await opened.close();
  }
};

async function change({ name, words: ids, given, opened: { database } }: Parts, io: Io): Promise<number> {
  const unknown = (await unknownIds(ids, database)).map((id) => id.slice(0, 64));
  if (unknown.length > 0)
    throw wrongUsage(`No account of the fleet is called ${unknown.join(', ')}: nothing was changed.`);
  const of = new Set(ids).size;
  const question = `Remove ${countWords(of, 'account')} from the fleet, with all readings and topics?`;
  if (name === 'remove' && !(await isAgreed(question, given, io))) return EXIT.fine;
  const changed = await changeAccounts(name as Deed, ids, database);
  const rest = of - changed;
  const words: Readonly<Record<string, string>> = {
    pause: `paused ${changed}${rest === 0 ? '' : `, ${rest} ${rest === 1 ? 'was' : 'were'} so already`}`,
    resume: `resumed ${changed}: polled at once`,
    remove: `removed ${changed}: the next process that works clears the topics`,
  };
  io.out(`${words[name]}\n`);
  return EXIT.fine;
}

async function reseal({ opened }: Parts, io: Io): Promise<number> {
  const { changed, damaged } = await resealAll(opened);
  io.out(`sealed again with the first key: ${changed}\n`);
  for (const place of damaged) io.err(`Cannot be opened by any key, and was left: ${place}.\n`);
  return damaged.length === 0 ? EXIT.fine : EXIT.unexpected;
}

async function importFile({ words: [file = ''], given, opened }: Parts, io: Io): Promise<number> {
  const text = await readFile(file)
    .then(decodeText)
    .catch((err) => {
      throw wrongUsage(`${file}: found ${whyUnreadable(err)}; allowed: a CSV file in UTF-8.`);
    });
  const { logins, mistakes } = readLogins(text);
  if (mistakes.length > 0)
    throw failure('accounts_file_wrong', mistakes.map((one) => `${file}, ${one}`).join('\n'), {
      exit: EXIT.usage,
      retry: 'never',
      hint: `${countWords(mistakes.length, 'mistake')}: nothing was imported.`,
    });
  const isDry = given.options['dry-run'] === true;
  const { imported, changed, unchanged } = await importLogins(logins, isDry, opened);
  const lines = [
    `${isDry ? 'would be ' : ''}imported ${imported.length}, changed ${changed.length}, unchanged ${unchanged.length}`,
    ...(isDry ? imported.map((id) => `  new: ${id}`) : []),
    ...(isDry ? changed.map((id) => `  another login or history_since, or damaged: ${id}`) : []),
  ];
  io.out(`${lines.join('\n')}\n`);
  return EXIT.fine;
}

async function importHousehold(
  { settings: { config, log }, fleet, opened, given }: Parts,
  io: Io,
): Promise<number> {
  const directory = String(given.options['from-state']);
  const isDry = given.options['dry-run'] === true;
  const giveUp = await claimDirectory(directory, io.clock, log);
  const household = new StateDirectory(directory, log);
  const parts = { opened, fleet, household, clock: io.clock };
  const moved = await moveHousehold(config.accounts, isDry, parts).finally(giveUp);
  io.out(`${isDry ? 'would be ' : ''}moved ${moved}, known ${config.accounts.length - moved}\n`);
  if (isDry) return EXIT.fine;
  io.out(
    [
      'The fleet has them now, with their sessions and readings. What is left to do:',
      '  in the configuration: take out the section accounts, and state_dir',
      '  start heat2mqtt run with it, on one machine or several',
      `  once the readings are there: delete ${directory}. Its tokens are gone, so that they are not used twice.`,
      '',
    ].join('\n'),
  );
  return EXIT.fine;
}

async function printAccounts({ given, settings: { zone }, opened }: Parts, io: Io): Promise<number> {
  const { format: wanted = 'table', failing } = given.options;
  const at = (time: number | null) => (time === null ? null : zone.iso(time));
  const short = (time: number | null) => at(time)?.slice(0, 16).replace('T', ' ') ?? null;
  const listed = await listAccounts(opened.database, failing === true);
  const timed = (how: (time: number | null) => string | null) =>
    listed.map((one) => ({
      ...one,
      last_success_at: how(one.last_success_at),
      next_run_at: how(one.next_run_at),
      failing_since: how(one.failing_since),
    }));
  const columns = [
    ...columnsOf({ Id: 'id', State: 'state', 'Last success': 'last_success_at', 'Next run': 'next_run_at' }),
    ...columnsOf({ 'Failing since': 'failing_since', 'Last error': 'last_error' }),
    ...(failing ? columnsOf({ 'What to do': 'advice' }) : []),
  ];
  const table = () => [
    ...tableLines(columns, timed(short)),
    `${listed.length} in all; times in ${zone.name}`,
  ];
  const names = 'id state last_success_at next_run_at failing_since failures last_error auth_state advice';
  print(formatFrom(wanted, io), { records: timed(at), csv: names.split(' '), table }, io);
  return EXIT.fine;
}
