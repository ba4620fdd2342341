// heat2mqtt backup: configuration and state directory in one file, without secrets. heat2mqtt restore: back, after asking.
import { constants, existsSync } from 'node:fs';
import { access, mkdtemp, readFile, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { pathIn } from '../config/draft.ts';
import { findConfigFile } from '../config/load.ts';
import { decodeText } from '../config/secret.ts';
import { outlineOf, withoutSecrets, withStateDir } from '../config/yamlText.ts';
import { about } from '../foundation/about.ts';
import { EXIT } from '../foundation/failure.ts';
import {
  type Backup,
  backupUnreadable,
  type Documents,
  finishRestore,
  notUnderstood,
  pack,
  plainPart,
  readBackup,
  readDocuments,
  replaceDocuments,
  restoredOver,
  summary,
} from '../store/backup.ts';
import { alreadyRunning, claimDirectory, isDaemonRunning } from '../store/locks.ts';
import { replace, withoutCustomer } from '../store/privateFiles.ts';
import { stateUnwritable } from '../store/stateDirectory.ts';
import {
  type Arguments,
  type Command,
  type Io,
  isAgreed,
  mustBeAnswerable,
  refusal,
  wrongUsage,
} from './command.ts';
import { loadSettings, refuseInFleet, silentLog } from './settings.ts';

export const backup: Command = async (given, io) => {
  const [file = ''] = given.words;
  const { config, path, origins } = await loadSettings(given, io);
  refuseInFleet(config.fleet, 'backup', 'back up its database, and fleet.key apart from it');
  if (existsSync(file)) {
    if (!given.options.force) throw wrongUsage(`${file} is there already: --force replaces it.`);
    await readBackup(file).catch(() => {
      throw wrongUsage(`${file} is there and is no backup: it is not replaced.`);
    });
  }
  await access(dirname(resolve(file)), constants.W_OK).catch(({ code }) => {
    throw unwritable(file, code);
  });
  const plain = path === undefined ? null : withoutSecrets(decodeText(await readFile(path)), path);
  const found = await readDocuments(config.state_dir);
  // The daemon would set a damaged document aside.
  const damaged = notUnderstood(found);
  const documents = Object.fromEntries(Object.entries(found).filter(([name]) => !damaged.includes(name)));
  await write(file, packed(documents, io, plain));
  const outside = [...origins].filter(([, origin]) => /^(environment|credentials)/.test(origin));
  const leftOut = [
    ...(plain?.taken ?? []),
    ...(plain?.files ?? []).map((each) => `the file ${each}`),
    ...outside.map(([key, origin]) => `${key} (${origin})`),
  ];
  const rows = [
    `${file}: ${plain === null ? '' : 'the configuration, '}${contentWords(documents)}. Only you can read it.`,
    'Tokens are not in it: after its restore on another machine each account signs in once.',
    ...(leftOut.length === 0 ? [] : ['Left out. Keep apart what another machine will need:']),
    ...leftOut.map((one) => `  ${one}`),
    ...(damaged.length === 0
      ? []
      : [`Left out, since it cannot be read: ${damaged.map(withoutCustomer).join(', ')}.`]),
  ];
  io.out(rows.map((row) => `${row}\n`).join(''));
  return EXIT.fine;
};

export const restore: Command = async (given, io) => {
  const [file = ''] = given.words;
  mustBeAnswerable('restore', given, io);
  const read = await readBackup(file);
  const strange = notUnderstood(read.documents).map(withoutCustomer);
  if (strange.length > 0) {
    const named = `${strange.slice(0, 3).map(shown).join(', ')}, made by heat2mqtt ${shown(read.made_by)}`;
    throw backupUnreadable(named, `what heat2mqtt ${about.version} knows`);
  }
  const plan = await planOf(read, given, io);
  const { stateDir } = plan;
  if (await isDaemonRunning(stateDir)) throw alreadyRunning(stateDir);
  await finishRestore(stateDir).catch(() => undefined);
  const before = await readBefore(stateDir, read, given);
  for (const row of planRows(file, read, plan, before)) io.out(`${row}\n`);
  if (!(await isAgreed('Restore it?', given, io))) return EXIT.fine;
  const giveUp = await claimDirectory(stateDir, io.clock, silentLog());
  try {
    // A daemon may have worked while the question was open: its tokens are used up, its login attempts count.
    await carryOut(plan, read, await readBefore(stateDir, read, given), io);
  } finally {
    await giveUp();
  }
  io.out('Restored. `heat2mqtt check` tells what is missing, and `heat2mqtt run` goes on from here.\n');
  return EXIT.fine;
};

/** `plain`: the configuration without secrets, and their keys. */
function packed(documents: Documents, { clock }: Io, plain: ReturnType<typeof withoutSecrets> | null = null) {
  const made = { made_at: iso(clock.now()), made_by: about.version };
  const config = plain?.text ?? null;
  return pack({ ...made, config, secrets_taken: [...(plain?.taken ?? [])], documents: plainPart(documents) });
}

/** `2 meters with 1204 days`, for a sentence. */
function contentWords(documents: Documents): string {
  const { meters, days } = summary(documents);
  return `${meters} ${meters === 1 ? 'meter' : 'meters'} with ${days} days`;
}

/** Where everything goes. A configuration that is there stays unless forced, and its state directory is taken in any case. */
async function planOf({ config, secrets_taken }: Backup, { options }: Arguments, { env }: Io) {
  const named = typeof options.config === 'string' ? options.config : env.HEAT2MQTT_CONFIG || undefined;
  const configPath = named ?? findConfigFile(undefined, env, existsSync) ?? 'config.yaml';
  const there = existsSync(configPath) ? decodeText(await readFile(configPath)) : null;
  const isWritten = config !== null && (there === null || options.force === true);
  if (isWritten && !(await canBeWritten(dirname(configPath)))) throw unwritable(configPath, 'EACCES');
  const usualDir = outlineOf(there ?? config, configPath, env).stateDir;
  const isMoved = isWritten && there === null && !(await canBeWritten(usualDir));
  const hasOwnDir = there !== null || isMoved;
  const changed = (text: string) => withStateDir(text, configPath, isMoved ? './state' : usualDir);
  const text = isWritten ? (hasOwnDir ? changed(config) : config) : null;
  const { stateDir, files, hasFleet } = outlineOf(text ?? there, configPath, env);
  if (hasFleet)
    refuseInFleet({}, 'restore', '`heat2mqtt accounts import --from-state DIR` moves a household into it');
  const missing = files.filter((each) => !existsSync(pathIn(configPath, each)));
  return {
    stateDir,
    /** Where the backup has it, and this user cannot write. */
    stateDirBefore: isMoved ? usualDir : null,
    configPath,
    /** A configuration is there already. */
    isThere: there !== null,
    /** The configuration to be written; `null`: none is. */
    text,
    /** What the configuration names and is not there: passwords and certificates. */
    missing: [...missing, ...(text === null ? [] : secrets_taken)],
  };
}

type Plan = Awaited<ReturnType<typeof planOf>>;

/** Whether this user may write there, or make it. */
async function canBeWritten(path: string): Promise<boolean> {
  let nearest = resolve(path);
  while (!existsSync(nearest)) nearest = dirname(nearest);
  return mkdtemp(join(nearest, '.heat2mqtt-'))
    .then(rmdir)
    .then(() => true)
    .catch(() => false);
}

/** What is in the state directory now. Rejects with state_newer, unless forced. */
async function readBefore(stateDir: string, { made_at }: Backup, { options }: Arguments): Promise<Documents> {
  const before = await readDocuments(stateDir);
  const newer = (why: string) => {
    const message = `The state directory is newer than the backup: ${stateDir} ${why}.`;
    return refusal('state_newer', message, 'Nothing was changed. --force replaces it all the same.');
  };
  if (options.force) return before;
  const [strange] = notUnderstood(before).map(withoutCustomer);
  if (strange !== undefined) throw newer(`has ${strange}.json, which this version does not understand`);
  const { newestAt } = summary(before);
  if (newestAt > Date.parse(made_at))
    throw newer(`was filled at ${iso(newestAt)}, and the backup was made at ${made_at}`);
  return before;
}

const iso = (instant: number): string => new Date(instant).toISOString();

/** The name of what was there, in the state directory. */
const BEFORE = 'before-restore.gz';

function planRows(file: string, { documents, made_at, made_by }: Backup, plan: Plan, before: Documents) {
  const { stateDir, stateDirBefore, configPath, isThere, text, missing } = plan;
  const ids = Object.keys(documents).flatMap((name) => /^accounts\/([^/]+)\//.exec(name)?.[1] ?? []);
  const signingIn = [...new Set(ids)].filter((id) => !(`accounts/${id}/tokens` in before));
  const isEmpty = Object.keys(before).length === 0;
  const kept = isEmpty ? '' : `, in the place of what is there; that is kept as ${BEFORE} in it`;
  const moved = stateDirBefore === null ? '' : `, since ${shown(stateDirBefore)} cannot be written here`;
  const replaced = isThere ? `; the one that is there becomes ${configPath}.before-restore` : '';
  const stays = isThere ? `${configPath} stays as it is` : 'there is none';
  return [
    `${file}: made at ${made_at} by heat2mqtt ${shown(made_by)}, ${contentWords(documents)}`,
    `  state: into ${shown(stateDir)}${moved}${kept}`,
    `  configuration: ${text === null ? stays : `${configPath}, without secrets${replaced}`}`,
    ...missing.map((each) => `  to be brought from the old machine, it is not there: ${shown(each)}`),
    ...(missing.some((each) => each.startsWith('/'))
      ? [`  (or to be put elsewhere, and the path changed in ${configPath})`]
      : []),
    ...signingIn.map((id) => `  signs in once: ${id} (with its password, or by \`heat2mqtt login\`)`),
  ];
}

/** The state last and at once: after a failure before that, another try begins again. */
async function carryOut(
  { stateDir, configPath, text }: Plan,
  { documents: restored }: Backup,
  before: Documents,
  io: Io,
): Promise<void> {
  const old = await readFile(configPath, 'utf8').catch(() => null);
  if (text !== null && old !== text) {
    if (old !== null) await write(`${configPath}.before-restore`, old);
    await write(configPath, text);
  }
  const documents = restoredOver(before, restored);
  // A restore that is repeated has nothing new to keep.
  const isRepeated = isDeepStrictEqual(plainPart(before), plainPart(documents));
  if (Object.keys(before).length > 0 && !isRepeated) await write(join(stateDir, BEFORE), packed(before, io));
  await replaceDocuments(stateDir, documents).catch((err) => {
    throw stateUnwritable(stateDir, err);
  });
}

const write = (path: string, content: string | Buffer): Promise<void> =>
  replace(resolve(path), content).catch(({ code }: NodeJS.ErrnoException) => {
    throw unwritable(path, code);
  });

const unwritable = (path: string, code = 'unknown error') =>
  refusal(
    'file_unwritable',
    `${shown(path)} cannot be written (${code}).`,
    'Name a file in a folder that this user may write, or give this user the folder.',
  );

/** Text of a file that may come from anywhere. */
const shown = (text: string): string => text.slice(0, 200).replace(/\p{Cc}/gu, ' ');
