// How often the public list may be fetched: thirty times in five minutes, four at a time, later when Retry-After says so.
import { expect, test } from 'vitest';
import { FetchLimit } from '../../src/daemon/requests/constituencies.ts';
import { ProviderUnreachable } from '../../src/provider/request.ts';
import { handClock } from '../support/clock.ts';
import { waitFor } from '../support/waitFor.ts';

const START = '2026-03-10T12:00:00Z';

test('the thirty-first fetch within five minutes waits for the first to be that old', async () => {
  const clock = handClock(START);
  const limit = new FetchLimit(clock);
  for (let n = 0; n < 30; n += 1) {
    expect(limit.refusal()).toBeNull();
    await limit.run(async () => n);
    clock.advance(1_000);
  }
  expect(limit.refusal()).toEqual({ reason: 'rate_limit', until: Date.parse(START) + 300_000 });
  clock.advance(269_999);
  expect(limit.refusal()?.reason).toBe('rate_limit');
  clock.advance(1);
  expect(limit.refusal()).toBeNull();
  await limit.run(async () => 0);
  expect(limit.refusal()?.until).toBe(Date.parse(START) + 301_000);
});

test('after Retry-After every question is refused for that long', async () => {
  const clock = handClock(START);
  const limit = new FetchLimit(clock);
  const fault = new ProviderUnreachable('later', { retry: 'later', retryAfterMs: 60_000 });
  await expect(limit.run(() => Promise.reject(fault))).rejects.toBe(fault);
  expect(limit.refusal()).toEqual({ reason: 'retry_after', until: Date.parse(START) + 60_000 });
  clock.advance(60_000);
  expect(limit.refusal()).toBeNull();
});

test('four run at a time, the others in the order they came; a fault makes room', async () => {
  const limit = new FetchLimit(handClock(START));
  const ends: ((fails: boolean) => void)[] = [];
  const runs = Array.from({ length: 6 }, () =>
    limit.run(
      () =>
        new Promise<void>((resolve, reject) => {
          ends.push((fails) => (fails ? reject(new Error('broken')) : resolve()));
        }),
    ),
  );
  const settled = Promise.allSettled(runs);
  await waitFor('four', () => ends.length === 4);
  ends[0]?.(true);
  await expect(runs[0]).rejects.toThrow('broken');
  await waitFor('a fifth', () => ends.length === 5);
  ends[1]?.(false);
  await runs[1];
  await waitFor('the sixth', () => ends.length === 6);
  for (const end of ends) end(false);
  expect((await settled).map(({ status }) => status).sort()).toEqual([
    ...Array(5).fill('fulfilled'),
    'rejected',
  ]);
});
