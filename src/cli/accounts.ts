// heat2mqtt accounts: the accounts of a fleet, in its database. Loaded with what it needs of PostgreSQL when it is called.
import { readFile } from 'node:fs/promises';
import type { Fleet } from '../config/schema.ts';
import { decodeText, whyUnreadable } from '../config/secrets/secrets.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { readLogins } from '../fleet/accounts/loginFile.ts';
import { Moving } from '../fleet/accounts/moving.ts';
import { type Listed, Roster } from '../fleet/accounts/roster.ts';
import { type Visit, visitFleet } from '../fleet/accounts/visit.ts';
import { countWords } from '../fleet/words.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { claimDirectory } from '../store/locks.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { type Arguments, type Command, type Io, isAgreed, mustBeAnswerable, wrongUsage } from './command.ts';
import { formatFrom, keyColumns, print, tableLines } from './printing.ts';
import { loadSettings, openSilentLog, type Settings } from './settings.ts';

const noFleet = () =>
  failure(
    'no_fleet',
    'The configuration has no fleet: its accounts are in the section accounts. docs/fleet.md tells who needs one.',
    { exit: EXIT.config, retry: 'never' },
  );

/** All mistakes of the file, a line each. */
const fileWrong = (file: string, mistakes: readonly string[]) =>
  failure('accounts_file_wrong', mistakes.map((one) => `${file}, ${one}`).join('\n'), {
    exit: EXIT.usage,
    retry: 'never',
    hint: `${countWords(mistakes.length, 'mistake')}: nothing was imported.`,
  });

interface Parts {
  readonly given: Arguments;
  /** After the name of the action. */
  readonly words: readonly string[];
  readonly settings: Settings;
  readonly fleet: Fleet;
  readonly visit: Visit;
  readonly roster: Roster;
}

/** What it takes beside `--config`. */
interface Action {
  readonly options: readonly string[];
  /** Throws wrong_usage. */
  readonly look: (words: readonly string[], given: Arguments, io: Io) => void;
  readonly run: (parts: Parts, io: Io) => Promise<number>;
}

export const accounts: Command = async (given, io) => {
  const [name = 'nothing', ...words] = given.words;
  const action = ACTIONS[name];
  if (action === undefined)
    throw wrongUsage(`accounts takes ${Object.keys(ACTIONS).join(', ')}; found: ${name.slice(0, 40)}.`);
  const stray = Object.keys(given.options).find((one) => one !== 'config' && !action.options.includes(one));
  if (stray !== undefined) throw wrongUsage(`accounts ${name} takes no --${stray}.`);
  action.look(words, given, io);
  const settings = await loadSettings(given, io);
  const { scrubber, config } = settings;
  const { fleet } = config;
  if (fleet === undefined) throw noFleet();
  const { clock, interrupted } = io;
  const own = { clock, log: await openSilentLog(scrubber, io), scrubber, interrupted };
  const visit = await visitFleet(fleet, process.versions.node, own);
  try {
    return await action.run({ given, words, settings, fleet, visit, roster: new Roster(visit) }, io);
  } finally {
    await visit.close();
  }
};

const noWords =
  (name: string): Action['look'] =>
  (words) => {
    if (words.length > 0) throw wrongUsage(`accounts ${name} takes no further words.`);
  };

const needsIds = (name: string, words: readonly string[]): void => {
  if (words.length === 0) throw wrongUsage(`accounts ${name} takes the ID of an account, or several.`);
};

const ACTIONS: Readonly<Record<string, Action>> = {
  import: {
    options: ['from-state'],
    look(words, { options }) {
      if (options['from-state'] ? words.length > 0 : words.length !== 1)
        throw wrongUsage('accounts import takes one word, the FILE.csv; or --from-state and none.');
    },
    run: (parts, io) =>
      parts.given.options['from-state'] ? importHousehold(parts, io) : importFile(parts, io),
  },
  list: { options: ['format'], look: noWords('list'), run: listAccounts },
  pause: {
    options: ['resume'],
    look: (words) => needsIds('pause', words),
    async run({ words, given, roster }, io) {
      await refuseUnknown(words, roster);
      const isResumed = given.options.resume === true;
      const changed = await roster.pause(words, !isResumed);
      const already = words.length - changed;
      const rest = already === 0 ? '' : `, ${already} ${already === 1 ? 'was' : 'were'} so already`;
      io.out(`${isResumed ? 'resumed' : 'paused'} ${changed}${rest}\n`);
      return EXIT.fine;
    },
  },
  remove: {
    options: ['yes'],
    look(words, given, io) {
      needsIds('remove', words);
      mustBeAnswerable('accounts remove', given, io);
    },
    async run({ words, given, roster }, io) {
      await refuseUnknown(words, roster);
      const question = `Remove ${countWords(new Set(words).size, 'account')} from the fleet, with all readings and topics?`;
      if (!(await isAgreed(question, given, io))) {
        io.out('Nothing was changed.\n');
        return EXIT.fine;
      }
      io.out(`removed ${await roster.remove(words)}: the next process that works clears the topics\n`);
      return EXIT.fine;
    },
  },
};

