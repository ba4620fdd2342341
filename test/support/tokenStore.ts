// A token store in memory that outlives its user, records the order of its steps, and may refuse to write.
import type { Document } from '../../src/store/stateStore.ts';

interface MemoryStore<T> extends Document<T> {
  /** What a restart would find. */
  kept: T | null;
  /** While set, writing and removing fail like a full disk. */
  isFull: boolean;
  /** How long the disk takes. */
  takes: () => Promise<unknown>;
  readonly steps: ('read' | 'write' | 'remove')[];
}

export function memoryStore<T>(kept: T | null = null): MemoryStore<T> {
  const store: MemoryStore<T> = {
    kept,
    isFull: false,
    // As on a disk, others have their turn before it is done.
    takes: () => new Promise((resolve) => setImmediate(resolve)),
    steps: [],
    async read() {
      store.steps.push('read');
      return store.kept;
    },
    write: (value) => change('write', value),
    remove: () => change('remove', null),
  };

  async function change(step: 'write' | 'remove', value: T | null): Promise<boolean> {
    store.steps.push(step);
    await store.takes();
    if (!store.isFull) store.kept = value === null ? null : structuredClone(value);
    return !store.isFull;
  }
  return store;
}
