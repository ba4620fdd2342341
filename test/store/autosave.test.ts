// A document that follows what it is written from: at once when it has rested, together when it has not, never lost.
import { expect, test } from 'vitest';
import { autosave } from '../../src/store/autosave.ts';
import { handClock } from '../support/clock.ts';

/** Writes that take as long as the test says. */
function scene() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const ends: (() => void)[] = [];
  let begun = 0;
  const document = autosave(() => {
    begun += 1;
    return new Promise<void>((resolve) => ends.push(resolve));
  }, clock);
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let n = 0; n < 10; n += 1) await Promise.resolve();
  };
  return {
    clock,
    document,
    begun: () => begun,
    pass,
    end(afterMs: number) {
      clock.advance(afterMs);
      ends.shift()?.();
      return pass(0);
    },
  };
}

test.each([
  ['the first change is written at once, what follows meanwhile together after a rest', 10, 1_000],
  ['after a write that took very long it rests for a minute', 10_000, 60_000],
])('%s', async (_, writingMs, restMs) => {
  const { clock, document, begun, pass, end } = scene();
  for (let times = 0; times < 3; times += 1) document.changed();
  await pass(0);
  expect(begun()).toBe(1);
  document.changed();
  await end(writingMs);
  document.changed();
  await pass(restMs - 1);
  document.changed();
  await pass(0);
  expect(begun()).toBe(1);
  await pass(1);
  expect(begun()).toBe(2);
  await end(0);
  await pass(3_600_000);
  expect([begun(), clock.sleepers]).toEqual([2, 0]);
});

test('a write that takes no time needs no rest', async () => {
  const { document, begun, pass, end } = scene();
  for (const times of [1, 2, 3]) {
    document.changed();
    await pass(0);
    expect(begun()).toBe(times);
    await end(0);
  }
});

test('at the end nothing rests: every change is on the disk once it is saved', async () => {
  const { clock, document, begun, pass, end } = scene();
  document.changed();
  await pass(0);
  await end(10);
  document.changed();
  await pass(0);
  expect([begun(), clock.sleepers]).toEqual([1, 1]);
  let isSaved = false;
  const saved = document.saved().then(() => {
    isSaved = true;
  });
  await pass(0);
  expect([begun(), clock.sleepers]).toEqual([2, 0]);
  document.changed();
  await end(10);
  expect([begun(), isSaved]).toEqual([3, false]);
  await end(10);
  await saved;
  expect([begun(), clock.sleepers]).toEqual([3, 0]);
});
