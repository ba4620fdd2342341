// heat2mqtt restore: puts a backup in the place of what is in the state directory, after asking.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { findConfigFile } from '../config/load.ts';
import { pathIn } from '../config/relativePaths.ts';
import { decodeText } from '../config/secret.ts';
import { filesIn, isOfFleet, stateDirOf, withStateDir } from '../config/transfer.ts';
import { about } from '../foundation/about.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { createScrubber } from '../foundation/log.ts';
import { type Backup, backupUnreadable, pack, readBackup } from '../store/backup.ts';
import { alreadyRunning, claimDirectory, isDaemonRunning } from '../store/locks.ts';
import { replace } from '../store/privateFiles.ts';
import { finishRestore } from '../store/restoring.ts';
import {
  type Documents,
  loginBudgetsIn,
  notUnderstood,
  plainPart,
  readDocuments,
  replaceDocuments,
  summary,
  tokensIn,
} from '../store/snapshot.ts';
import { stateUnwritable } from '../store/stateDirectory.ts';
import { contentWords, fileOf } from './backup.ts';
import { type Arguments, type Command, type Io, isAgreed, mustBeAnswerable, wrongUsage } from './command.ts';
import { openSilentLog, refuseInFleet } from './settings.ts';

/** What is there is newer than the backup. */
const stateNewer = (directory: string, why: string) =>
  failure('state_newer', `The state directory is newer than the backup: ${directory} ${why}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'Nothing was changed. --force replaces it all the same.',
  });

/** Where everything goes. */
interface Plan {
  readonly stateDir: string;
  /** `null`: none is written. */
  readonly config: { readonly path: string; readonly text: string; readonly isThere: boolean } | null;
  /** The configuration that is there and stays. */
  readonly staying: string | null;
  /** Files that the configuration names and that are not there: passwords, certificates. */
  readonly missing: readonly string[];
}

/** Its name in the state directory. */
const BEFORE = 'before-restore.gz';

export const restore: Command = async (given, io) => {
  const file = fileOf(given, 'restore');
  mustBeAnswerable('restore', given, io);
  const backup = await readBackup(file);
  const strange = notUnderstood(backup.documents);
  if (strange.length > 0)
    throw backupUnreadable(
      `${strange.slice(0, 3).map(shown).join(', ')}, made by heat2mqtt ${shown(backup.madeBy)}`,
      `what heat2mqtt ${about.version} knows`,
    );
  const plan = await planOf(backup, given, io);
  const { stateDir } = plan;
  if (await isDaemonRunning(stateDir)) throw alreadyRunning(stateDir);
  await finishRestore(stateDir).catch(() => undefined);
  const before = await readDocuments(stateDir, io.clock);
  const refuseNewer = (found: Documents) => {
    if (!given.options.force) refuseIfNewer(stateDir, found, backup.madeAt);
  };
  refuseNewer(before);
  io.out(
    planRows(file, backup, plan, before)
      .map((row) => `${row}\n`)
      .join(''),
  );
  if (!(await isAgreed('Restore it?', given, io))) {
    io.out('Nothing was changed.\n');
    return EXIT.fine;
  }
  await carryOut(plan, backup, io, refuseNewer);
  io.out('Restored. `heat2mqtt check` tells what is missing, and `heat2mqtt run` goes on from here.\n');
  return EXIT.fine;
};

/** A configuration that is there stays unless forced. Its state directory is where the state was asked to go. */
async function planOf(backup: Backup, { options }: Arguments, { env }: Io): Promise<Plan> {
  const named = typeof options.config === 'string' ? options.config : env.HEAT2MQTT_CONFIG || undefined;
  const found =
    named !== undefined && !existsSync(named) ? undefined : findConfigFile(named, env, existsSync);
  const path = found ?? named ?? 'config.yaml';
  const there = found === undefined ? null : decodeText(await readFile(path));
  const isWritten = backup.config !== null && (there === null || options.force === true);
  const stays = there ?? backup.config;
  const text =
    isWritten && backup.config !== null && there !== null
      ? withStateDir(backup.config, path, stateDirOf(there, path, env))
      : stays;
  if (text !== null && isOfFleet(text, path, env))
    refuseInFleet({}, 'restore', '`heat2mqtt accounts import --from-state DIR` moves a household into it');
  return {
    stateDir: stateDirOf(text, path, env),
    config: isWritten && text !== null ? { path, text, isThere: there !== null } : null,
    staying: there !== null && !isWritten ? path : null,
    missing: text === null ? [] : filesIn(text, path).filter((each) => !existsSync(pathIn(path, each))),
  };
}

function refuseIfNewer(stateDir: string, before: Documents, madeAt: number): void {
  const [strange] = notUnderstood(before);
  if (strange !== undefined)
    throw stateNewer(stateDir, `has ${strange}.json, which this version does not understand`);
  const { newestAt } = summary(before);
  if (newestAt > madeAt)
    throw stateNewer(
      stateDir,
      `was filled at ${new Date(newestAt).toISOString()}, and the backup was made at ${new Date(madeAt).toISOString()}`,
    );
}

function planRows(file: string, backup: Backup, plan: Plan, before: Documents): string[] {
  const { documents, madeAt, madeBy } = backup;
  const { stateDir, config, staying, missing } = plan;
  const isEmpty = Object.keys(before).length === 0;
  const accounts = new Set(
    Object.keys(documents).flatMap((name) => /^accounts\/([^/]+)\//.exec(name)?.[1] ?? []),
  );
  const signingIn = [...accounts].filter((id) => !(`accounts/${id}/tokens` in before));
  return [
    `${file}: made at ${new Date(madeAt).toISOString()} by heat2mqtt ${shown(madeBy)}, ${contentWords(documents)}`,
    `  state: into ${shown(stateDir)}${isEmpty ? '' : `, in the place of what is there; that is kept as ${BEFORE} in it`}`,
    config === null
      ? `  configuration: ${staying === null ? 'there is none' : `${staying} stays as it is`}`
      : `  configuration: ${config.path}, without secrets${config.isThere ? `; the one that is there becomes ${config.path}.before-restore` : ''}`,
    ...missing.map((each) => `  to be brought from the old machine, it is not there: ${shown(each)}`),
    ...signingIn.map((id) => `  signs in once: ${id} (with its password, or by \`heat2mqtt login\`)`),
  ];
}

