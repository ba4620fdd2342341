// The state directory: small JSON documents, each written whole. Nothing else in the program writes files.
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import { concurrencyLimit } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import { documentIn, documentText } from './documentText.ts';
import { DAEMON_LOCK, HALF_TAKEN, type LockHolder, release, withLock } from './locks.ts';
import {
  clearWay,
  NoRegularFile,
  pathsBelow,
  readRegularFile,
  refuseLinks,
  replace,
  setAside,
  TEMPORARY_FILE,
  withoutCustomer,
} from './privateFiles.ts';
import { finishRestore, stateUnreadable } from './restore.ts';
import { type Codec, type Document, NewerDocument, type StateStore } from './stateStore.ts';

const MEND_LINK = 'Take the link away, or put the real file or folder in its place';
const MEND_RIGHTS = 'Check free space, owner and permissions of state_dir';

export function stateUnwritable(path: string, cause: unknown) {
  const { code, message } = cause as NodeJS.ErrnoException;
  const isLink = code === 'ELOOP';
  const reason = isLink ? message : (code ?? 'unknown error');
  return failure('state_unwritable', `The state directory cannot be written: ${path} (${reason}).`, {
    exit: EXIT.unexpected,
    retry: 'later',
    hint: `${isLink ? MEND_LINK : MEND_RIGHTS}; until then a new login waits for a quarter of an hour after each start.`,
    // The system's error has the path of the document. Any other is a fault of ours, to be found by its stack.
    cause: code === undefined ? cause : new Error(withoutCustomer(message)),
  });
}

const DAEMON = 'daemon';
const UNFINISHED =
  'an interrupted restore cannot be finished: restoring.json is damaged and set aside, starting without it';
const RESTORE_AGAIN = 'Stop the program, and restore the backup again.';

/** A write or removal that failed and has not been repeated, by the name of the document. */
type Unfinished = Map<string, { readonly fault: Failure; again(): Promise<unknown> }>;

export class StateDirectory implements StateStore {
  readonly path: string;
  readonly #log: Log;
  readonly #holder: LockHolder;
  /** Symbolic links that the log has named. */
  readonly #links = new Set<string>();
  readonly #unfinished: Unfinished = new Map();

  /** A command beside the daemon opens it so. The directory is made with the first document. */
  constructor(path: string, log: Log, kind: 'command' | typeof DAEMON = 'command') {
    this.path = path;
    this.#log = log;
    this.#holder = { kind, held: new Set() };
  }

  /**
   * Only the daemon opens it so: this removes what a killed one has left behind, which a command must not do beside it, and
   * finishes an interrupted restore. Rejects with state_unwritable if that is not possible.
   */
  static async open(path: string, log: Log): Promise<StateDirectory> {
    for (const name of await pathsBelow(path).catch(() => [])) {
      const left = join(path, name);
      if (DAEMON_LOCK.test(name)) await release(left);
      else if (HALF_TAKEN.test(name) || TEMPORARY_FILE.test(name))
        await rm(left, { recursive: true, force: true }).catch(() => undefined);
    }
    const isWhole = await finishRestore(path).catch((err) => {
      throw stateUnwritable(path, err);
    });
    if (!isWhole) log.error({ hint: RESTORE_AGAIN }, UNFINISHED);
    return new StateDirectory(path, log, DAEMON);
  }

  get fault(): Failure | null {
    const [first] = this.#unfinished.values();
    return first?.fault ?? null;
  }

