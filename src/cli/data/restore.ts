// heat2mqtt restore: puts a backup in the place of what is in the state directory, after asking.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { findConfigFile } from '../../config/load.ts';
import { decodeText } from '../../config/secrets/secrets.ts';
import { filesIn, isOfFleet, stateDirOf, withStateDir } from '../../config/transfer.ts';
import { about } from '../../foundation/about.ts';
import { EXIT, Failure } from '../../foundation/failure.ts';
import { createScrubber } from '../../foundation/log.ts';
import { BackupUnreadable, type OpenBackup, pack, readBackup, type Secrets } from '../../store/backup.ts';
import { AlreadyRunning, claimDirectory, isDaemonRunning } from '../../store/onlyDaemon.ts';
import { replace } from '../../store/privateFiles.ts';
import { finishRestore } from '../../store/restoring.ts';
import {
  type Documents,
  loginBudgetsIn,
  notUnderstood,
  plainPart,
  readDocuments,
  replaceDocuments,
  summary,
  tokensIn,
} from '../../store/snapshot.ts';
import { StateUnwritable } from '../../store/stateDirectory.ts';
import { type Arguments, type Command, type Io, WrongUsage } from '../command.ts';
import { openSilentLog, refuseInFleet } from '../settings.ts';
import { contentWords, fileOf } from './backup.ts';
import { knownPassphrase } from './passphrase.ts';

/** What is there is newer than the backup. */
class StateNewer extends Failure {
  readonly code = 'state_newer';
  readonly exitCode = EXIT.usage;

  constructor(directory: string, why: string) {
    super(`The state directory is newer than the backup: ${directory} ${why}.`, {
      retry: 'never',
      hint: 'Nothing was changed. --force replaces it all the same.',
    });
  }
}

/** Where everything goes. */
interface Plan {
  readonly stateDir: string;
  /** `null`: none is written. */
  readonly config: { readonly path: string; readonly text: string; readonly isThere: boolean } | null;
  /** The configuration that is there and stays. */
  readonly staying: string | null;
  /** Those that the configuration names and that are not there yet, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** The same, where there is no folder for them. */
  readonly homeless: readonly string[];
}

/** Its name in the state directory. It is a plain backup. */
const BEFORE = 'before-restore.gz';

export const restore: Command = async (given, io) => {
  const { options } = given;
  const file = fileOf(given, 'restore');
  if (!options.yes && !io.isInteractive)
    throw new WrongUsage('restore asks once, and nobody sits at the input: it then needs --yes.');
  const backup = await readBackup(file);
  const secrets = backup.isSealed ? await secretsOf(backup, given, io) : null;
  const strange = notUnderstood({ ...backup.documents, ...secrets?.documents });
  if (strange.length > 0)
    throw new BackupUnreadable(
      `${strange.slice(0, 3).map(shown).join(', ')}, made by heat2mqtt ${shown(backup.madeBy)}`,
      `what heat2mqtt ${about.version} knows`,
    );
  const plan = await planOf(backup, secrets, given, io);
  const { stateDir } = plan;
  if (await isDaemonRunning(stateDir)) throw new AlreadyRunning(stateDir);
  await finishRestore(stateDir).catch(() => undefined);
  const before = await readDocuments(stateDir, io.clock);
  if (!options.force) refuseNewer(stateDir, before, backup.madeAt);
  tell(file, backup, { plan, secrets, before }, io);
  if (!options.yes && !/^y(es)?$/i.test((await io.ask('Restore it? [y/N] '))?.trim() ?? '')) {
    io.out('Nothing was changed.\n');
    return EXIT.fine;
  }
  await carryOut(plan, { ...backup.documents, ...secrets?.documents }, io, (found) => {
    if (!options.force) refuseNewer(stateDir, found, backup.madeAt);
  });
  io.out('Restored. `heat2mqtt check` tells what is missing, and `heat2mqtt run` goes on from here.\n');
  return EXIT.fine;
};

/** `null`: the person has no passphrase. */
async function secretsOf(backup: OpenBackup, given: Arguments, io: Io): Promise<Secrets | null> {
  const passphrase = await knownPassphrase(given, io);
  return passphrase === '' ? null : backup.unseal(passphrase);
}

