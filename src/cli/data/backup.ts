// heat2mqtt backup: configuration and state directory in one file, beside a running daemon too.
import { constants, existsSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { sessionLock } from '../../accounts/upstream.ts';
import { decodeText } from '../../config/secrets/secrets.ts';
import { filesIn, withoutSecrets } from '../../config/transfer.ts';
import { about } from '../../foundation/about.ts';
import { EXIT } from '../../foundation/failure.ts';
import { pack, readBackup } from '../../store/backup.ts';
import { replace } from '../../store/privateFiles.ts';
import {
  type Documents,
  loginBudgetsIn,
  notUnderstood,
  plainPart,
  readDocuments,
  summary,
  tokensIn,
} from '../../store/snapshot.ts';
import { StateDirectory } from '../../store/stateDirectory.ts';
import { type Arguments, type Command, type Io, WrongUsage } from '../command.ts';
import { loadSettings, openSilentLog, refuseInFleet, type Settings } from '../settings.ts';
import { newPassphrase } from './passphrase.ts';

export const backup: Command = async (given, io) => {
  const { options } = given;
  const file = fileOf(given, 'backup');
  const withSecrets = options['with-secrets'] === true;
  if (options['passphrase-file'] !== undefined && !withSecrets)
    throw new WrongUsage('--passphrase-file is for --with-secrets.');
  const settings = await loadSettings(given, io);
  refuseInFleet(settings.config.fleet, 'backup', 'back up its database, and fleet.key apart from it');
  await refuseUnwritable(file, options.force === true);
  const passphrase = withSecrets ? await newPassphrase(given, io) : null;
  const text = settings.path === undefined ? null : decodeText(await readFile(settings.path));
  const plain = text === null ? null : withoutSecrets(text, settings.path ?? '', settings.scrubber);
  const files = text === null ? [] : filesIn(text, settings.path ?? '');
  const found = await (withSecrets ? withSessions : readState)(settings, io);
  // What is damaged would be of no use, and the daemon sets it aside.
  const damaged = notUnderstood(found);
  const documents = Object.fromEntries(Object.entries(found).filter(([name]) => !damaged.includes(name)));
  const bytes = pack(
    {
      madeAt: io.clock.now(),
      madeBy: about.version,
      config: plain?.text ?? null,
      documents: plainPart(documents),
    },
    passphrase === null
      ? null
      : {
          passphrase,
          content: {
            config: text,
            documents: { ...tokensIn(documents), ...loginBudgetsIn(documents) },
            files: Object.fromEntries(
              await Promise.all(files.map(async (one) => [one, decodeText(await readFile(one))])),
            ),
          },
        },
  );
  await replace(resolve(file), bytes).catch((err: NodeJS.ErrnoException) => {
    throw new WrongUsage(`${file} cannot be written (${err.code}).`);
  });
  const taken = [...new Set(plain?.taken)];
  const elsewhere = [...settings.origins].flatMap(([key, origin]) =>
    /^(environment|credentials)/.test(origin) ? [key] : [],
  );
  const rows = [
    `${file}: ${text === null ? '' : 'the configuration, '}${contentWords(documents)}. Only you can read it.`,
    withSecrets
      ? 'Tokens and secrets are in it, sealed. Without the passphrase nobody can read them, nor can you.'
      : 'Tokens and secrets are not in it: after its restore the account is logged in once.',
    ...(withSecrets || taken.length === 0 ? [] : [`Left out of the configuration: ${taken.join(', ')}.`]),
    ...(withSecrets || files.length === 0 ? [] : [`Not in it: ${files.join(', ')}.`]),
    ...(elsewhere.length === 0 ? [] : [`Not in it, as it comes from outside: ${elsewhere.join(', ')}.`]),
    ...(damaged.length === 0 ? [] : [`Left out, as it cannot be read: ${damaged.join(', ')}.`]),
  ];
  io.out(rows.map((row) => `${row}\n`).join(''));
  return EXIT.fine;
};

/** The one word. Throws WrongUsage. */
export function fileOf({ words }: Arguments, command: string): string {
  const [file, ...rest] = words;
  if (!file || rest.length > 0) throw new WrongUsage(`${command} takes one word: the FILE.`);
  return file;
}

/** `2 meters with 1204 days`, for a sentence. */
export function contentWords(documents: Documents): string {
  const { meters, days } = summary(documents);
  return `${meters} ${meters === 1 ? 'meter' : 'meters'} with ${days} days`;
}

async function refuseUnwritable(file: string, isForced: boolean): Promise<void> {
  if (existsSync(file)) {
    if (!isForced) throw new WrongUsage(`${file} is there already: --force replaces it.`);
    await readBackup(file).catch(() => {
      throw new WrongUsage(`${file} is there and is no backup: it is not replaced.`);
    });
  }
  await access(dirname(resolve(file)), constants.W_OK).catch((err) => {
    throw new WrongUsage(`${file} cannot be written there (${err.code}).`);
  });
}

const readState = ({ config }: Settings, io: Io): Promise<Documents> =>
  readDocuments(config.state_dir, io.clock);

/** No refresh is under way then, after which the tokens on disk would be worth nothing. */
async function withSessions(settings: Settings, io: Io): Promise<Documents> {
  const { accounts, state_dir } = settings.config;
  const state = new StateDirectory(state_dir, await openSilentLog(settings.scrubber, io));
  const locked = accounts.reduce(
    (step, { id }) =>
      () =>
        state.exclusively(sessionLock(id), io.clock, step),
    () => readState(settings, io),
  );
  return locked();
}
