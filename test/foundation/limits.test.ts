// Limits of rate and concurrency, under a clock moved by hand.
import { expect, test } from 'vitest';
import {
  Paced,
  PacedQueue,
  RateLimit,
  SingleFlight,
  Throttle,
  ThrottledLog,
} from '../../src/foundation/limits.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

test('a rate limit allows a start when the oldest one leaves the window', () => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const limit = new RateLimit(clock, 2, 1_000);
  expect(limit.tryStart()).toBe(true);
  clock.advance(400);
  expect(limit.tryStart()).toBe(true);
  expect(limit.tryStart()).toBe(false);
  expect(limit.waitMs()).toBe(600);
  clock.advance(600);
  expect(limit.waitMs()).toBe(0);
  expect(limit.tryStart()).toBe(true);
  expect(limit.waitMs()).toBe(400);
});

test('a throttle rests a hundred times as long as the work took, and a minute at most', () => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const throttle = new Throttle(clock);
  expect(throttle.restMs()).toBeLessThanOrEqual(0);
  const end = throttle.begin();
  clock.advance(5);
  end();
  expect(throttle.restMs()).toBe(500);
  clock.advance(500);
  const endOfSlowWork = throttle.begin();
  clock.advance(10_000);
  endOfSlowWork();
  expect(throttle.restMs()).toBe(60_000);
});

test('a paced step runs once for all who have asked, and rests before it runs again', () => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const ran: number[] = [];
  const paced = new Paced(clock, 10_000, () => void ran.push(clock.monotonic()));
  for (let count = 0; count < 5_000; count += 1) paced.ask(2_000);
  // One that is planned stays where it is.
  clock.advance(1_000);
  paced.ask(2_000);
  clock.advance(1_000);
  expect(ran).toEqual([2_000]);
  for (let count = 0; count < 5_000; count += 1) paced.ask();
  clock.advance(9_999);
  expect(ran).toEqual([2_000]);
  clock.advance(1);
  clock.advance(60_000);
  expect(ran).toEqual([2_000, 12_000]);
  paced.ask();
  expect(ran).toEqual([2_000, 12_000, 72_000]);
  paced.ask();
  paced.cancel();
  clock.advance(60_000);
  expect(ran).toHaveLength(3);
  expect(clock.sleepers).toBe(0);
});

test('a paced queue runs its steps in order, so many within a window, and takes none when it is full', () => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const ran: number[] = [];
  const queue = new PacedQueue(clock, { most: 2, windowMs: 1_000, longest: 3 });
  const taken = Array.from({ length: 7 }, (_, at) => queue.add(() => void ran.push(at)));
  expect(taken).toEqual([true, true, true, true, true, false, false]);
  expect(ran).toEqual([0, 1]);
  clock.advance(999);
  expect(ran).toEqual([0, 1]);
  clock.advance(1);
  expect(ran).toEqual([0, 1, 2, 3]);
  expect(queue.add(() => void ran.push(7))).toBe(true);
  clock.advance(1_000);
  expect(ran).toEqual([0, 1, 2, 3, 4, 7]);
  clock.advance(5_000);
  queue.add(() => void ran.push(8));
  expect(ran.at(-1)).toBe(8);
  expect(clock.sleepers).toBe(0);
});

test('a single flight gives its result to all who call while it is under way, and begins anew afterwards', async () => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const step = async () => ++runs;
  const [one, other] = await Promise.all([flight.run(step), flight.run(step)]);
  expect([one, other, flight.current]).toEqual([1, 1, null]);
  expect(await flight.run(step)).toBe(2);
  await expect(flight.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await flight.run(step)).toBe(3);
});

test('a throttled log writes the first line of a kind, then one an hour with the number left out', () => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const { log, lines } = logLines();
  const throttled = new ThrottledLog(clock, log);
  const write = (kind = 'kind') => throttled.write('warn', kind, { kind }, 'words');
  write();
  write();
  write();
  write('other');
  clock.advance(3_600_000);
  write();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { kind: 'kind', msg: 'words' },
    { kind: 'other' },
    { kind: 'kind', repeated: 2 },
  ]);
  expect(lines[0]).not.toContain('repeated');
});
