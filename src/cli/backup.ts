// heat2mqtt backup: configuration and state directory in one file, beside a running daemon too. No secret goes into it.
import { constants, existsSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { decodeText } from '../config/secret.ts';
import { filesIn, withoutSecrets } from '../config/transfer.ts';
import { about } from '../foundation/about.ts';
import { EXIT } from '../foundation/failure.ts';
import { pack, readBackup } from '../store/backup.ts';
import { replace } from '../store/privateFiles.ts';
import { type Documents, notUnderstood, plainPart, readDocuments, summary } from '../store/snapshot.ts';
import { type Arguments, type Command, wrongUsage } from './command.ts';
import { loadSettings, refuseInFleet, type Settings } from './settings.ts';

export const backup: Command = async (given, io) => {
  const file = fileOf(given, 'backup');
  const settings = await loadSettings(given, io);
  refuseInFleet(settings.config.fleet, 'backup', 'back up its database, and fleet.key apart from it');
  await refuseUnwritable(file, given.options.force === true);
  const { text, leftOut } = await configOf(settings);
  const found = await readDocuments(settings.config.state_dir, io.clock);
  // The daemon would set a damaged document aside.
  const damaged = notUnderstood(found);
  const documents = Object.fromEntries(Object.entries(found).filter(([name]) => !damaged.includes(name)));
  const bytes = pack({
    madeAt: io.clock.now(),
    madeBy: about.version,
    config: text,
    documents: plainPart(documents),
  });
  await replace(resolve(file), bytes).catch((err: NodeJS.ErrnoException) => {
    throw wrongUsage(`${file} cannot be written (${err.code}).`);
  });
  const rows = [
    `${file}: ${text === null ? '' : 'the configuration, '}${contentWords(documents)}. Only you can read it.`,
    'Tokens are not in it: after its restore on another machine each account signs in once.',
    ...(leftOut.length === 0 ? [] : ['Left out. Keep apart what another machine will need:']),
    ...leftOut.map((one) => `  ${one}`),
    ...(damaged.length === 0 ? [] : [`Left out, since it cannot be read: ${damaged.join(', ')}.`]),
  ];
  io.out(rows.map((row) => `${row}\n`).join(''));
  return EXIT.fine;
};

/** The text without secrets, and what is not in it: secrets, files, and what the environment gives. */
async function configOf({
  path,
  origins,
}: Settings): Promise<{ text: string | null; leftOut: readonly string[] }> {
  const outside = [...origins].flatMap(([key, origin]) =>
    /^(environment|credentials)/.test(origin) ? [`${key} (${origin})`] : [],
  );
  if (path === undefined) return { text: null, leftOut: outside };
  const whole = decodeText(await readFile(path));
  const { text, taken } = withoutSecrets(whole, path);
  const files = filesIn(whole, path).map((file) => `the file ${file}`);
  return { text, leftOut: [...taken, ...files, ...outside] };
}

/** The one word. Throws wrong_usage. */
export function fileOf({ words }: Arguments, command: string): string {
  const [file, ...rest] = words;
  if (!file || rest.length > 0) throw wrongUsage(`${command} takes one word: the FILE.`);
  return file;
}

/** `2 meters with 1204 days`, for a sentence. */
export function contentWords(documents: Documents): string {
  const { meters, days } = summary(documents);
  return `${meters} ${meters === 1 ? 'meter' : 'meters'} with ${days} days`;
}

async function refuseUnwritable(file: string, isForced: boolean): Promise<void> {
  if (existsSync(file)) {
    if (!isForced) throw wrongUsage(`${file} is there already: --force replaces it.`);
    await readBackup(file).catch(() => {
      throw wrongUsage(`${file} is there and is no backup: it is not replaced.`);
    });
  }
  await access(dirname(resolve(file)), constants.W_OK).catch((err) => {
    throw wrongUsage(`${file} cannot be written there (${err.code}).`);
  });
}
