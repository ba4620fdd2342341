// Processes that want one lock, in every order that chance gives their steps on the disk, and killed or suspended at any of
// them: never do two hold it. Only a holder that is suspended for ten seconds loses its turn.
import { AsyncLocalStorage } from 'node:async_hooks';
import * as disk from 'node:fs';
import fsPromises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/foundation/clock.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { withLock } from '../../src/store/locks.ts';
import { handClock } from '../support/clock.ts';
import { RUNS } from '../support/property.ts';

interface Process {
  isAlive: boolean;
  isDone: boolean;
  isSuspended: boolean;
  /** How many of its steps under the lock count as running. */
  inside: number;
}

interface Parked {
  readonly process: Process;
  readonly run: () => void;
}

const current = new AsyncLocalStorage<Process>();
let parked: Parked[] = [];

/** From now on each call of the file system by a process waits until it is chosen, and is then carried out at once. */
function gateTheDisk(): void {
  const real = { ...fsPromises };
  const sync = disk as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [name, call] of Object.entries(real)) {
    if (typeof call !== 'function') continue;
    const gated = (...args: unknown[]) => {
      const process = current.getStore();
      if (process === undefined) return (call as (...args: unknown[]) => unknown)(...args);
      return new Promise((resolve, reject) => {
        const run = () => {
          try {
            resolve(sync[`${name}Sync`]?.(...args));
          } catch (err) {
            reject(err);
          }
        };
        parked.push({ process, run });
      });
    };
    Object.assign(fsPromises, { [name]: gated });
  }
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fsPromises, real);
    syncBuiltinESMExports();
  });
}

const never = new Promise<never>(() => undefined);
const TURNS = 2;
const MOST_STEPS = 1_000;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Resolves to how often somebody held the lock. Throws as soon as two do. */
async function run(lock: string, count: number, seed: number): Promise<number> {
  parked = [];
  const clock = handClock('2026-03-10T12:00:00Z');
  let turns = 0;
  let tooMany = false;
  const processes = Array.from({ length: count }, () => {
    const process: Process = { isAlive: true, isDone: false, isSuspended: false, inside: 0 };
    const own: Clock = {
      ...clock,
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal);
        if (!process.isAlive) await never;
      },
    };
    const holder = { kind: 'command', held: new Set<string>() } as const;
    const work = async () => {
      for (let turn = 0; turn < TURNS; turn += 1)
        await withLock(lock, own, holder, async (isHeld) => {
          if (!isHeld) return;
          turns += 1;
          process.inside = 1;
          if (processes.filter(({ inside }) => inside > 0).length > 1) tooMany = true;
          await own.sleep(300);
          process.inside = 0;
        }).catch(() => undefined);
      process.isDone = true;
    };
    void current.run(process, work);
    return process;
  });
  await settled();
  const random = drawFor(seed, count, 'locks');
  const oneOf = <T>(things: readonly T[]): T | undefined => things[Math.floor(random() * things.length)];
  for (let left = MOST_STEPS; left > 0; left -= 1) {
    if (processes.every(({ isAlive, isDone }) => isDone || !isAlive)) break;
    const ready = parked.filter(({ process }) => process.isAlive && !process.isSuspended);
    const victim = oneOf(processes);
    const kind = Math.floor(random() * 64);
    if (kind === 0 && victim) Object.assign(victim, { isAlive: false, inside: 0 });
    else if (kind === 1 && victim) Object.assign(victim, { isSuspended: true, inside: 0 });
    else if (kind === 2 && victim) victim.isSuspended = false;
    else {
      const next = random() < 0.1 ? undefined : oneOf(ready);
      // Time does not outrun a holder that is awake: it touches the lock in time.
      const mayPass = !ready.some(({ process }) => process.inside > 0);
      const step = next ?? (mayPass ? undefined : ready.find(({ process }) => process.inside > 0));
      if (step === undefined) clock.advance(kind < 40 ? 100 : 2_000);
      else {
        parked.splice(parked.indexOf(step), 1);
        step.run();
      }
    }
    await settled();
    if (tooMany) throw new Error('two processes hold the lock');
  }
  return turns;
}

test('of processes that find one lock, stale or not, never do two hold it', async () => {
  const parent = disk.mkdtempSync(join(tmpdir(), 'heat2mqtt-locks-'));
  onTestFinished(() => disk.rmSync(parent, { recursive: true, force: true }));
  gateTheDisk();
  let folders = 0;
  let turns = 0;
  const claim = fc.asyncProperty(
    fc.integer({ min: 2, max: 4 }),
    fc.boolean(),
    fc.nat(),
    async (count, isStale, seed) => {
      folders += 1;
      const folder = join(parent, String(folders));
      disk.mkdirSync(folder);
      const lock = join(folder, 'session.lock');
      if (isStale) {
        disk.mkdirSync(lock);
        disk.writeFileSync(join(lock, 'command-dead'), '');
      }
      turns += await run(lock, count, seed);
    },
  );
  const numRuns = Math.ceil(RUNS / 2);
  await fc.assert(claim, { numRuns });
  // The lock is taken at all.
  expect(turns).toBeGreaterThan(numRuns);
});
