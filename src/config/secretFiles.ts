// The files that a configuration names, and those in $CREDENTIALS_DIRECTORY: secrets, certificates, and the state directory.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AUTHORITIES, certificatesIn } from '../foundation/authorities.ts';
import { type Draft, isMapping } from './draft.ts';
import { keyOf } from './environment.ts';
import * as keys from './keys.ts';
import * as secrets from './secret.ts';

/**
 * Puts whole paths in the place of relative ones, and each secret as a Secret in the place of the key that it comes from. Text of
 * a wrong form stays, for the schema to refuse.
 */
export async function readFiles(draft: Draft, readFile: secrets.ReadFile, credentials = ''): Promise<void> {
  await layCredentials(draft, credentials);
  for (const [path, value] of draft.leaves()) {
    if (typeof value !== 'string' || value === '') continue;
    if (keys.isFileKey(path)) await putFile(path, value, draft, readFile);
    else if (keys.isSecret(path)) await putSecret(path, secrets.trimNewline(value), draft);
    else if (path.join() === 'state_dir') draft.put(path, draft.locate(path, value));
  }
}

async function putSecret(path: keys.Path, value: string, draft: Draft): Promise<void> {
  const name = path.at(-1) ?? '';
  const origin = draft.originOf(path) === 'file' ? 'inline' : draft.originOf(path);
  const secret = new secrets.Secret(origin, async () => value, draft.scrubber, secrets.formOf(name));
  const looked = await secret.look();
  if (draft.isGiven(keys.fileKeyOf(path))) draft.refuse(path, 'one of them', `both ${name} and ${name}_file`);
  else if ('value' in looked) draft.put(path, secret);
}

async function putFile(key: keys.Path, given: string, draft: Draft, readFile: secrets.ReadFile) {
  const path = keys.mainKeyOf(key);
  const file = draft.locate(key, given);
  const refuse = (found: string, allowed: string) => {
    // Without a folder that exists it may be a password that was put into the wrong key.
    const isPath =
      /^\.\.?\//.test(given) || (!['.', '/'].includes(dirname(given)) && existsSync(dirname(given)));
    const isBare = !given.includes('/') && found === secrets.NO_SUCH_FILE;
    const where = isBare ? ` of this name in ${dirname(file)}` : '';
    const which = isPath || !keys.isSecret(path) ? `: ${JSON.stringify(file)}` : where;
    draft.refuse(key, allowed, found + which + draft.variableWords(key));
  };
  if (!keys.isSecret(path)) {
    draft.put(key, file);
    const content = await readFile(file).then(Buffer.from, secrets.whyUnreadable);
    if (typeof content === 'string') refuse(content, 'the path of a readable file');
    else if (key.at(-1) === 'ca_file') lookForAuthorities(key, content, draft, refuse);
  } else if (!draft.isGiven(path)) {
    const form = secrets.formOf(path.at(-1) ?? '');
    const read = async () => secrets.trimNewline(secrets.decodeText(await readFile(file)));
    const secret = new secrets.Secret(`file ${file}`, read, draft.scrubber, form, file);
    const looked = await secret.look();
    if ('found' in looked) refuse(looked.found, `the path of a readable file that holds ${form.allowed}`);
    draft.put(path, secret, draft.originOf(key));
    draft.remove(key);
  }
}

function lookForAuthorities(
  key: keys.Path,
  content: Buffer,
  draft: Draft,
  refuse: (found: string, allowed: string) => void,
): void {
  const looked = certificatesIn(content);
  if (!('found' in looked)) return;
  // Nothing is verified then: such a file was never of use, and does no harm.
  const isUnused = draft.at([...key.slice(0, -1), 'reject_unauthorized']) === false;
  if (isUnused) draft.warnings.push(`${key.join('.')} holds ${looked.found}: it is not used.`);
  else refuse(looked.found, AUTHORITIES);
}

/** Files in $CREDENTIALS_DIRECTORY, called like variables without HEAT2MQTT_ or by an account's id. Whatever else is given wins. */
async function layCredentials(draft: Draft, directory: string): Promise<void> {
  // Where there is none, or it cannot be listed, the secrets that are missing for that are named one by one.
  const entries = await readdir(directory).catch(() => []);
  const { accounts } = draft.raw;
  const numbers = Array.isArray(accounts) ? Array.from(accounts, (_, n) => `${n}`) : [];
  const byId = new Map<string, keys.Path>();
  for (const key of ['password', 'totp_secret'])
    for (const n of numbers)
      byId.set(plainName(`${draft.textAt(['accounts', n, 'id']) ?? 'home'}_${key}`), ['accounts', n, key]);
  // The most particular name counts.
  for (const entry of entries.sort((a, b) => b.length - a.length)) {
    const name = plainName(entry).replace(/^heat2mqtt_/, '');
    const path = keyOf(keys.variableOf([name]))?.path ?? byId.get(name) ?? [];
    const isOfSingle = path.at(-1) === name;
    if (!keys.isSecret(path) || !isMapping(draft.at(path.slice(0, -1)))) continue;
    if (!(isOfSingle && numbers.length > 1) && !draft.isGiven(keys.fileKeyOf(path)))
      draft.lay(keys.fileKeyOf(path), join(directory, entry), 'credentials directory');
  }
}

const plainName = (name: string): string => name.toLowerCase().replace(/[.-]/g, '_');
