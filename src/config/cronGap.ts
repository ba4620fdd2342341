// How close two times of a cron expression come to one another within a day, or over midnight.

const MINUTES_OF_DAY = 24 * 60;

/** In minutes; 0 for more than one time in a minute. `expression`: valid, of 5 or 6 fields; its days are not looked at. */
export function shortestGapMinutes(expression: string): number {
  const fields = expression.trim().split(/\s+/);
  const [seconds = '', minutes = '', hours = ''] = fields.length === 6 ? fields : ['0', ...fields];
  if (valuesOf(seconds, 59).length > 1) return 0;
  const times = valuesOf(hours, 23).flatMap((hour) =>
    valuesOf(minutes, 59).map((minute) => hour * 60 + minute),
  );
  const following = [...times.slice(1), (times[0] ?? 0) + MINUTES_OF_DAY];
  return Math.min(...following.map((next, at) => next - (times[at] ?? 0)));
}

/** The values that a field stands for, in order. */
function valuesOf(field: string, last: number): number[] {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [from, to] = /^\d/.test(range) ? range.split('-').map(Number) : [0, last];
    const end = to ?? (part.includes('/') ? last : from) ?? last;
    for (let value = from ?? 0; value <= end; value += Math.max(1, Number(step))) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}
