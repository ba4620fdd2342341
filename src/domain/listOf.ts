// A list in the schema of an answer of others, which may be as strange as it is long.
import * as z from 'zod';

/** A list with more rows that cannot be read is refused. */
const MOST_UNREADABLE = 100;

/**
 * Rows that are not as expected are left out, and given back as they came. It is no such list where they are more than this share of
 * its rows, or very many: then it is read up to there only, for to put down what is wrong with each of a hundred thousand takes seconds
 * and 270 MB.
 */
const rowsIn = <T>(row: z.ZodType<T>, most: number, unreadableShare: number) =>
  z
    .array(z.unknown())
    .refine(({ length }) => length <= most, { error: `at most ${most} rows`, abort: true })
    .transform((given, { issues }) => {
      const mostUnreadable = Math.min(given.length * unreadableShare, MOST_UNREADABLE);
      const rows: T[] = [];
      const unreadable: unknown[] = [];
      for (const [at, one] of given.entries()) {
        const { data, error } = row.safeParse(one);
        const [issue] = error?.issues ?? [];
        if (issue === undefined) {
          rows.push(data as T);
          continue;
        }
        unreadable.push(one);
        if (unreadable.length > mostUnreadable) {
          issues.push({ ...issue, input: one, path: [at, ...issue.path] } as z.core.$ZodRawIssue);
          return z.NEVER;
        }
      }
      return { rows, unreadable };
    });

/** Every row has to be as expected. */
export const listOf = <T>(row: z.ZodType<T>, most = Number.POSITIVE_INFINITY): z.ZodType<T[], unknown[]> =>
  rowsIn(row, most, 0).transform(({ rows }) => rows);

/** Most rows have to be as expected. */
export const mostOf = <T>(row: z.ZodType<T>, most: number) => rowsIn(row, most, 0.5);
