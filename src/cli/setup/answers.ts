// The answers so far: the configuration in the making, and the secrets that were typed. Nothing is written before a person agrees.
import { existsSync } from 'node:fs';
import { chmod, readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { commentedConfig } from '../../config/commented.ts';
import { differences, editedText } from '../../config/edits.ts';
import { ConfigInvalid, type Fault } from '../../config/faults.ts';
import { mainKeyOf } from '../../config/keys.ts';
import { type RawConfig, Source } from '../../config/source.ts';
import { readYaml } from '../../config/yamlText.ts';
import { type Io, refusal } from '../command.ts';
import type { Lines } from '../printing.ts';
import { openSettings, type Settings } from '../settings.ts';
import { writeFile } from '../writing.ts';

/** The key that says a secret itself, from that of its file. */
export const inlineKeyOf = (key: string): string => mainKeyOf(key.split('.')).join('.');

/** They are asked for in this order. Later ones are not looked at while an answer is tried. */
const SECTIONS = ['provider', 'usage', 'accounts', 'mqtt', 'home_assistant', 'http', 'web'] as const;
export type Section = (typeof SECTIONS)[number];

const HEADER = `# The configuration of heat2mqtt, written by \`heat2mqtt setup\`. Every other key, with its default:
# docs/configuration.md, or \`heat2mqtt config example\`. To try what you change: \`heat2mqtt check --live\`, or \`heat2mqtt setup\` again.
`;

interface TypedSecret {
  /** The configuration names it so. */
  readonly file: string;
  readonly text: string;
  /** The file that keeps its place, where this one has a number for that. */
  readonly besides: string | null;
}

export class Answers {
  /** The file of the configuration. */
  readonly path: string;
  readonly folder: string;
  readonly #io: Io;
  /** The file; `null`: there is none. */
  #text: string | null;
  /** The configuration of the file, and the same with the answers. */
  #before: Source;
  #config: Source;
  /** Keys are those of their files. A secret whose file the key does not name any more does not count. */
  #secrets = new Map<string, TypedSecret>();

  /** `seed`: what a new file says before the first question. Throws ConfigInvalid. */
  constructor(path: string, text: string | null, seed: RawConfig, io: Io) {
    this.path = path;
    this.folder = dirname(resolve(path));
    this.#io = io;
    this.#text = text;
    this.#before = new Source(text === null ? {} : readYaml(text, path));
    this.#config = new Source(structuredClone(text === null ? seed : this.#before.raw));
    this.#edited();
  }

  get isNew(): boolean {
    return this.#text === null;
  }

  /** `key`: a path such as `mqtt.url`. */
  at(key: string): unknown {
    return this.#config.at(key);
  }

  textAt(key: string): string | undefined {
    return textOf(this.at(key));
  }

  /** Undefined removes the key. A section that is switched on or off makes way for its keys. */
  put(key: string, value: unknown) {
    const path = key.split('.');
    const section = path.slice(0, -1);
    if (value === undefined) return this.#config.remove(path);
    if (typeof this.#config.at(section) === 'boolean') this.#config.put(section, {});
    this.#config.put(path, value);
  }

  remove(...keys: readonly string[]): void {
    for (const key of keys) this.put(key, undefined);
  }

  /** Says where the secret of a key is; undefined: nowhere. `file`: taken if it is there and the key names none. */
  placeOfSecret(key: string, file: string): string | undefined {
    const named = this.textAt(key);
    if (named !== undefined)
      return this.#secrets.get(key)?.file === named ? 'the one before' : `the one in ${named}`;
    if (this.at(inlineKeyOf(key)) !== undefined) return `the one in ${this.path}`;
    return existsSync(resolve(this.folder, file)) ? `the one in ${file}` : undefined;
  }

  /** Takes the secret that `placeOfSecret` has named. */
  takeSecretThere(key: string, file: string): void {
    const isGiven = this.at(key) !== undefined || this.at(inlineKeyOf(key)) !== undefined;
    if (!isGiven) this.put(key, file);
  }

  /** It goes into the file that the key has named beside the configuration, else into a new one. Undefined removes it. */
  putSecret(key: string, file: string, text: string | undefined) {
    if (text === undefined) return this.removeSecret(key);
    const named = textOf(this.#before.at(key));
    const isBeside = named !== undefined && dirname(resolve(this.folder, named)) === this.folder;
    const free = isBeside ? named : this.#freeName(file);
    this.#secrets.set(key, { file: free, text, besides: isBeside || free === file ? null : file });
    this.remove(inlineKeyOf(key));
    this.put(key, free);
  }

  removeSecret(key: string): void {
    this.remove(key, inlineKeyOf(key));
  }

  /** The secrets that count. */
  #named(): [key: string, TypedSecret][] {
    return [...this.#secrets].filter(([key, { file }]) => this.at(key) === file);
  }

  /** A file that is there may belong to another configuration, and stays as it is. */
  #freeName(file: string): string {
    let path = file;
    for (let n = 2; existsSync(resolve(this.folder, path)); n += 1) path = `${file}-${n}`;
    return path;
  }

  /** A file that was named from the working directory, as the configuration names it. */
  fileFrom(typed: string): string {
    const inside = relative(this.folder, resolve(typed));
    return inside.startsWith('..') || isAbsolute(inside) ? resolve(typed) : `./${inside}`;
  }

  /** A function that brings back what is there now. */
  save(): () => void {
    const config = structuredClone(this.#config.raw);
    const secrets = new Map(this.#secrets);
    return () => {
      this.#config.raw = config;
      this.#secrets = secrets;
    };
  }

  /** Tells whether anything below these keys has changed since. */
  fingerprint(keys: readonly string[]): string {
    const secrets = [...this.#secrets].filter(([key]) => keys.some((above) => key.startsWith(above)));
    return JSON.stringify([keys.map((key) => this.at(key)), secrets]);
  }

  /** Sections after this one do not count. Rejects with ConfigInvalid. */
  settings(until: Section = 'web'): Promise<Settings> {
    const files = new Map([[this.path, JSON.stringify(this.#upTo(until))]]);
    for (const [, { file, text }] of this.#named()) files.set(resolve(this.folder, file), text);
    const { path } = this;
    return openSettings({ path, readFile: async (file) => files.get(file) ?? readFile(file) }, this.#io);
  }

  /** Placeholders stand for what is not answered yet, so that each answer can be tried alone. */
  #upTo(until: Section): RawConfig {
    const later: readonly string[] = SECTIONS.slice(SECTIONS.indexOf(until) + 1);
    const config = Object.fromEntries(
      Object.entries(this.#config.raw).filter(([name]) => !later.includes(name)),
    );
    const address = 'https://x.invalid';
    const provider = Object.assign({ issuer: address, api_url: address, client_id: 'x' }, config.provider);
    if (config.accounts !== undefined) return { ...config, provider };
    const account = { id: this.at('accounts.0.id'), username: 'x' };
    return { ...config, provider: { ...provider, sign_in: 'device' }, accounts: [account] };
  }

  async faults(until?: Section): Promise<readonly Fault[]> {
    return this.settings(until).then(
      () => [],
      (err: unknown) => {
        if (err instanceof ConfigInvalid) return err.faults;
        throw err;
      },
    );
  }

  /** The keys that the file says otherwise, or whose secret is another one. */
  changes(): string[] {
    const changed = differences(this.#before.raw, this.#config.raw).map(({ path }) => path.join('.'));
    return [...new Set([...changed, ...this.#named().map(([key]) => key)])];
  }

  /** The changes cost this besides; a sentence each. */
  losses(): Lines {
    const { lostComments = [], keepsLayout = true } = this.#edited() ?? {};
    return [
      lostComments.length > 0 &&
        `These comments go with what they stand beside:\n  ${lostComments.join('\n  ')}`,
      !keepsLayout && 'Blanks and indentation are written anew.',
    ];
  }

  /** `null`: there is no file to edit. Throws ConfigInvalid. */
  #edited() {
    if (this.#text === null) return null;
    return editedText(this.#text, this.path, differences(this.#before.raw, this.#config.raw));
  }

  /** Resolves to the files that were written: the configuration, and the secrets that it names. */
  async write(): Promise<readonly Pick<TypedSecret, 'file' | 'besides'>[]> {
    await this.#refuseOtherHands();
    const written = this.#named().map(([, secret]) => ({
      ...secret,
      file: resolve(this.folder, secret.file),
    }));
    for (const { file, text } of written) await writeFile(file, `${text}\n`);
    const text = this.#edited()?.text ?? HEADER + commentedConfig(withoutEmpty(this.#config.raw));
    if (text !== this.#text) await this.#replaceConfiguration(text);
    this.#text = text;
    this.#before = new Source(readYaml(text, this.path));
    this.#config = new Source(structuredClone(this.#before.raw));
    this.#secrets.clear();
    return [{ file: this.path, besides: null }, ...written];
  }

  async #refuseOtherHands(): Promise<void> {
    const there = await readFile(this.path, 'utf8').catch(() => null);
    if (there === this.#text) return;
    const message = `${this.path} has been changed by somebody else meanwhile; nothing was written.`;
    throw refusal('configuration_changed', message, 'Run setup again: it begins with what is there now.');
  }

  /** The one that was there may be readable for the user of a service. */
  async #replaceConfiguration(text: string): Promise<void> {
    const mode = await stat(this.path)
      .then((before) => before.mode & 0o777)
      .catch(() => null);
    await writeFile(this.path, text);
    if (mode !== null) await chmod(this.path, mode);
  }
}

const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : String(value);

const withoutEmpty = (config: RawConfig): RawConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => JSON.stringify(value) !== '{}'));
