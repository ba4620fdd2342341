// What of a configuration file goes into a backup and comes out of it: its text without secrets, and the files it names.
import { isAlias, isScalar, type Pair, parseDocument, type Scalar, visit } from 'yaml';
import { createScrubber, type Scrubber } from '../foundation/log.ts';
import { Faults } from './faults.ts';
import { allKeys, schemaAt } from './keys.ts';
import { ConfigInvalid } from './load.ts';
import { leaves, type RawConfig, textAt } from './rawConfig.ts';
import { fileSchema } from './schema.ts';
import { applyEnvironment, type Environment } from './sources/environment.ts';
import { parseYaml } from './sources/yamlText.ts';

const LEFT_OUT = 'left out of the backup';
/** In front of the host of an address, in a comment. */
const PASSWORD_IN_COMMENT = /([a-z][\w+.-]*:\/\/[^\s/?#:@]*:)[^\s/?#]*@/gi;

/** In front of the host of an address. */
const PASSWORD_IN_ADDRESS = /^([a-z][\w+.-]*:\/\/[^/?#:@]*):[^/?#]*@/i;

/**
 * The text with its inline secrets taken out, and their keys. A comment stands in the place of each; all else stays, but
 * for secrets in comments: known ones, and those of a line that is put out of use. Fails with ConfigInvalid; `name` is the file's.
 */
export function withoutSecrets(
  text: string,
  name: string,
  scrubber: Scrubber,
): { readonly text: string; readonly taken: readonly string[] } {
  rawOf(text, name);
  const files = new Set(allKeys().map(({ path }) => path.at(-1) ?? ''));
  const isSecret = ({ key }: Pair) => isScalar(key) && files.has(`${key.value}_file`);
  const secretKeys = [...files].flatMap((key) => (files.has(`${key}_file`) ? [key] : []));
  // A line that somebody has put out of use.
  const commentedOut = new RegExp(
    `(\\b(?:${secretKeys.join('|')})['"]?[ \\t]*:[ \\t]+)(?!${LEFT_OUT})\\S.*`,
    'g',
  );
  const document = parseDocument(text);
  const taken: string[] = [];
  let isChanged = false;
  const hide = (comment: string | null | undefined) => {
    if (comment == null) return null;
    const hidden = scrubber
      .scrub(comment)
      .replace(commentedOut, '$1[secret]')
      .replace(PASSWORD_IN_COMMENT, '$1[secret]@');
    isChanged ||= hidden !== comment;
    return hidden;
  };
  visit(document, {
    Map(_, map) {
      const secrets = map.items.filter(isSecret);
      if (secrets.length === 0) return;
      map.items = map.items.filter((pair) => !isSecret(pair));
      const words = secrets.flatMap(({ key, value }) => [
        (key as Scalar).commentBefore,
        (value as Scalar | null)?.comment,
        ` ${key}: ${LEFT_OUT}; write it here, or its file as ${key}_file`,
      ]);
      map.comment = [map.comment, ...words].filter(Boolean).join('\n');
      taken.push(...secrets.map(({ key }) => String(key)));
    },
    Scalar(_, scalar) {
      if (typeof scalar.value !== 'string' || !PASSWORD_IN_ADDRESS.test(scalar.value)) return;
      scalar.value = scalar.value.replace(PASSWORD_IN_ADDRESS, '$1@');
      taken.push('the password in an address');
    },
  });
  visit(document, {
    Node(_, node) {
      if (!isAlias(node)) node.commentBefore = hide(node.commentBefore);
      node.comment = hide(node.comment);
    },
  });
  document.commentBefore = hide(document.commentBefore);
  document.comment = hide(document.comment);
  return { text: isChanged || taken.length > 0 ? document.toString({ lineWidth: 0 }) : text, taken };
}

/** The files that it names: those of secrets, and the certificates. Fails with ConfigInvalid. */
export function filesIn(text: string, name: string): string[] {
  const raw = rawOf(text, name);
  return leaves(raw).flatMap(([path]) => {
    const isOfSecret = path.at(-1)?.endsWith('_file') && schemaAt(path) !== undefined;
    const file = textAt(raw, path);
    return (isOfSecret || schemaAt(path)?.readable) && file ? [file] : [];
  });
}

/**
 * The state directory by this text (`null`: no file) and the environment. Other mistakes do not matter: the secrets may
 * not be there yet. Fails with ConfigInvalid.
 */
export function stateDirOf(text: string | null, name: string, env: Environment): string {
  const raw = text === null ? {} : rawOf(text, name);
  applyEnvironment(raw, env, new Faults());
  const { data, error } = fileSchema.shape.state_dir.safeParse(raw.state_dir);
  if (error || data.includes('\0'))
    throw new ConfigInvalid([
      { path: 'state_dir', found: 'something else', allowed: 'the path of a directory' },
    ]);
  return data;
}

/** The text with this state directory; else as it is. Fails with ConfigInvalid; `name` is the file's. */
export function withStateDir(text: string, name: string, stateDir: string): string {
  if (rawOf(text, name).state_dir === stateDir) return text;
  const document = parseDocument(text);
  document.set('state_dir', stateDir);
  return document.toString({ lineWidth: 0 });
}

/** Whether it is the configuration of a fleet. Fails with ConfigInvalid. */
export function isOfFleet(text: string, name: string, env: Environment): boolean {
  const raw = rawOf(text, name);
  applyEnvironment(raw, env, new Faults());
  return raw.fleet !== undefined;
}

function rawOf(text: string, name: string): RawConfig {
  const faults = new Faults();
  const raw = parseYaml(text, name, faults);
  if (raw === undefined) throw new ConfigInvalid(faults.all(createScrubber()));
  return raw;
}
