// The month of a statement that a person asks for.
import { EXIT, failure } from '../foundation/failure.ts';

/** `complete`: the months that can be had, newest first. Throws no_statement or unknown_month. */
export function chosenMonth(complete: Iterable<string>, wanted: string | undefined): string {
  const months = [...complete];
  const [first, last] = [months.at(-1), months[0]];
  if (first === undefined || last === undefined)
    throw failure('no_statement', 'No month is complete yet.', {
      exit: EXIT.usage,
      retry: 'later',
      hint: 'A month is complete when all of its days are read, or usage.late_after_hours after its end.',
    });
  if (wanted === undefined) return last;
  if (months.includes(wanted)) return wanted;
  throw failure('unknown_month', `month: found ${wanted.slice(0, 20)}; allowed: ${first} to ${last}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'These are the months that are complete, from the first whole one of the history on.',
  });
}
