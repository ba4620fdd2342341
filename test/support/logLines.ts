// A log whose lines are kept for the test, at the loudest level.
import { createLog, createScrubber, type Log, type Scrubber } from '../../src/foundation/log.ts';

export interface LogLines {
  readonly log: Log;
  readonly scrubber: Scrubber;
  /** As written. */
  readonly lines: readonly string[];
  /** Messages of one level, oldest first. */
  messages(level: 'info' | 'warn' | 'error'): string[];
}

export function logLines(): LogLines {
  const lines: string[] = [];
  const scrubber = createScrubber();
  return {
    log: createLog({ level: 'trace', scrubber, write: (line) => void lines.push(line) }),
    scrubber,
    lines,
    messages: (level) =>
      lines
        .map((line) => JSON.parse(line))
        .filter((line) => line.level === level)
        .map(({ msg }) => msg),
  };
}
