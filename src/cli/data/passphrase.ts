// The passphrase of a backup: from a file, or typed on a terminal without being shown.
import { readFile } from 'node:fs/promises';
import { readSecretFile, SecretUnreadable } from '../../config/secrets/secrets.ts';
import { type Arguments, type Io, WrongUsage, wrongOption } from '../command.ts';

const FEWEST_CHARACTERS = 8;

/** A new one, typed twice. Rejects with WrongUsage. */
export async function newPassphrase({ options }: Arguments, io: Io): Promise<string> {
  const given = await passphraseFrom(options['passphrase-file'], 'Passphrase for the secrets', io);
  if (given.length < FEWEST_CHARACTERS)
    throw new WrongUsage(`The passphrase is too short: at least ${FEWEST_CHARACTERS} characters.`);
  if (options['passphrase-file'] === undefined && (await io.ask('The same again: ', true)) !== given)
    throw new WrongUsage('The two passphrases differ: nothing was written.');
  return given;
}

/** Of a backup that there is; empty: the person has none. Rejects with WrongUsage. */
export const knownPassphrase = ({ options }: Arguments, io: Io): Promise<string> =>
  passphraseFrom(options['passphrase-file'], 'Passphrase of its secrets (Enter: restore without them)', io);

async function passphraseFrom(file: unknown, question: string, io: Io): Promise<string> {
  if (typeof file === 'string')
    return readSecretFile(file, readFile).catch((err) => {
      if (!(err instanceof SecretUnreadable)) throw err;
      throw wrongOption('--passphrase-file', err.found, 'a readable file with the passphrase');
    });
  if (!io.isInteractive)
    throw new WrongUsage(
      'The passphrase is asked for, and nobody sits at the input: --passphrase-file FILE.',
    );
  const typed = await io.ask(`${question}: `, true);
  if (typed === null) throw new WrongUsage('Ended before the passphrase: nothing was changed.');
  return typed;
}
