// What a test has started: stopped newest first when the test is over, and every failure of it told.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface Stoppable {
  stop(): Promise<unknown> | unknown;
}

export interface Stack {
  /** Remembers what has to be stopped, and gives it back. */
  use<T extends Stoppable>(thing: T): T;
  defer(stop: Stoppable['stop']): void;
  /** A new folder, which is removed. */
  folder(): Promise<string>;
}

/** To be called from within a test. */
export function openStack(): Stack {
  const things: Stoppable[] = [];
  onTestFinished(async () => {
    const failures: unknown[] = [];
    for (const thing of things.splice(0).reverse()) {
      try {
        await thing.stop();
      } catch (err) {
        failures.push(err);
      }
    }
    if (failures.length > 0) {
      const words = failures.map((err) => (err instanceof Error ? err.message : String(err)));
      throw new AggregateError(failures, `at the end of the test: ${words.join('; ')}`);
    }
  });
  const defer = (stop: Stoppable['stop']) => void things.push({ stop });
  return {
    use(thing) {
      things.push(thing);
      return thing;
    },
    defer,
    async folder() {
      const path = await mkdtemp(join(tmpdir(), 'heat2mqtt-test-'));
      defer(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
      return path;
    },
  };
}
