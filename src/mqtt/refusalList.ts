// The list of what the broker refuses, and the lines of the log about it.
import { type Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';

/** Anyone who asks may name any response topic. */
const MOST_NAMES_LOGGED = 50;

export class RefusalList {
  readonly #log: Log;
  readonly #onChange: () => void;
  readonly #standing = new Map<string, Failure>();
  readonly #logged = new Map<string, string>();

  constructor(log: Log, onChange: () => void) {
    this.#log = log;
    this.#onChange = onChange;
  }

  /** They have the order in which they were first refused. */
  get refusals(): readonly Failure[] {
    return [...this.#standing.values()];
  }

  has(name: string): boolean {
    return this.#standing.has(name);
  }

  put(name: string, refusal: Failure): void {
    const isNews = this.#standing.get(name)?.message !== refusal.message;
    this.#standing.set(name, refusal);
    this.log(name, refusal);
    if (isNews) this.#onChange();
  }

  /** It is refused no more. */
  lift(name: string): void {
    this.#logged.delete(name);
    if (this.#standing.delete(name)) this.#onChange();
  }

  /** The log stays as it is: the same words are no news. */
  clear(): void {
    this.#standing.clear();
  }

  /** Each is written again. */
  forgetLog(): void {
    this.#logged.clear();
  }

  /** Writes a line, unless it was the last about this name. */
  log(name: string, refusal: Failure): void {
    const { message, ...words } = safeWords(refusal);
    if (this.#logged.get(name) === message || this.#logged.size >= MOST_NAMES_LOGGED) return;
    this.#logged.set(name, message);
    this.#log.warn(words, message);
  }
}
