// heat2mqtt backup: configuration and state directory in one file, without secrets. heat2mqtt restore: back, after asking.
import { constants, existsSync } from 'node:fs';
import { access, type FileHandle, mkdtemp, readFile, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathIn } from '../config/draft.ts';
import { findConfigFile, readConfigText } from '../config/load.ts';
import { outlineOf, withoutSecrets, withStateDir } from '../config/transfer.ts';
import { about } from '../foundation/about.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import {
  type BackupHead,
  backupUnreadable,
  pack,
  Survey,
  surveyBackup,
  withBackup,
} from '../store/backup.ts';
import { TooLarge } from '../store/documentStream.ts';
import { alreadyRunning, claimAlone, isDaemonRunning, mayBeRunning } from '../store/locks.ts';
import { type Content, setAside, withoutCustomer } from '../store/privateFiles.ts';
import {
  finishRestore,
  isRestoreUnderWay,
  plainDocuments,
  replaceDocuments,
  StateBefore,
} from '../store/restore.ts';
import { canListenIn } from '../store/socket.ts';
import { stateUnwritable } from '../store/stateDirectory.ts';
import { isAgreed, mustBeAnswerable } from './agreement.ts';
import { type Io, refusal, shown, wrongUsage } from './command.ts';
import type { Command, Given } from './commands.ts';
import { printLines } from './printing.ts';
import { loadSettings, refuseInFleet, silentLog } from './settings.ts';
import { unwritable, writeFile } from './writing.ts';

export const backup: Command<'backup'> = async (given, io) => {
  const [file = ''] = given.words;
  const { config, path, origins } = await loadSettings(given, io);
  refuseInFleet(config.fleet, 'backup', 'back up its database, and fleet.key apart from it');
  if (existsSync(file)) {
    if (!given.options.force) throw wrongUsage(`${file} is there already: --force replaces it.`);
    await withBackup(file, surveyBackup).catch(() => {
      throw wrongUsage(`${file} is there and is no backup: it is not replaced.`);
    });
  }
  await access(dirname(resolve(file)), constants.W_OK).catch(({ code }) => {
    throw unwritable(file, code);
  });
  const plain = path === undefined ? null : withoutSecrets(await readConfigText(path), path);
  const survey = new Survey();
  await write(file, packed(config.state_dir, survey, io, plain));
  // The daemon would set them aside.
  const damaged = [...survey.strange.keys()].map(withoutCustomer);
  const outside = [...origins].filter(([, origin]) => /^(environment|credentials)/.test(origin));
  const leftOut = [
    ...(plain?.taken ?? []),
    ...(plain?.files ?? []).map((each) => `the file ${each}`),
    ...outside.map(([key, origin]) => `${key} (${origin})`),
  ];
  const rows = [
    `${file}: ${plain === null ? '' : 'the configuration, '}${contentWords(survey)}. Only you can read it.`,
    'Tokens are not in it: after its restore on another machine each account signs in once.',
    leftOut.length > 0 && 'Left out. Keep apart what another machine will need:',
    ...leftOut.map((line) => `  ${line}`),
    damaged.length > 0 && `Left out, since it cannot be read: ${damaged.join(', ')}.`,
  ];
  printLines(rows, io);
  return EXIT.fine;
};

export const restore: Command<'restore'> = async (given, io) => {
  const [file = ''] = given.words;
  mustBeAnswerable('restore', given, io);
  const isDone = await withBackup(file, (opened) => restoreFrom(opened, given, io));
  if (isDone)
    io.out('Restored. `heat2mqtt check` tells what is missing, and `heat2mqtt run` goes on from here.\n');
  return EXIT.fine;
};

/** False: without agreement nothing was changed. */
async function restoreFrom(opened: FileHandle, given: Given<'restore'>, io: Io): Promise<boolean> {
  const [file = ''] = given.words;
  const read = await surveyBackup(opened);
  const strange = [...read.survey.strange.keys()].map(withoutCustomer);
  if (strange.length > 0) {
    const named = `${strange.slice(0, 3).map(shown).join(', ')}, made by heat2mqtt ${shown(read.made_by)}`;
    throw backupUnreadable(named, `what heat2mqtt ${about.version} knows`);
  }
  const plan = await planOf(read, given, io);
  const { stateDir } = plan;
  const { force: isForced = false } = given.options;
  if (await isDaemonRunning(stateDir)) throw alreadyRunning(stateDir);
  // Half of a restore is not what was there before: it must not take the place of the copy of that.
  await finishRestore(stateDir).catch(async (err) => {
    throw await restoreFailed(stateDir, err);
  });
  const before = await readBefore(stateDir, read, given);
  const obstacle = await obstacleIn(stateDir);
  if (obstacle !== null) throw unwritable(stateDir, obstacle);
  if (!isForced && !(await canListenIn(stateDir))) throw mayBeRunning(stateDir);
  printLines(planRows(file, read, plan, before), io);
  if (!(await isAgreed('Restore it?', given, io))) return false;
  const claimed = await claimAlone(stateDir, isForced, io.clock, silentLog());
  try {
    // A daemon may have worked while the question was open: its tokens are used up, its login attempts count.
    await carryOut(opened, plan, read, await readBefore(stateDir, read, given), io);
  } finally {
    await claimed.giveUp();
  }
  return true;
}

