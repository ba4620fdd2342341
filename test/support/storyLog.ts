// The log of a story: its lines, and how far the daemon is by them.
import type { Fields } from './fields.ts';

export class StoryLog {
  readonly lines: string[] = [];

  #count(words: RegExp): number {
    return this.lines.filter((line) => words.test(line)).length;
  }

  get connections(): number {
    return this.#count(/connected to the broker/);
  }

  /** Polls of an account that have ended, well or badly. */
  get ended(): number {
    return this.#count(/"msg":"poll(ed"| failed)/);
  }

  /** So many have ended, and extras are read: a poll that went well asks for them afterwards. */
  isThrough(polls: number): boolean {
    return this.ended >= polls && this.#count(/"msg":"extras /) >= this.#count(/"msg":"polled"/);
  }

  get parsed(): Fields[] {
    return this.lines.map((line) => JSON.parse(line));
  }
}
