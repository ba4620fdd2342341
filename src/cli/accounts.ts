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
import { EXIT } from '../foundation/failure.ts';
import { claimAlone } from '../store/locks.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { isAgreed, mustBeAnswerable } from './agreement.ts';
import { type Io, refusal, wrongUsage } from './command.ts';
import type { Command, Given } from './commands.ts';
import { print, tableLines } from './printing.ts';
import { loadSettings, type Settings } from './settings.ts';

const NO_FLEET =
  'The configuration has no fleet: its accounts are in the section accounts. docs/fleet.md tells who needs one.';

/** `words`: those that follow the name of the action. */
interface AccountsCommand extends Given<'accounts'> {
  readonly name: string;
  readonly settings: Settings;
  readonly fleet: Fleet;
  readonly opened: OpenFleet;
}

/** `options`: beside `--config`. `takes`: which words. */
interface Action {
  readonly options: readonly string[];
  readonly takes: string;
  readonly run: (parts: AccountsCommand, io: Io) => Promise<void>;
}

const IDS = 'the ID of an account, or several';
const FILE = 'one word, the FILE.csv; or --from-state DIR and none';
const NONE = 'no further words';

const ACTIONS: Readonly<Record<string, Action>> = {
  import: { options: ['from-state', 'dry-run', 'force'], takes: FILE, run: importAccounts },
  list: { options: ['format', 'failing'], takes: NONE, run: printAccounts },
  pause: { options: [], takes: IDS, run: change },
  resume: { options: [], takes: IDS, run: change },
  remove: { options: ['yes'], takes: IDS, run: change },
  reseal: { options: [], takes: NONE, run: reseal },
};

export const accounts: Command<'accounts'> = async (given, io) => {
  const [name = 'nothing', ...words] = given.words;
  const action = ACTIONS[name];
  if (action === undefined)
    throw wrongUsage(`accounts takes ${Object.keys(ACTIONS).join(', ')}; found: ${name.slice(0, 40)}.`);
  const { options } = given;
  const { takes } = action;
  const stray = Object.keys(options).find((each) => each !== 'config' && !action.options.includes(each));
  if (stray !== undefined) throw wrongUsage(`accounts ${name} takes no --${stray}.`);
  const isFile = takes === FILE && !options['from-state'];
  const fits = takes === IDS ? words.length > 0 : words.length === Number(isFile);
  if (!fits) throw wrongUsage(`accounts ${name} takes ${takes}.`);
  if (name === 'remove') mustBeAnswerable('accounts remove', given, io);
  const settings = await loadSettings(given, io);
  const { fleet } = settings.config;
  if (fleet === undefined) throw refusal('no_fleet', NO_FLEET, undefined, EXIT.config);
  const opened = await openFleet(fleet, settings.log);
  try {
    await action.run({ name, options, words, settings, fleet, opened }, io);
    return EXIT.fine;
  } finally {
    await opened.close();
  }
};

async function change({ name, words: ids, options, opened: { database } }: AccountsCommand, io: Io) {
  const unknown = (await unknownIds(ids, database)).map((id) => id.slice(0, 64));
  if (unknown.length > 0)
    throw wrongUsage(`No account of the fleet is called ${unknown.join(', ')}: nothing was changed.`);
  const count = new Set(ids).size;
  const question = `Remove ${countWords(count, 'account')} from the fleet, with all readings and topics?`;
  if (name === 'remove' && !(await isAgreed(question, { options }, io))) return;
  const deed = name as Deed;
  const changed = await changeAccounts(deed, ids, database);
  const unchanged = count - changed;
  const wereSo = unchanged === 0 ? '' : `, ${unchanged} ${unchanged === 1 ? 'was' : 'were'} so already`;
  const words = {
    pause: `paused ${changed}${wereSo}`,
    resume: `resumed ${changed}: polled at once`,
    remove: `removed ${changed}: the next process that works clears the topics`,
  };
  io.out(`${words[deed]}\n`);
}