/** `plain`: the configuration without secrets, and their keys. `survey` sees what is in the state directory. */
function packed(
  stateDir: string,
  survey: Survey,
  { clock }: Io,
  plain: ReturnType<typeof withoutSecrets> | null = null,
): AsyncIterable<Buffer> {
  const head = {
    made_at: iso(clock.now()),
    made_by: about.version,
    config: plain?.text ?? null,
    secrets_taken: [...(plain?.taken ?? [])],
  };
  return pack(head, plainDocuments(stateDir, survey));
}

/** `2 meters with 1204 days`, for a sentence. */
const contentWords = ({ meters, days }: Survey): string =>
  `${meters} ${meters === 1 ? 'meter' : 'meters'} with ${days} days`;

/** The places of everything. An existing configuration stays unless forced, and its state directory is taken in any case. */
async function planOf({ config, secrets_taken }: BackupHead, { options }: Given<'restore'>, { env }: Io) {
  const named = options.config ?? (env.HEAT2MQTT_CONFIG || undefined);
  const configPath = named ?? findConfigFile(undefined, env, existsSync) ?? 'config.yaml';
  const there = existsSync(configPath) ? await readConfigText(configPath) : null;
  const isWritten = config !== null && (there === null || options.force);
  const obstacle = isWritten ? await obstacleIn(dirname(configPath)) : null;
  if (obstacle !== null) throw unwritable(configPath, obstacle);
  const usualDir = outlineOf(there ?? config, configPath, env).stateDir;
  const isMoved = isWritten && there === null && (await obstacleIn(usualDir)) !== null;
  const hasOwnDir = there !== null || isMoved;
  const changed = (text: string) => withStateDir(text, configPath, isMoved ? './state' : usualDir);
  const text = isWritten ? (hasOwnDir ? changed(config) : config) : null;
  const { stateDir, files, hasFleet } = outlineOf(text ?? there, configPath, env);
  if (hasFleet)
    refuseInFleet({}, 'restore', '`heat2mqtt accounts import --from-state DIR` moves a household into it');
  const missing = files.filter((each) => !existsSync(pathIn(configPath, each)));
  const replaced = there === null ? '' : `; the one that is there becomes ${configPath}.before-restore`;
  const stays = there === null ? 'there is none' : `${configPath} stays as it is`;
  return {
    stateDir,
    /** Why it is not the folder of the backup, in words. */
    moved: isMoved ? `, since ${shown(usualDir)} cannot be written here` : '',
    configPath,
    /** What becomes of the configuration, in words. */
    configuration: text === null ? stays : `${configPath}, without secrets${replaced}`,
    /** The configuration to be written; `null`: none is. */
    text,
    /** Missing files that the configuration names: passwords and certificates. */
    missing: [...missing, ...(text === null ? [] : secrets_taken)],
  };
}

type Plan = Awaited<ReturnType<typeof planOf>>;

/** The reason why this user can neither write there nor make it, as the system calls it; `null`: nothing is in the way. */
async function obstacleIn(path: string): Promise<string | null> {
  let nearest = resolve(path);
  while (!existsSync(nearest)) nearest = dirname(nearest);
  return mkdtemp(join(nearest, '.heat2mqtt-'))
    .then(rmdir)
    .then(() => null)
    .catch(({ code }: NodeJS.ErrnoException) => code ?? 'unknown error');
}

/** The documents in the state directory now. Rejects with state_newer, unless forced. */
async function readBefore(
  stateDir: string,
  { made_at }: BackupHead,
  { options }: Given<'restore'>,
): Promise<StateBefore> {
  const before = await StateBefore.of(stateDir);
  if (options.force) return before;
  const newer = (why: string) => {
    const message = `The state directory is newer than the backup: ${stateDir} ${why}.`;
    return refusal('state_newer', message, 'Nothing was changed. --force replaces it all the same.');
  };
  const { strange, newestAt } = before.survey;
  const [name] = strange.keys();
  if (name !== undefined)
    throw newer(`has ${withoutCustomer(name)}.json, which this version does not understand`);
  if (newestAt > Date.parse(made_at))
    throw newer(`was filled at ${iso(newestAt)}, and the backup was made at ${made_at}`);
  return before;
}

