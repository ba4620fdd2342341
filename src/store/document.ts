// One JSON document of the state directory: written whole, read with distrust, and one step at a time.
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { type Care, replaceWhole } from './wholeFile.ts';

/** One document. `read` gives `null` when there is none, or none that can be understood. */
export interface Document<T> {
  read(): Promise<T | null>;
  /** Resolves once the document is on the disk, or with brief care on its way there. Rejects with StateUnwritable. */
  write(value: T): Promise<void>;
  /** Rejects with StateUnwritable. */
  remove(): Promise<void>;
}

/** How a document looks on disk: its parsed JSON to a value (throws when it is not one), and back. */
export interface Codec<T> {
  decode(json: unknown): T;
  encode(value: T): unknown;
}

export class StateUnwritable extends Failure {
  readonly code = 'state_unwritable';
  readonly exitCode = EXIT.unexpected;

  constructor(path: string, cause: unknown) {
    const reason = (cause as NodeJS.ErrnoException)?.code ?? 'unknown error';
    super(`The state directory cannot be written: ${path} (${reason}).`, {
      retry: 'later',
      hint: 'Check free space, owner and permissions of state_dir; until then a restart may cost a login.',
      cause,
    });
  }
}

const PRIVATE_DIRECTORY = 0o700;

/** Makes the directory and those above it, 0700. Rejects with the system's error. */
export async function makePrivateDirectory(path: string): Promise<void> {
  // Node's own recursive mkdir never returns below some places, such as /proc.
  const make = () =>
    mkdir(path, { mode: PRIVATE_DIRECTORY }).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'EEXIST') throw err;
    });
  await make().catch(async (err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT' || dirname(path) === path) throw err;
    await makePrivateDirectory(dirname(path));
    await make();
  });
}

/** A document that counts as absent when somebody else wrote it. */
export function owned<T>(document: Document<Owned<T>>, owner: string): Document<T> {
  return new OwnedDocument(document, owner);
}

export interface Owned<T> {
  readonly owner: string;
  readonly value: T;
}

/** The last step of a document that failed. */
export interface Undone {
  readonly fault: StateUnwritable;
  again(): Promise<void>;
}

type Step = () => Promise<void>;

interface Place {
  readonly path: string;
  /** By the name of the document. */
  readonly undone: Map<string, Undone>;
  readonly log: Log;
}

// Classes, not closures: with thousands of accounts a dozen functions for each of their documents are half the memory.
export class FileDocument<T> implements Document<T> {
  readonly #name: string;
  readonly #codec: Codec<T>;
  readonly #care: Care;
  readonly #place: Place;
  // One step at a time: the newest value is the one that stays, and a damaged file is set aside before it is replaced.
  #last: Promise<unknown> | null = null;

  constructor(name: string, codec: Codec<T>, care: Care, place: Place) {
    this.#name = name;
    this.#codec = codec;
    this.#care = care;
    this.#place = place;
  }

  read(): Promise<T | null> {
    return this.#inTurn(() => this.#readNow());
  }

  write(value: T): Promise<void> {
    return this.#change(async () => {
      const file = this.#file();
      const text = `${JSON.stringify(this.#codec.encode(value))}\n`;
      await replaceWhole(file, text, this.#care).catch(async (err: NodeJS.ErrnoException) => {
        if (err.code !== 'ENOENT') throw err;
        await makePrivateDirectory(dirname(file));
        await replaceWhole(file, text, this.#care);
      });
    });
  }

  remove(): Promise<void> {
    return this.#change(() => rm(this.#file(), { force: true }));
  }

  #file(): string {
    return join(this.#place.path, `${this.#name}.json`);
  }

  #inTurn<R>(step: () => Promise<R>): Promise<R> {
    const turn = this.#last === null ? step() : this.#last.then(step);
    const last = turn
      .catch(() => undefined)
      .then(() => {
        if (this.#last === last) this.#last = null;
      });
    this.#last = last;
    return turn;
  }

  #change(step: Step): Promise<void> {
    return this.#inTurn(() => this.#attempt(step));
  }

  async #attempt(step: Step): Promise<void> {
    const { path, undone } = this.#place;
    try {
      await step();
      undone.delete(this.#name);
    } catch (err) {
      const fault = new StateUnwritable(path, err);
      undone.set(this.#name, { fault, again: () => this.#again(fault, step) });
      throw fault;
    }
  }

  // Unless something newer has been written, or has failed, meanwhile.
  #again(fault: StateUnwritable, step: Step): Promise<void> {
    const isNewest = () => this.#place.undone.get(this.#name)?.fault === fault;
    return this.#inTurn(async () => {
      if (isNewest()) await this.#attempt(step).catch(() => undefined);
    });
  }

  async #readNow(): Promise<T | null> {
    const file = this.#file();
    const { log } = this.#place;
    const text = await readFile(file, 'utf8').catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') log.error({ file, reason: err.code }, 'state document cannot be read');
      return null;
    });
    if (text === null) return null;
    try {
      return this.#codec.decode(JSON.parse(text));
    } catch (err) {
      await setAside(file);
      log.error(
        { file, reason: (err as Error).name },
        'state document is damaged: set aside as .damaged, starting without it',
      );
      return null;
    }
  }
}

class OwnedDocument<T> implements Document<T> {
  readonly #document: Document<Owned<T>>;
  readonly #owner: string;

  constructor(document: Document<Owned<T>>, owner: string) {
    this.#document = document;
    this.#owner = owner;
  }

  async read(): Promise<T | null> {
    const stored = await this.#document.read();
    return stored?.owner === this.#owner ? stored.value : null;
  }

  write(value: T): Promise<void> {
    return this.#document.write({ owner: this.#owner, value });
  }

  remove(): Promise<void> {
    return this.#document.remove();
  }
}

const setAside = (file: string): Promise<void> => rename(file, `${file}.damaged`).catch(() => undefined);
