// The pace of the public list: thirty fetches in five minutes, four at a time, and patience when it is asked for.
import { expect, test } from 'vitest';
import { openFetchPace } from '../../src/daemon/requests/fetchPace.ts';
import { ProviderUnreachable } from '../../src/provider/request.ts';
import { handClock } from '../support/clock.ts';

const START = '2026-03-10T12:00:00Z';

test('the thirty-first fetch within five minutes waits for the first to be that old', async () => {
  const clock = handClock(START);
  const pace = openFetchPace(clock);
  for (let n = 0; n < 30; n += 1) {
    expect(pace.held()).toBeNull();
    await pace.run(async () => n);
    clock.advance(1_000);
  }
  expect(pace.held()).toEqual({ reason: 'rate_limit', until: Date.parse(START) + 300_000 });
  clock.advance(269_999);
  expect(pace.held()?.reason).toBe('rate_limit');
  clock.advance(1);
  expect(pace.held()).toBeNull();
  await pace.run(async () => 0);
  expect(pace.held()?.until).toBe(Date.parse(START) + 301_000);
});

test('Retry-After holds every question back', async () => {
  const clock = handClock(START);
  const pace = openFetchPace(clock);
  const fault = new ProviderUnreachable('later', { retry: 'later', retryAfterMs: 60_000 });
  await expect(pace.run(() => Promise.reject(fault))).rejects.toBe(fault);
  expect(pace.held()).toEqual({ reason: 'retry_after', until: Date.parse(START) + 60_000 });
  clock.advance(60_000);
  expect(pace.held()).toBeNull();
});

test('four run at a time, the others in the order they came; a fault frees its place', async () => {
  const pace = openFetchPace(handClock(START));
  const ends: ((fails: boolean) => void)[] = [];
  const runs = Array.from({ length: 6 }, () =>
    pace.run(
      () =>
        new Promise<void>((resolve, reject) => {
          ends.push((fails) => (fails ? reject(new Error('broken')) : resolve()));
        }),
    ),
  );
  const settled = Promise.allSettled(runs);
  expect(ends).toHaveLength(4);
  ends[0]?.(true);
  await expect(runs[0]).rejects.toThrow('broken');
  expect(ends).toHaveLength(5);
  ends[1]?.(false);
  await runs[1];
  for (const end of ends) end(false);
  expect((await settled).map(({ status }) => status).sort()).toEqual([
    ...Array(5).fill('fulfilled'),
    'rejected',
  ]);
});
