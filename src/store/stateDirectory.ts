// The state directory: small JSON documents, each written whole and privately; nothing else in the house writes files.
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
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

export interface StateDirectory {
  readonly path: string;
  /** Set while something that had to be written or removed has not been. */
  readonly fault: StateUnwritable | null;
  /** Tries again to write and remove whatever could not be. Never rejects. */
  retry(): Promise<void>;
  document<T>(name: string, codec: Codec<T>, care?: Care): Document<T>;
  /** Names of the documents below a folder of the directory, such as `accounts/home`. */
  list(folder: string): Promise<string[]>;
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

/** Opens the directory for the daemon: leftovers of a killed write are swept away. */
export async function openStateDirectory(path: string, log: Log): Promise<StateDirectory> {
  await sweepLeftovers(path);
  return visitStateDirectory(path, log);
}

/** Opens it for a command beside the daemon, whose writes may be under way. It is made with the first document. */
export function visitStateDirectory(path: string, log: Log): StateDirectory {
  const undone = new Map<string, Undone>();
  return {
    path,
    get fault() {
      const [first] = undone.values();
      return first?.fault ?? null;
    },
    async retry() {
      for (const { again } of [...undone.values()]) await again();
    },
    document: (name, codec, care = 'durable') =>
      document(join(path, `${name}.json`), codec, { path, undone, log, care }),
    async list(folder) {
      const names = await readdir(join(path, folder)).catch(() => []);
      return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
    },
  };
}

/** A document that counts as absent when somebody else wrote it. */
export function owned<T>(document: Document<Owned<T>>, owner: string): Document<T> {
  return {
    async read() {
      const stored = await document.read();
      return stored?.owner === owner ? stored.value : null;
    },
    write: (value) => document.write({ owner, value }),
    remove: document.remove,
  };
}

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

export interface Owned<T> {
  readonly owner: string;
  readonly value: T;
}

/** The last step of a document that failed. */
interface Undone {
  readonly fault: StateUnwritable;
  again(): Promise<void>;
}

type Step = () => Promise<void>;

interface Surroundings {
  readonly path: string;
  /** By file. */
  readonly undone: Map<string, Undone>;
  readonly log: Log;
  readonly care: Care;
}

function document<T>(file: string, codec: Codec<T>, { path, undone, log, care }: Surroundings): Document<T> {
  // One step at a time: the newest value is the one that stays, and a damaged file is set aside before it is replaced.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <R>(step: () => Promise<R>): Promise<R> => {
    const turn = last.then(step);
    last = turn.catch(() => undefined);
    return turn;
  };
  async function attempt(step: Step): Promise<void> {
    try {
      await step();
      undone.delete(file);
    } catch (err) {
      const fault = new StateUnwritable(path, err);
      undone.set(file, { fault, again: () => again(fault, step) });
      throw fault;
    }
  }
  // Unless something newer has been written, or has failed, meanwhile.
  const again = (fault: StateUnwritable, step: Step): Promise<void> =>
    inTurn(async () => {
      if (undone.get(file)?.fault === fault) await attempt(step).catch(() => undefined);
    });
  const change = (step: Step): Promise<void> => inTurn(() => attempt(step));
  return {
    read: () => inTurn(read),
    write: (value) =>
      change(async () => {
        const text = `${JSON.stringify(codec.encode(value))}\n`;
        await replaceWhole(file, text, care).catch(async (err: NodeJS.ErrnoException) => {
          if (err.code !== 'ENOENT') throw err;
          await makePrivateDirectory(dirname(file));
          await replaceWhole(file, text, care);
        });
      }),
    remove: () => change(() => rm(file, { force: true })),
  };

  async function read(): Promise<T | null> {
    const text = await readFile(file, 'utf8').catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') log.error({ file, reason: err.code }, 'state document cannot be read');
      return null;
    });
    if (text === null) return null;
    try {
      return codec.decode(JSON.parse(text));
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

const setAside = (file: string): Promise<void> => rename(file, `${file}.damaged`).catch(() => undefined);

// Temporary files are named `<name>.<digits>`; a kill in the middle leaves one behind.
async function sweepLeftovers(path: string): Promise<void> {
  const names = await readdir(path, { recursive: true }).catch(() => []);
  for (const name of names) if (/\.json\.\d+$/.test(name)) await rm(join(path, name), { force: true });
}
