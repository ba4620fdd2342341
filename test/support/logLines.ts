// A log whose lines are kept for the test, at the loudest level.
import { createLog, createScrubber } from '../../src/foundation/log.ts';

export function logLines() {
  const lines: string[] = [];
  const scrubber = createScrubber();
  return {
    log: createLog({ level: 'trace', scrubber, write: (line) => void lines.push(line) }),
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
