// How close two times of a cron expression come, against what node-cron itself says next.
import { createTask } from 'node-cron';
import { expect, test } from 'vitest';
import { shortestGapMinutes } from '../../src/config/cronGap.ts';

test.each([
  ['23 */4 * * *', 240],
  ['* * * * *', 1],
  ['* * * * * *', 0],
  ['*/30 7 * * * *', 0],
  ['5 */15 * * * *', 15],
  ['*/15 * * * *', 15],
  ['*/25 * * * *', 10],
  ['0,5 3 * * *', 5],
  ['30 1,2 * * 1-5', 60],
  ['0 0 1 1 *', 1440],
  ['10-30/10 6-8 * * MON', 10],
  ['50 23 * * *', 1440],
  ['55,5 0,23 * * *', 10],
  ['0 0-23/3 * * *', 180],
])('%s: %i minutes', (expression, minutes) => {
  expect(shortestGapMinutes(expression)).toBe(minutes);
  const task = createTask(expression, () => undefined, { timezone: 'UTC' });
  const runs = task.getNextRuns(100).map((run) => run.getTime());
  void task.destroy();
  const gaps = runs.slice(1).map((next, at) => next - (runs[at] ?? 0));
  // Its days of the week and of the month only make gaps longer.
  const shortest = Math.floor(Math.min(...gaps) / 60_000);
  expect(shortest).toBeGreaterThanOrEqual(minutes);
  if (/\* \* \*$/.test(expression)) expect(shortest).toBe(minutes);
});
