// What --from, --to and --interval mean, and what they may not be.
import { expect, test } from 'vitest';
import { periodOf, periodOptions } from '../../src/cli/usage.ts';

const TODAY = '2025-03-31';
const spanOf = (options: Record<string, string>) => {
  const { span, interval, wasShortened } = periodOf(periodOptions(options), TODAY);
  return [interval, span.from, span.to, wasShortened];
};

test.each<[Record<string, string>, ReturnType<typeof spanOf>]>([
  [{}, ['day', '2025-03-01', '2025-04-01', false]],
  [{ interval: 'week' }, ['week', '2025-01-06', '2025-04-01', false]],
  [{ interval: 'month' }, ['month', '2024-03-01', '2025-04-01', false]],
  [{ interval: 'quarter' }, ['quarter', '2023-01-01', '2025-04-01', false]],
  [{ interval: 'year' }, ['year', '2021-01-01', '2025-04-01', false]],
  [{ interval: 'month', from: '2025-01-15', to: '2025-03-30' }, ['month', '2025-01-15', '2025-03-31', false]],
  [{ to: '2025-02-10' }, ['day', '2025-01-11', '2025-02-11', false]],
  [{ from: '2025-03-31', to: '2026-01-01' }, ['day', '2025-03-31', '2025-04-01', true]],
])('%j', (options, expected) => {
  expect(spanOf(options)).toEqual(expected);
});

test.each<[Record<string, string>, string]>([
  [{ from: 'yesterday' }, '--from: found yesterday; allowed: a day as YYYY-MM-DD'],
  [{ to: '2025-02-30' }, '--to: found 2025-02-30; allowed: a day as YYYY-MM-DD'],
  [{ from: '0205-01-01' }, '--from: found 0205-01-01; allowed: a day as YYYY-MM-DD, from 2000-01-01 on.'],
  [{ from: '2025-03-02', to: '2025-03-01' }, '--from 2025-03-02 is after --to 2025-03-01.'],
  [
    { from: '2025-04-01', to: '2025-05-01' },
    '--from: found 2025-04-01; allowed: a day not after today, 2025-03-31.',
  ],
  [{ interval: 'fortnight' }, '--interval: found fortnight; allowed: day, week, month, quarter, year.'],
])('%j is refused', (options, message) => {
  expect(() => periodOf(periodOptions(options), TODAY)).toThrow(message);
});
