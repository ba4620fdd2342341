// A shutdown goes on to its end, whatever becomes of its steps.
import { expect, test } from 'vitest';
import { shutDown } from '../../src/foundation/shutdown.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { turn } from '../support/waitFor.ts';

test('takes the next steps in their order when one fails or never ends, and tells that', async () => {
  const clock = handClock('2026-03-10T12:00:00Z');
  const { log, lines } = logLines();
  const taken: string[] = [];
  const step = (name: string, run: () => Promise<void> | void) => {
    const taking = () => {
      taken.push(name);
      return run();
    };
    return { name, deadlineMs: 5_000, run: taking };
  };
  const ended = shutDown(
    [
      step('throws', () => {
        throw new TypeError('oops');
      }),
      step('rejects', () => Promise.reject(new TypeError('oops'))),
      step('hangs', () => new Promise(() => undefined)),
      step('is well', () => undefined),
    ],
    clock,
    log,
  );
  await turn();
  clock.advance(4_999);
  await turn();
  expect(taken).toEqual(['throws', 'rejects', 'hangs']);
  clock.advance(1);
  await ended;
  expect(taken.at(-1)).toBe('is well');
  expect(lines.map((line) => JSON.parse(line)).map(({ step, msg }) => `${step}: ${msg}`)).toEqual([
    'throws: shutdown step failed',
    'rejects: shutdown step failed',
    'hangs: shutdown step ran out of time',
  ]);
  expect(clock.sleepers).toBe(0);
});
