// What has been answered so far: the configuration in the making, and the secrets that were typed. Nothing is written before all of
// it is asked for.
import { existsSync } from 'node:fs';
import { chmod, readFile, stat } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { ConfigInvalid, type Fault, isMapping, type RawConfig } from '../../config/draft.ts';
import { mainKeyOf } from '../../config/keys.ts';
import { commentedConfig, EditedConfig } from '../../config/yamlText.ts';
import { replace } from '../../store/privateFiles.ts';
import { type Io, refusal } from '../command.ts';
import { openSettings, type Settings } from '../settings.ts';

/** The key that says a secret itself, from that of its file. */
export const inlineKeyOf = (key: string): string => mainKeyOf(key.split('.')).join('.');

/** In the order in which they are asked for. What comes later is not looked at while an answer is tried. */
const SECTIONS = ['provider', 'usage', 'accounts', 'mqtt', 'home_assistant', 'http', 'web'] as const;
export type Section = (typeof SECTIONS)[number];

const HEADER = `# The configuration of heat2mqtt, written by \`heat2mqtt setup\`. Every other key, with its default:
# docs/configuration.md, or \`heat2mqtt config example\`. To try what you change: \`heat2mqtt check --live\`, or \`heat2mqtt setup\` again.
`;

export class Answers {
  /** Of the configuration. */
  readonly path: string;
  readonly folder: string;
  readonly #io: Io;
  /** What the file says; `null`: there is none. */
  #text: string | null;
  #config: EditedConfig;
  #raw: RawConfig;
  /** Secrets that were typed, by the path of their file in the configuration. */
  #secrets = new Map<string, string>();

  /** `seed`: what a new file says before the first question. Throws ConfigInvalid. */
  constructor(path: string, text: string | null, seed: RawConfig, io: Io) {
    this.path = path;
    this.folder = dirname(resolve(path));
    this.#io = io;
    this.#text = text;
    this.#config = new EditedConfig(text ?? JSON.stringify(seed), path);
    this.#raw = this.#config.raw();
  }

  get isNew(): boolean {
    return this.#text === null;
  }

