// Checks across sections, and against the day of today. They also run when other keys are wrong.
import { isMapping, textAt, valueAt } from './rawConfig.ts';
import { fileSchema } from './schema.ts';

interface Context {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  readonly validateCron: ((expression: string) => boolean) | undefined;
  /** Where a configuration file was looked for, when there is none. */
  readonly lookedIn: readonly string[];
}

/** The schema of the file with these checks. */
export function schemaFor({ now, validateCron, lookedIn }: Context) {
  // Any value may be of a wrong type, told by the schema itself.
  return fileSchema.superRefine(
    (config: unknown, { addIssue }) => {
      const report = (path: string[], message: string, found?: string) =>
        addIssue({ code: 'custom', path, message, params: { found } });

      const accounts = valueAt(config, ['accounts']);
      const count = Array.isArray(accounts) ? accounts.length : undefined;
      if (count === 0 && valueAt(config, ['constituencies']) === undefined) {
        const noFile = lookedIn.length === 0 ? '' : `, and no configuration file (${lookedIn.join(', ')})`;
        report(
          ['accounts'],
          'at least one of the two sections; `heat2mqtt config example` prints a file to begin with',
          `neither accounts nor constituencies${noFile}`,
        );
      }
      if (count && valueAt(config, ['provider']) === undefined)
        report(['provider'], 'with accounts: issuer, api_url and client_id of their provider');

      const cron = ['usage', 'schedule'];
      const expression = textAt(config, cron);
      if (expression !== undefined && validateCron?.(expression) === false)
        report(cron, 'a cron expression of 5 or 6 fields, each in its range');

      const since = ['usage', 'history_since'];
      const today = localDay(now, textAt(config, ['usage', 'timezone']));
      if ((textAt(config, since) ?? '') > today)
        report(since, `a day as YYYY-MM-DD, from 2000-01-01 until ${today}`);
    },
    { when: ({ value }) => isMapping(value) },
  );
}

function localDay(now: number, timeZone: string | undefined): string {
  const moment = new Date(now);
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(moment);
  } catch {
    return moment.toISOString().slice(0, 10);
  }
}