/** The state last and at once: after a failure before that, another try begins anew. */
async function carryOut(
  { stateDir, config }: Plan,
  backup: Backup,
  io: Io,
  refuseNewer: (before: Documents) => void,
): Promise<void> {
  const giveUp = await claimDirectory(stateDir, io.clock, await openSilentLog(createScrubber(), io));
  try {
    // A daemon may have worked while the question was open: its tokens are used up, its login attempts count.
    const before = await readDocuments(stateDir, io.clock);
    refuseNewer(before);
    // The session that is there goes on; and neither a refused login nor its wait is forgotten.
    const documents = { ...tokensIn(before), ...backup.documents, ...loginBudgetsIn(before) };
    if (config) await writeConfig(config);
    // A restore that is repeated has nothing new to keep.
    const isSame = isDeepStrictEqual(plainPart(before), plainPart(documents));
    if (Object.keys(before).length > 0 && !isSame) {
      const kept = {
        madeAt: io.clock.now(),
        madeBy: about.version,
        config: null,
        documents: plainPart(before),
      };
      await write(join(stateDir, BEFORE), pack(kept));
    }
    await replaceDocuments(stateDir, documents).catch((err) => {
      throw stateUnwritable(stateDir, err);
    });
  } finally {
    await giveUp();
  }
}

async function writeConfig({ path, text, isThere }: NonNullable<Plan['config']>): Promise<void> {
  const old = isThere ? await readFile(path) : null;
  if (old?.equals(Buffer.from(text))) return;
  if (old) await write(`${path}.before-restore`, old);
  await write(path, text);
}

const write = (path: string, content: string | Buffer): Promise<void> =>
  replace(resolve(path), content).catch((err: NodeJS.ErrnoException) => {
    throw wrongUsage(`${shown(path)} cannot be written (${err.code}).`);
  });

/** Text of a file that may come from anywhere. */
const shown = (text: string): string => text.slice(0, 200).replace(/\p{Cc}/gu, ' ');