  /** `key`: a path such as `mqtt.url`. */
  at(key: string): unknown {
    return key.split('.').reduce<unknown>((value, name) => Object(value)[name], this.#raw);
  }

  textAt(key: string): string | undefined {
    const value = this.at(key);
    return value === undefined || value === null ? undefined : String(value);
  }

  /** Undefined removes the key. */
  put(key: string, value: unknown): void {
    if (JSON.stringify(this.at(key)) === JSON.stringify(value)) return;
    this.#config.put(key.split('.'), value);
    this.#raw = this.#config.raw();
  }

  /** Where the secret of a key is; undefined: nowhere. `file`: taken where it is there and the key names none. */
  placeOfSecret(key: string, file: string): string | undefined {
    const named = this.textAt(key);
    if (named !== undefined) return this.#secrets.has(named) ? 'the one before' : `the one in ${named}`;
    if (this.at(inlineKeyOf(key)) !== undefined) return `the one in ${this.path}`;
    return existsSync(resolve(this.folder, file)) ? `the one in ${file}` : undefined;
  }

  /** Takes the secret that `placeOfSecret` has named. */
  takeSecretThere(key: string, file: string): void {
    const isGiven = this.at(key) !== undefined || this.at(inlineKeyOf(key)) !== undefined;
    if (!isGiven) this.put(key, file);
  }

  /** It goes into the file that the key has named beside the configuration, else into a new one. */
  putSecret(key: string, file: string, secret: string): void {
    const named = this.textAt(key);
    const path = named !== undefined && this.#isOurs(named) ? named : this.#freeName(file);
    this.#secrets.set(path, secret);
    this.put(inlineKeyOf(key), undefined);
    this.put(key, path);
  }

  removeSecret(key: string): void {
    this.put(key, undefined);
    this.put(inlineKeyOf(key), undefined);
  }

  /** Made here, or named by the configuration before setup began. */
  #isOurs(file: string): boolean {
    const isBeside = dirname(resolve(this.folder, file)) === this.folder;
    return (
      this.#secrets.has(file) || (isBeside && [...this.#before().values()].includes(JSON.stringify(file)))
    );
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
    const [undo, secrets] = [this.#config.save(), new Map(this.#secrets)];
    return () => {
      undo();
      this.#raw = this.#config.raw();
      this.#secrets = secrets;
    };
  }

  /** Tells whether anything below these keys has changed since. */
  fingerprint(keys: readonly string[]): string {
    const values = keys.map((key) => this.at(key));
    const named = JSON.stringify(values);
    return JSON.stringify([values, [...this.#secrets].filter(([file]) => named.includes(file))]);
  }

  /** With what is answered up to this section. Rejects with ConfigInvalid. */
  settings(until: Section = 'web'): Promise<Settings> {
    const files = new Map([[this.path, JSON.stringify(this.#upTo(until))]]);
    for (const [file, secret] of this.#secrets) files.set(resolve(this.folder, file), secret);
    const { path } = this;
    return openSettings({ path, readFile: async (file) => files.get(file) ?? readFile(file) }, this.#io);
  }

  /** Placeholders stand for what is not answered yet, so that each answer can be tried alone. */
  #upTo(until: Section): RawConfig {
    const later = SECTIONS.slice(SECTIONS.indexOf(until) + 1) as readonly string[];
    const raw = Object.fromEntries(Object.entries(this.#raw).filter(([name]) => !later.includes(name)));
    const address = 'https://x.invalid';
    const provider = Object.assign({ issuer: address, api_url: address, client_id: 'x' }, raw.provider);
    if (raw.accounts !== undefined) return { ...raw, provider };
    const account = { id: this.at('accounts.0.id'), username: 'x' };
    return { ...raw, provider: { ...provider, sign_in: 'device' }, accounts: [account] };
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
    const before = this.#before();
    const now = leavesOf(this.#raw);
    const keys = [...new Set([...before.keys(), ...now.keys()])];
    return keys.filter((key) => {
      const value = now.get(key);
      return before.get(key) !== value || this.#secrets.has(String(value && JSON.parse(value)));
    });
  }

  #before(): Map<string, string> {
    return leavesOf(this.#text === null ? {} : new EditedConfig(this.#text, this.path).raw());
  }

  /** What the changes cost besides; a sentence each. */
  losses(): string[] {
    if (this.#text === null) return [];
    const comments = this.#config.lostComments();
    const layout = 'Blanks and indentation are written anew.';
    return [
      ...(comments.length > 0
        ? [`These comments go with what they stand beside:\n  ${comments.join('\n  ')}`]
        : []),
      ...(this.#config.keepsLayout ? [] : [layout]),
    ];
  }

  /** Resolves to the files that were written: the configuration, and the secrets that it names. */
  async write(): Promise<readonly string[]> {
    await this.#refuseOtherHands();
    const named = new Set([...leavesOf(this.#raw).values()].map((value) => JSON.parse(value)));
    const secrets = [...this.#secrets].filter(([file]) => named.has(file));
    for (const [file, secret] of secrets) await replace(resolve(this.folder, file), `${secret}\n`);
    const text =
      this.#text === null ? HEADER + commentedConfig(withoutEmpty(this.#raw)) : this.#config.text();
    if (text !== this.#text) await this.#replaceConfiguration(text);
    this.#text = text;
    this.#config = new EditedConfig(text, this.path);
    this.#secrets.clear();
    return [this.path, ...secrets.map(([file]) => resolve(this.folder, file))];
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
    await replace(resolve(this.path), text);
    if (mode !== null) await chmod(this.path, mode);
  }
}

/** Each value that is no mapping and no list, as JSON, by its key. */
function leavesOf(value: unknown, key = ''): Map<string, string> {
  if (!isMapping(value) && !Array.isArray(value)) return new Map([[key, JSON.stringify(value)]]);
  const inside = Object.entries(value);
  return new Map(
    inside.flatMap(([name, inner]) => [...leavesOf(inner, key === '' ? name : `${key}.${name}`)]),
  );
}

const withoutEmpty = (raw: RawConfig): RawConfig =>
  Object.fromEntries(Object.entries(raw).filter(([, value]) => JSON.stringify(value) !== '{}'));
