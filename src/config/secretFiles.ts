// The files that a configuration names, and those in $CREDENTIALS_DIRECTORY: secrets, certificates, and the state directory.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AUTHORITIES, certificatesIn } from '../foundation/authorities.ts';
import type { Draft } from './draft.ts';
import { keyOf } from './environment.ts';
import * as keys from './keys.ts';
import * as secrets from './secret.ts';
import { accountsIn, isMapping } from './source.ts';

/**
 * Puts whole paths in the place of relative ones, and each secret as a Secret in the place of the key that it comes from. Text of
 * a wrong form stays, for the schema to refuse.
 */
export async function readFiles(draft: Draft, readFile: secrets.ReadFile, credentials = ''): Promise<void> {
  await addCredentials(draft, credentials);
  for (const [key, value] of draft.leaves()) {
    if (typeof value !== 'string' || value === '') continue;
    if (keys.isSecret(key)) await putSecret(key, value, draft);
    else if (keys.secretKeysOf(key).length > 0) await putSecretFile(key, value, draft, readFile);
    else if (keys.isFileKey(key)) await putCertificates(key, value, draft, readFile);
    else if (key.join() === 'state_dir') draft.put(key, draft.locate(key, value));
  }
}

async function putSecret(key: keys.Path, given: string, draft: Draft): Promise<void> {
  const value = secrets.trimNewline(given);
  const fileKey = keys.fileKeyOf(key);
  const origin = draft.originOf(key) === 'file' ? 'inline' : draft.originOf(key);
  const form = secrets.formOf(key.at(-1) ?? '');
  const secret = new secrets.Secret(origin, async () => value, draft.scrubber, form);
  const looked = await secret.look();
  if (draft.isGiven(fileKey)) draft.refuseBoth(key, draft.nameOf(key), draft.nameOf(fileKey));
  else if ('value' in looked) draft.put(key, secret);
}

async function putSecretFile(fileKey: keys.Path, given: string, draft: Draft, readFile: secrets.ReadFile) {
  const key = keys.mainKeyOf(fileKey);
  if (draft.isGiven(key)) return;
  const file = draft.locate(fileKey, given);
  const form = secrets.formOf(key.at(-1) ?? '');
  const read = async () => secrets.trimNewline(secrets.decodeText(await readFile(file)));
  const secret = new secrets.Secret(`file ${file}`, read, draft.scrubber, form, file);
  const looked = await secret.look();
  if ('found' in looked) {
    const isMissing = looked.found === secrets.NO_SUCH_FILE;
    const found = looked.found + placeWords(given, file, isMissing) + draft.variableWords(fileKey);
    draft.refuse(fileKey, `the path of a readable file that holds ${form.allowed}`, found);
  }
  draft.put(key, secret, draft.originOf(fileKey));
  draft.remove(fileKey);
}

/** Without a folder that exists, what is given may be a password that was put into the wrong key, and is not told. */
function placeWords(given: string, file: string, isMissing: boolean): string {
  const folder = dirname(given);
  const hasFolder = given.includes('/');
  const isPath = /^\.\.?\//.test(given) || (hasFolder && folder !== '/' && existsSync(folder));
  if (isPath) return `: ${JSON.stringify(file)}`;
  return isMissing && !hasFolder ? ` of this name in ${dirname(file)}` : '';
}

async function putCertificates(key: keys.Path, given: string, draft: Draft, readFile: secrets.ReadFile) {
  const file = draft.locate(key, given);
  draft.put(key, file);
  const refuse = (found: string, allowed: string) =>
    draft.refuse(key, allowed, `${found}: ${JSON.stringify(file)}${draft.variableWords(key)}`);
  const content = await readFile(file).then(Buffer.from, secrets.whyUnreadable);
  if (typeof content === 'string') return refuse(content, 'the path of a readable file');
  const looked = certificatesIn(content);
  if (key.at(-1) !== 'ca_file' || !('found' in looked)) return;
  // Nothing is verified then: such a file was never of use, and does no harm.
  const isUnused = draft.at([...key.slice(0, -1), 'reject_unauthorized']) === false;
  if (isUnused) draft.warnings.push(`${key.join('.')} holds ${looked.found}: it is not used.`);
  else refuse(looked.found, AUTHORITIES);
}

/** Files in $CREDENTIALS_DIRECTORY, called like variables without HEAT2MQTT_ or by an account's id. Whatever else is given wins. */
async function addCredentials(draft: Draft, directory: string): Promise<void> {
  // A folder that is missing or cannot be listed is no fault: each secret that is missing for that is named.
  const entries = await readdir(directory).catch(() => []);
  const byId = secretsOfAccounts(draft);
  // The most particular name counts.
  for (const entry of entries.sort((a, b) => b.length - a.length)) {
    const name = plainName(entry).replace(/^heat2mqtt_/, '');
    const key = keyOf(keys.variableOf([name])) ?? byId.get(name) ?? [];
    const isAmbiguous = key.at(-1) === name && accountsIn(draft).length > 1;
    const isUsed = keys.isSecret(key) && isMapping(draft.at(key.slice(0, -1)));
    if (isAmbiguous || !isUsed || keys.secretKeysOf(key).some((either) => draft.isGiven(either))) continue;
    draft.put(keys.fileKeyOf(key), join(directory, entry), 'credentials directory');
  }
}

/** The keys of accounts' secrets by the names that their files may have, such as `home_password`. */
function secretsOfAccounts(draft: Draft): ReadonlyMap<string, keys.Path> {
  const secretsOf = (account: string) =>
    ['password', 'totp_secret'].map((name): [string, keys.Path] => {
      const id = draft.textAt(`${account}.id`) ?? 'home';
      return [plainName(`${id}_${name}`), [...account.split('.'), name]];
    });
  return new Map(accountsIn(draft).flatMap(secretsOf));
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