  /** Tries again to write and remove whatever could not be. Never rejects. */
  async retry(): Promise<void> {
    for (const { again } of [...this.#unfinished.values()]) await again();
  }

  document<T>(name: string, codec: Codec<T>): Document<T> {
    return new DocumentFile(name, codec, {
      directory: this.path,
      isOwn: this.#holder.kind === DAEMON,
      log: this.#log,
      unfinished: this.#unfinished,
      text: () => this.#textOf(name),
    });
  }

  /** See locks.ts. */
  withLock<T>(name: string, clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T> {
    const lock = join(this.path, `${name}.lock`);
    return refuseLinks(this.path, dirname(name)).then(
      () => withLock(lock, clock, this.#holder, step),
      () => step(false),
    );
  }

  /** The process ends, whatever is still under way: others need not wait. */
  async unlock(): Promise<void> {
    for (const file of this.#holder.held) await release(file);
  }

  async list(folder: string): Promise<string[]> {
    const read = refuseLinks(this.path, folder).then(() => readdir(join(this.path, folder)));
    const names = await read.catch(() => []);
    return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
  }

  /** The directory is one of another user, or none. */
  async #isClosed(code: string | undefined): Promise<boolean> {
    if (code === 'EACCES' || code === 'EPERM') return true;
    return code === 'ENOTDIR' && !(await stat(this.path).catch(() => null))?.isDirectory();
  }

  /** `null` when there is no file, or none that can be read. Rejects with NoRegularFile, or state_unreadable. */
  async #textOf(name: string): Promise<string | null> {
    const file = join(this.path, `${name}.json`);
    try {
      await refuseLinks(this.path, `${name}.json`);
      return (await readRegularFile(file)).toString('utf8');
    } catch (err) {
      if (err instanceof NoRegularFile) throw err;
      const { code, message } = err as NodeJS.ErrnoException;
      // The daemon goes on. A command would take what its user may not see for what is not there.
      if (this.#holder.kind === 'command' && (await this.#isClosed(code)))
        throw stateUnreadable(this.path, err as NodeJS.ErrnoException);
      // Each link is told once: no document in such a folder can be read.
      if (code === 'ELOOP' && !this.#links.has(message)) {
        this.#links.add(message);
        this.#log.error({ reason: message }, 'state documents cannot be read');
      } else if (code !== 'ELOOP' && code !== 'ENOENT')
        this.#log.error({ file: withoutCustomer(file), reason: code }, 'state document cannot be read');
      return null;
    }
  }
}

interface FileParts {
  readonly directory: string;
  /** The process is the daemon of the directory. */
  readonly isOwn: boolean;
  readonly log: Log;
  readonly unfinished: Unfinished;
  /** The text of the file; `null`: there is none that can be read. Rejects with NoRegularFile. */
  readonly text: () => Promise<string | null>;
}

interface Waiting<T> {
  value: T;
  readonly isWritten: Promise<boolean>;
}

class DocumentFile<T> implements Document<T> {
  readonly #name: string;
  readonly #codec: Codec<T>;
  readonly #parts: FileParts;
  readonly #file: string;
  // Writes keep the order of the calls: the newest value stays, and a damaged file is set aside before it is replaced.
  readonly #inOrder = concurrencyLimit(1);
  /** The suffix of a file that is of no use. */
  #ending: 'newer' | 'damaged' | null = null;
  /** A write that has not begun. */
  #waiting: Waiting<T> | null = null;

  constructor(name: string, codec: Codec<T>, parts: FileParts) {
    this.#name = name;
    this.#codec = codec;
    this.#parts = parts;
    this.#file = join(parts.directory, `${name}.json`);
  }

  read(): Promise<T | null> {
    return this.#inOrder(async () => {
      this.#ending = null;
      try {
        const text = await this.#parts.text();
        return text === null ? null : this.#codec.decode(documentIn(text));
      } catch (err) {
        if (err instanceof Failure) throw err;
        await this.#isOfNoUse(err as Error);
        return null;
      }
    });
  }

  write(value: T): Promise<boolean> {
    // Only the newest value stays: what changes again while a write waits for its turn is written with it.
    if (this.#waiting !== null) {
      this.#waiting.value = value;
      return this.#waiting.isWritten;
    }
    const isWritten: Promise<boolean> = this.#inOrder(() => {
      if (this.#waiting === next) this.#waiting = null;
      return this.#attempt(() => this.#put(next.value));
    });
    const next: Waiting<T> = { value, isWritten };
    this.#waiting = next;
    return isWritten;
  }

  remove(): Promise<boolean> {
    this.#waiting = null;
    return this.#inOrder(() => this.#attempt(() => rm(this.#file, { force: true })));
  }

  async #put(value: T): Promise<void> {
    await this.#setUselessAside();
    await replace(this.#file, documentText(this.#codec.encode(value)));
  }

  /** Resolves to whether the step is done; if not, `retry` of the directory tries it again. */
  async #attempt(step: () => Promise<void>): Promise<boolean> {
    const { directory, unfinished } = this.#parts;
    const wasSaved = !unfinished.has(this.#name);
    try {
      await clearWay(directory, `${this.#name}.json`);
      await step();
      unfinished.delete(this.#name);
      return true;
    } catch (err) {
      const fault = stateUnwritable(directory, err);
      unfinished.set(this.#name, { fault, again: () => this.#again(step, fault) });
      // Each document is told once until it could be saved: some are written many times a day.
      if (wasSaved) this.#logUnsaved(fault);
      return false;
    }
  }

  /** Only while that is what went wrong last. */
  async #again(step: () => Promise<void>, fault: Failure): Promise<void> {
    const isLast = () => this.#parts.unfinished.get(this.#name)?.fault === fault;
    await this.#inOrder(async () => isLast() && this.#attempt(step));
  }

  #logUnsaved(fault: Failure): void {
    const about = { document: withoutCustomer(this.#name), err: fault };
    this.#parts.log.error(about, 'state document could not be saved');
  }

  async #isOfNoUse(err: Error): Promise<void> {
    const { isOwn, log } = this.#parts;
    const isNewer = err instanceof NewerDocument;
    this.#ending = isNewer ? 'newer' : 'damaged';
    const irregularity = err instanceof NoRegularFile ? err.message : undefined;
    const what = isNewer ? 'of a newer version' : 'damaged';
    log.error(
      { file: withoutCustomer(this.#file), reason: err.name, found: irregularity },
      `state document is ${what}: set aside as .${this.#ending}, starting without it`,
    );
    // A command has a look: the daemon beside it may be of a newer version, and still needs its file.
    if (isOwn) await this.#setUselessAside();
  }

  async #setUselessAside(): Promise<void> {
    if (this.#ending !== null) await setAside(this.#file, this.#ending).catch(() => undefined);
    this.#ending = null;
  }
}
