// A document that follows what it is written from: at once when it has rested, together when it has not, never lost.
import { expect, test } from 'vitest';
import { Autosave } from '../../src/store/autosave.ts';
import { handClock } from '../support/clock.ts';

/** Writes that take as long as the test says. */
function scene() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const ends: (() => void)[] = [];
  let begun = 0;
  const autosave = new Autosave(() => {
    begun += 1;
    return new Promise<void>((resolve) => ends.push(resolve));
  }, clock);
  return {
    clock,
    autosave,
    begun: () => begun,
    async end(afterMs: number) {
      clock.advance(afterMs);
      ends.shift()?.();
      for (let n = 0; n < 10; n += 1) await Promise.resolve();
    },
  };
}

test('the first change is written at once, what follows meanwhile together after a rest', async () => {
  const { clock, autosave, begun, end } = scene();
  autosave.changed();
  autosave.changed();
  autosave.changed();
  expect(begun()).toBe(1);
  await end(10);
  expect(begun()).toBe(1);
  clock.advance(999);
  autosave.changed();
  expect(begun()).toBe(1);
  clock.advance(1);
  expect(begun()).toBe(2);
  await end(0);
  clock.advance(3_600_000);
  expect([begun(), clock.sleepers]).toEqual([2, 0]);
});

test('after a write that took very long it rests for a minute', async () => {
  const { clock, autosave, begun, end } = scene();
  autosave.changed();
  await end(10_000);
  autosave.changed();
  clock.advance(59_999);
  expect(begun()).toBe(1);
  clock.advance(1);
  expect(begun()).toBe(2);
});

test('a write that takes no time needs no rest', async () => {
  const { autosave, begun, end } = scene();
  for (const times of [1, 2, 3]) {
    autosave.changed();
    expect(begun()).toBe(times);
    await end(0);
  }
});

test('at the end nobody rests: every change is on the disk once it is saved', async () => {
  const { clock, autosave, begun, end } = scene();
  autosave.changed();
  await end(10);
  autosave.changed();
  let isSaved = false;
  const saved = autosave.saved().then(() => {
    isSaved = true;
  });
  expect([begun(), clock.sleepers]).toEqual([2, 0]);
  autosave.changed();
  await end(10);
  expect([begun(), isSaved]).toEqual([3, false]);
  await end(10);
  await saved;
  expect([begun(), clock.sleepers]).toEqual([3, 0]);
});
