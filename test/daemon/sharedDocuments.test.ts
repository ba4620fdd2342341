// The documents that several readers of the page get at the same moment.
import { expect, test } from 'vitest';
import { sharedDocuments } from '../../src/daemon/monitor/sharedDocuments.ts';
import { RetainedDiff } from '../../src/publication/retainedDiff.ts';
import { handClock } from '../support/clock.ts';

function opened() {
  const clock = handClock('2025-03-10T12:00:00Z');
  const done: string[] = [];
  const compose = (owner: string) => {
    done.push(`composed ${owner}`);
    const write = () => {
      done.push(`written ${owner}`);
      return { topic: owner, payload: `${done.length}`, retain: true };
    };
    return [{ topic: owner, write }];
  };
  const shared = sharedDocuments(compose, clock);
  const read = (owner: string) =>
    new RetainedDiff().take(owner, shared.of(owner)).map(({ payload }) => payload);
  return { clock, done, shared, read };
}

test('composes and writes once for all readers of a moment', () => {
  const { done, read } = opened();
  const first = read('home');
  for (let reader = 0; reader < 500; reader += 1) expect(read('home')).toEqual(first);
  read('flat');
  expect(done).toEqual(['composed home', 'written home', 'composed flat', 'written flat']);
});

test.each([
  ['something has changed', ({ shared }: ReturnType<typeof opened>) => shared.forget('home')],
  ['the moment is over', ({ clock }: ReturnType<typeof opened>) => clock.advance(250)],
])('composes anew when %s', (_, change) => {
  const all = opened();
  const before = all.read('home');
  change(all);
  expect(all.read('home')).not.toEqual(before);
});