async function planOf(
  backup: OpenBackup,
  secrets: Secrets | null,
  { options }: Arguments,
  { env }: Io,
): Promise<Plan> {
  const named = typeof options.config === 'string' ? options.config : env.HEAT2MQTT_CONFIG || undefined;
  const found =
    named !== undefined && !existsSync(named) ? undefined : findConfigFile(named, env, existsSync);
  const path = found ?? named ?? 'config.yaml';
  const isThere = found !== undefined;
  const stored = secrets?.config ?? backup.config;
  const there = isThere ? decodeText(await readFile(path)) : null;
  const isWritten = stored !== null && (there === null || options.force === true);
  // A configuration may be replaced; its state directory is where the state was asked to go.
  const replacing = (text: string) =>
    there === null ? text : withStateDir(text, path, stateDirOf(there, path, env));
  const text = isWritten ? replacing(stored) : there;
  if (text !== null && isOfFleet(text, path, env))
    refuseInFleet({}, 'restore', '`heat2mqtt accounts import --from-state` moves a household into it');
  const files = text === null ? [] : filesIn(text, path);
  const absent = Object.entries(secrets?.files ?? {}).filter(
    ([name]) => files.includes(name) && !existsSync(name),
  );
  return {
    stateDir: stateDirOf(text, path, env),
    config: isWritten && text !== null ? { path, text, isThere } : null,
    staying: isThere && !isWritten ? path : null,
    files: Object.fromEntries(absent.filter(([name]) => hasFolder(name))),
    homeless: absent.flatMap(([name]) => (hasFolder(name) ? [] : [name])),
  };
}

function refuseNewer(stateDir: string, before: Documents, madeAt: number): void {
  const [strange] = notUnderstood(before);
  if (strange !== undefined)
    throw new StateNewer(stateDir, `has ${strange}.json, which this version does not understand`);
  const { newestAt } = summary(before);
  if (newestAt > madeAt)
    throw new StateNewer(
      stateDir,
      `was filled at ${new Date(newestAt).toISOString()}, and the backup was made at ${new Date(madeAt).toISOString()}`,
    );
}

function tell(
  file: string,
  { documents, madeAt, madeBy, isSealed }: OpenBackup,
  { plan, secrets, before }: { plan: Plan; secrets: Secrets | null; before: Documents },
  io: Io,
): void {
  const { stateDir, config, staying, files, homeless } = plan;
  const sealedWords = secrets ? ', with secrets' : isSealed ? ', its secrets left out' : ', without secrets';
  const isEmpty = Object.keys(before).length === 0;
  const rows = [
    `${file}: made at ${new Date(madeAt).toISOString()} by heat2mqtt ${shown(madeBy)}, ${contentWords(documents)}${sealedWords}`,
    `  state: into ${shown(stateDir)}${isEmpty ? '' : `, in the place of what is there; that is kept as ${BEFORE} in it`}`,
    config === null
      ? `  configuration: ${staying === null ? 'there is none' : `${staying} stays as it is`}`
      : `  configuration: ${config.path}${config.isThere ? `; the one that is there becomes ${config.path}.before-restore` : ''}`,
    ...Object.keys(files).map((name) => `  secret: ${shown(name)}`),
    ...homeless.map((name) => `  not written, since its folder is not there: ${shown(name)}`),
    ...(secrets === null && Object.keys(tokensIn(before)).length === 0
      ? ['  without tokens: the account is logged in once']
      : []),
  ];
  io.out(rows.map((row) => `${row}\n`).join(''));
}

/** The state last and at once: whatever fails before that, another try begins anew. */
async function carryOut(
  { stateDir, config, files }: Plan,
  restored: Documents,
  io: Io,
  refuse: (before: Documents) => void,
) {
  const giveUp = await claimDirectory(stateDir, await openSilentLog(createScrubber(), io));
  try {
    // A daemon may have worked while the question was open: its tokens are used up, its login attempts count.
    const before = await readDocuments(stateDir, io.clock);
    refuse(before);
    const documents = {
      // Without secrets the session that is there goes on; and neither a refused login nor its wait is forgotten.
      ...tokensIn(before),
      ...restored,
      ...loginBudgetsIn(before),
    };
    for (const [name, content] of Object.entries(files)) await write(name, content);
    if (config) await writeConfig(config);
    const old = { madeAt: io.clock.now(), madeBy: about.version, config: null, documents: plainPart(before) };
    // Of a restore that is repeated nothing new has to be kept: what was there before the first is.
    const isSame = isDeepStrictEqual(plainPart(before), plainPart(documents));
    if (Object.keys(before).length > 0 && !isSame) await write(join(stateDir, BEFORE), pack(old, null));
    await replaceDocuments(stateDir, documents).catch((err) => {
      throw new StateUnwritable(stateDir, err);
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
    throw new WrongUsage(`${shown(path)} cannot be written (${err.code}).`);
  });

const hasFolder = (path: string): boolean => existsSync(dirname(resolve(path)));

/** Text of a file that anybody may have made. */
const shown = (text: string): string => text.slice(0, 200).replace(/\p{Cc}/gu, ' ');