async function reseal({ opened }: AccountsCommand, io: Io) {
  const { changed, damaged } = await resealAll(opened);
  io.out(`sealed again with the first key: ${changed}\n`);
  const left = damaged.map((place) => `Cannot be opened by any key, and was left: ${place}.`);
  if (left.length > 0) throw refusal('damaged_seal', left.join('\n'), undefined, EXIT.unexpected);
}

async function importAccounts(parts: AccountsCommand, io: Io) {
  const { 'from-state': directory, 'dry-run': isDry = false } = parts.options;
  const lines = await (directory ? importHousehold(directory, isDry, parts, io) : importFile(isDry, parts));
  io.out(`${isDry ? 'would be ' : ''}${lines.join('\n')}\n`);
}

async function importFile(
  isDry: boolean,
  { words: [file = ''], opened }: AccountsCommand,
): Promise<string[]> {
  const text = await readFile(file)
    .then(decodeText)
    .catch((err) => {
      throw wrongUsage(`${file}: found ${whyUnreadable(err)}; allowed: a CSV file in UTF-8.`);
    });
  const { logins, mistakes } = readLogins(text);
  if (mistakes.length > 0)
    throw refusal(
      'accounts_file_wrong',
      mistakes.map((mistake) => `${file}, ${mistake}`).join('\n'),
      `${countWords(mistakes.length, 'mistake')}: nothing was imported.`,
    );
  const { imported, changed, unchanged } = await importLogins(logins, isDry, opened);
  return [
    `imported ${imported.length}, changed ${changed.length}, unchanged ${unchanged.length}`,
    ...(isDry ? imported.map((id) => `  new: ${id}`) : []),
    ...(isDry ? changed.map((id) => `  another login or history_since, or damaged: ${id}`) : []),
  ];
}

async function importHousehold(
  directory: string,
  isDry: boolean,
  parts: AccountsCommand,
  io: Io,
): Promise<string[]> {
  const { log, config } = parts.settings;
  const claimed = await claimAlone(directory, parts.options.force ?? false, io.clock, log);
  const household = new StateDirectory(directory, log);
  const moved = await moveHousehold(config.accounts, isDry, { ...parts, household, clock: io.clock }).finally(
    () => claimed.giveUp(),
  );
  const todo = [
    'The fleet has them now, with their sessions and readings. What is left to do:',
    '  in the configuration: take out the section accounts, and state_dir',
    '  start heat2mqtt run with it, on one machine or several',
    `  once the readings are there: delete ${directory}. Its tokens are gone, so that they are not used twice.`,
  ];
  return [`moved ${moved}, known ${config.accounts.length - moved}`, ...(isDry ? [] : todo)];
}

async function printAccounts({ options, settings: { zone }, opened }: AccountsCommand, io: Io) {
  const { format = 'table', failing = false } = options;
  const at = (time: number | null) => (time === null ? null : zone.iso(time));
  const short = (time: number | null) => at(time)?.slice(0, 16).replace('T', ' ') ?? null;
  const listed = await listAccounts(opened.database, failing);
  const timed = (write: (time: number | null) => string | null) =>
    listed.map((account) => ({
      ...account,
      last_success_at: write(account.last_success_at),
      next_run_at: write(account.next_run_at),
      failing_since: write(account.failing_since),
    }));
  const columns = {
    Id: 'id',
    State: 'state',
    'Last success': 'last_success_at',
    'Next run': 'next_run_at',
    'Failing since': 'failing_since',
    'Last error': 'last_error',
    ...(failing && { 'What to do': 'advice' }),
  } as const;
  const rows = () => [...tableLines(columns, timed(short)), `${listed.length} in all; times in ${zone.name}`];
  const table = () => (failing && listed.length === 0 ? ['No account fails.'] : rows());
  const names = 'id state last_success_at next_run_at failing_since failures last_error auth_state advice';
  print(format, { records: timed(at), csv: names.split(' '), table }, io);
}
