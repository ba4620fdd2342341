// A vault in memory that outlives what uses it, tells in which order things happened, and may refuse to write.
import type { TokenStore } from '../../src/auth/loginBudget.ts';

export interface MemoryStore<T> extends TokenStore<T> {
  /** What a restart would find. */
  kept: T | null;
  /** While set, writing and removing fail like a full disk. */
  isFull: boolean;
  /** How long the disk takes. */
  takes: () => Promise<unknown>;
  readonly steps: ('read' | 'write' | 'remove')[];
}

export function memoryStore<T>(kept: T | null = null): MemoryStore<T> {
  const vault: MemoryStore<T> = {
    kept,
    isFull: false,
    // As on a disk, others have their turn before it is done.
    takes: () => new Promise((resolve) => setImmediate(resolve)),
    steps: [],
    async read() {
      vault.steps.push('read');
      return vault.kept;
    },
    write: (value) => change('write', value),
    remove: () => change('remove', null),
  };

  async function change(step: 'write' | 'remove', value: T | null): Promise<void> {
    vault.steps.push(step);
    await vault.takes();
    if (vault.isFull) throw new Error('ENOSPC');
    vault.kept = value === null ? null : structuredClone(value);
  }
  return vault;
}