async function refuseUnknown(ids: readonly string[], roster: Roster): Promise<void> {
  const unknown = await roster.unknown(ids);
  if (unknown.length === 0) return;
  const named = unknown.map((id) => id.slice(0, 64)).join(', ');
  throw wrongUsage(`No account of the fleet is called ${named}: nothing was changed.`);
}

async function importFile({ words: [file = ''], roster }: Parts, io: Io): Promise<number> {
  const text = await readFile(file)
    .then(decodeText)
    .catch((err) => {
      throw wrongUsage(`${file}: found ${whyUnreadable(err)}; allowed: a CSV file in UTF-8.`);
    });
  const { logins, mistakes } = readLogins(text);
  if (mistakes.length > 0) throw fileWrong(file, mistakes);
  const { imported, changed, unchanged, busy } = await roster.import(logins);
  io.out(`imported ${imported.length}, changed ${changed.length}, unchanged ${unchanged.length}\n`);
  if (busy.length === 0) return EXIT.fine;
  io.err(`Being removed at this moment, import again in a minute: ${busy.join(', ')}\n`);
  return EXIT.unexpected;
}

async function importHousehold({ settings, fleet, visit }: Parts, io: Io): Promise<number> {
  const { config, scrubber } = settings;
  const log = await openSilentLog(scrubber, io);
  const giveUp = await claimDirectory(config.state_dir, io.clock, log);
  try {
    const household = new StateDirectory(config.state_dir, log);
    const moving = new Moving({ ...visit, household, clock: visit.clock }, fleet.claim_seconds);
    const { moved, known } = await moving.move(config.accounts);
    io.out(`moved ${moved.length}, known ${known.length}\n`);
  } finally {
    await giveUp();
  }
  io.out(
    [
      'The fleet has them now, with their sessions and readings. What is left to do:',
      '  in the configuration: take out the section accounts, and state_dir',
      '  start heat2mqtt run with it, on one machine or several',
      `  once the readings are there: delete ${config.state_dir}. Its tokens are gone, so that nobody uses them twice.`,
      '',
    ].join('\n'),
  );
  return EXIT.fine;
}

async function listAccounts({ given, settings, roster }: Parts, io: Io): Promise<number> {
  const format = formatFrom(given.options.format, io);
  const zone = zoneOf(settings.config.usage.timezone);
  const at = (time: number | null) => (time === null ? null : zone.iso(time));
  const listed = await roster.list();
  const records = listed.map((one) => ({
    id: one.id,
    state: stateOf(one),
    last_success_at: at(one.last_success_at),
    next_run_at: one.paused ? null : at(one.due_at),
    failing_since: at(one.failing_since),
    failures: one.failures,
    last_error: one.last_error,
  }));
  const short = (time: string | null) => time?.slice(0, 16).replace('T', ' ') ?? null;
  const table = () => [
    ...tableLines(
      [
        { head: 'Id', value: ({ id }) => id },
        { head: 'State', value: ({ state }) => state },
        { head: 'Last success', value: (one) => short(one.last_success_at) },
        { head: 'Next run', value: (one) => short(one.next_run_at) },
        { head: 'Failing since', value: (one) => short(one.failing_since) },
        { head: 'Last error', value: ({ last_error }) => last_error },
      ],
      records,
    ),
    `${records.length} in all; times in ${zone.name}`,
  ];
  const columns = keyColumns(
    ...([
      'id',
      'state',
      'last_success_at',
      'next_run_at',
      'failing_since',
      'failures',
      'last_error',
    ] as const),
  );
  print(format, { records, csv: columns, table }, io);
  return EXIT.fine;
}

function stateOf({ removed, paused, failures, last_poll_at }: Listed): string {
  if (removed) return 'removing';
  if (paused) return 'paused';
  if (failures > 0) return 'failing';
  return last_poll_at === null ? 'new' : 'ok';
}