const iso = (instant: number): string => new Date(instant).toISOString();

/** The name of what was there, in the state directory. */
const BEFORE = 'before-restore.gz';

type Read = Awaited<ReturnType<typeof surveyBackup>>;

function planRows(file: string, { survey, made_at, made_by }: Read, plan: Plan, before: StateBefore) {
  const { stateDir, moved, configPath, configuration, missing } = plan;
  const { names, strange } = before.survey;
  const ids = [...survey.names].flatMap((name) => /^accounts\/([^/]+)\//.exec(name)?.[1] ?? []);
  const signingIn = [...new Set(ids)].filter((id) => !names.has(`accounts/${id}/tokens`));
  const replaced = names.size === 0 ? '' : `, in the place of what is there; that is kept as ${BEFORE} in it`;
  return [
    `${file}: made at ${made_at} by heat2mqtt ${shown(made_by)}, ${contentWords(survey)}`,
    `  state: into ${shown(stateDir)}${moved}${replaced}`,
    ...[...strange].map(
      ([name, ending]) => `  not understood, kept apart: ${withoutCustomer(name)}.json, as .${ending}`,
    ),
    `  configuration: ${configuration}`,
    ...missing.map((each) => `  to be brought from the old machine, it is not there: ${shown(each)}`),
    missing.some((each) => each.startsWith('/')) &&
      `  (or to be put elsewhere, and the path changed in ${configPath})`,
    ...signingIn.map((id) => `  signs in once: ${id} (with its password, or by \`heat2mqtt login\`)`),
  ];
}

/** The state last and at once: after a failure before that, another try begins again. */
async function carryOut(
  opened: FileHandle,
  plan: Plan,
  read: Read,
  before: StateBefore,
  io: Io,
): Promise<void> {
  const { stateDir, configPath, text } = plan;
  // A restore that is repeated has nothing new to keep.
  if (before.survey.names.size > 0 && !before.isSameAfter(read.survey)) await keepBefore(stateDir, io);
  const old = await readFile(configPath, 'utf8').catch(() => null);
  if (text !== null && old !== text) {
    if (old !== null) await write(`${configPath}.before-restore`, old);
    await write(configPath, text);
  }
  try {
    for (const [name, ending] of before.survey.strange)
      await setAside(join(stateDir, `${name}.json`), ending);
    await replaceDocuments(stateDir, before.restored(opened));
  } catch (err) {
    throw err instanceof Failure ? err : await restoreFailed(stateDir, err as NodeJS.ErrnoException);
  }
}

const UNFINISHED =
  'The restore has begun and is not finished. Check free space, owner and permissions. Then the next start of heat2mqtt finishes it, and so does the same restore.';
const NOTHING_REPLACED =
  'No document of the state directory was replaced. Check free space, owner and permissions, and restore again.';

/** It has failed before anything was changed, or in the middle. */
async function restoreFailed(stateDir: string, cause: NodeJS.ErrnoException): Promise<Failure> {
  const fault = stateUnwritable(shown(stateDir), cause);
  // A fault of ours is found by its stack, and advice about a link is what it takes.
  if (cause.code === undefined || cause.code === 'ELOOP') return fault;
  const [code, hint] = (await isRestoreUnderWay(stateDir))
    ? ['restore_unfinished', UNFINISHED]
    : [fault.code, NOTHING_REPLACED];
  return refusal(code, fault.message, hint, EXIT.unexpected);
}

/** A copy that could not be restored is none, and without one nothing is changed. */
async function keepBefore(stateDir: string, io: Io): Promise<void> {
  const survey = new Survey();
  const file = join(stateDir, BEFORE);
  await write(file, packed(stateDir, survey, io));
  const copy = await withBackup(file, surveyBackup);
  if (!copy.survey.hasSame(survey.marks))
    throw refusal('copy_unreadable', `${shown(file)} is not what was written to it.`, NOT_KEPT);
}

const NOT_KEPT = 'Nothing was changed, since what is there could not be kept. Look at the disk.';

const write = (path: string, content: Content): Promise<void> =>
  writeFile(path, content).catch((err) => {
    throw err instanceof TooLarge ? backupTooLarge(path, err) : err;
  });

/** It could not be read again. */
const backupTooLarge = (path: string, { found, allowed }: TooLarge) =>
  refusal(
    'backup_too_large',
    `${shown(path)} cannot be written: found ${found}; allowed: ${allowed}.`,
    'Nothing was changed. Copy the state directory itself, while nothing runs.',
  );
