// Runs the steps of a shutdown in order, each with a deadline, each followed by the next whatever happened.
import { type Clock, deadline } from './clock.ts';
import type { Log } from './log.ts';

export interface Step {
  readonly name: string;
  readonly deadlineMs: number;
  readonly run: () => Promise<void> | void;
}

/** Resolves when every step has ended or run out of time. */
export async function shutDown(steps: readonly Step[], clock: Clock, log: Log): Promise<void> {
  for (const { name, deadlineMs, run } of steps) {
    const limit = deadline(clock, deadlineMs);
    const late = new Promise<'late'>((resolve) => {
      limit.signal.addEventListener('abort', () => resolve('late'));
    });
    try {
      const ended = await Promise.race([Promise.resolve(run()), late]);
      if (ended === 'late') log.warn({ step: name, deadlineMs }, 'shutdown step ran out of time');
    } catch (err) {
      log.error({ step: name, err }, 'shutdown step failed');
    } finally {
      limit.clear();
    }
  }
}
