// Runs the steps of a shutdown in order, each with a deadline, each followed by the next whatever happened.
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

interface Step {
  readonly name: string;
  readonly deadlineMs: number;
  readonly run: () => Promise<void> | void;
}

/** Resolves when every step has ended or run out of time. */
export async function shutDown(steps: readonly Step[], clock: Clock, log: Log): Promise<void> {
  for (const { name, deadlineMs, run } of steps) {
    const ended = new AbortController();
    const late = clock.sleep(deadlineMs, ended.signal).then(() => 'late');
    try {
      if ((await Promise.race([run(), late])) === 'late')
        log.warn({ step: name, deadlineMs }, 'shutdown step ran out of time');
    } catch (err) {
      log.error({ step: name, err }, 'shutdown step failed');
    } finally {
      ended.abort();
    }
  }
}
