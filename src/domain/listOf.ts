// A list in the schema of an answer of others, which may be as strange as it is long.
import * as z from 'zod';

/**
 * Read up to the first row that is not as expected: to put down what is wrong with each of a hundred thousand takes seconds and
 * 270 MB.
 */
export const listOf = <T>(row: z.ZodType<T>, most = Number.POSITIVE_INFINITY): z.ZodType<T[], unknown[]> =>
  z
    .array(z.unknown())
    .refine(({ length }) => length <= most, { error: `at most ${most} rows`, abort: true })
    .transform((given, { issues }) => {
      const rows: T[] = [];
      for (const [at, one] of given.entries()) {
        const { data, error } = row.safeParse(one);
        const [issue] = error?.issues ?? [];
        if (issue !== undefined) {
          issues.push({ ...issue, input: one, path: [at, ...issue.path] } as z.core.$ZodRawIssue);
          return z.NEVER;
        }
        rows.push(data as T);
      }
      return rows;
    });

/** A list with more rows that cannot be read is refused. */
const MOST_UNREADABLE = 100;

/**
 * The same, but rows that are not as expected are left out, and given back as they came. It is no such list where they are more than
 * half of its rows, or very many.
 */
export const mostOf = <T>(row: z.ZodType<T>, most: number) =>
  z
    .array(z.unknown())
    .refine(({ length }) => length <= most, { error: `at most ${most} rows`, abort: true })
    .transform((given, { issues }) => {
      const rows: T[] = [];
      const unreadable: unknown[] = [];
      for (const [at, one] of given.entries()) {
        const { data, error } = row.safeParse(one);
        if (error === undefined) rows.push(data as T);
        else unreadable.push(one);
        const [issue] = error?.issues ?? [];
        if (issue !== undefined && unreadable.length > Math.min(given.length / 2, MOST_UNREADABLE)) {
          issues.push({ ...issue, input: one, path: [at, ...issue.path] } as z.core.$ZodRawIssue);
          return z.NEVER;
        }
      }
      return { rows, unreadable };
    });
