// A log whose lines are kept for the test.
import { createLog, createScrubber } from '../../src/foundation/log.ts';

export function logLines(level = 'trace') {
  const lines: string[] = [];
  const scrubber = createScrubber();
  return {
    log: createLog({ level, scrubber, write: (line) => void lines.push(line) }),
    scrubber,
    /** As written. */
    lines: lines as readonly string[],
    /** Messages of one level, oldest first. */
    messages: (level: 'info' | 'warn' | 'error'): string[] =>
      lines
        .map((line) => JSON.parse(line))
        .filter((line) => line.level === level)
        .map(({ msg }) => msg),
  };
}
