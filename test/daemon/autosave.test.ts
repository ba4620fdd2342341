// A document that follows what it is written from: at once when it has rested, together when it has not, never lost.
import { expect, test } from 'vitest';
import { openUpkeep } from '../../src/daemon/publishing/autosave.ts';
import { handClock } from '../support/clock.ts';

/** Writes that take as long as the test says. */
function scene() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const ends: (() => void)[] = [];
  let begun = 0;
  const upkeep = openUpkeep(() => {
    begun += 1;
    return new Promise((resolve) => ends.push(resolve));
  }, clock);
  return {
    clock,
    upkeep,
    begun: () => begun,
    async end(afterMs: number) {
      clock.advance(afterMs);
      ends.shift()?.();
      for (let n = 0; n < 10; n += 1) await Promise.resolve();
    },
  };
}

test('the first change is written at once, what follows meanwhile together after a rest', async () => {
  const { clock, upkeep, begun, end } = scene();
  upkeep.changed();
  upkeep.changed();
  upkeep.changed();
  expect(begun()).toBe(1);
  await end(10);
  expect(begun()).toBe(1);
  clock.advance(999);
  upkeep.changed();
  expect(begun()).toBe(1);
  clock.advance(1);
  expect(begun()).toBe(2);
  await end(0);
  clock.advance(3_600_000);
  expect([begun(), clock.sleepers]).toEqual([2, 0]);
});

test('after a write that took very long it rests for a minute', async () => {
  const { clock, upkeep, begun, end } = scene();
  upkeep.changed();
  await end(10_000);
  upkeep.changed();
  clock.advance(59_999);
  expect(begun()).toBe(1);
  clock.advance(1);
  expect(begun()).toBe(2);
});

test('a write that takes no time needs no rest', async () => {
  const { upkeep, begun, end } = scene();
  for (const times of [1, 2, 3]) {
    upkeep.changed();
    expect(begun()).toBe(times);
    await end(0);
  }
});

test('at the end nobody rests: every change is on the disk once it is saved', async () => {
  const { clock, upkeep, begun, end } = scene();
  upkeep.changed();
  await end(10);
  upkeep.changed();
  let isSaved = false;
  const saved = upkeep.saved().then(() => {
    isSaved = true;
  });
  expect([begun(), clock.sleepers]).toEqual([2, 0]);
  upkeep.changed();
  await end(10);
  expect([begun(), isSaved]).toEqual([3, false]);
  await end(10);
  await saved;
  expect([begun(), clock.sleepers]).toEqual([3, 0]);
});
