// One command line from words to an exit code: a Failure becomes a message.
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Io } from './command.ts';
import { runCommandLine } from './commands.ts';

/** Runs the command. Never rejects. */
export async function exitCodeOf(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await runCommandLine(argv, io);
  } catch (err) {
    const isKnown = err instanceof Failure;
    io.err(isKnown ? messageOf(err) : `heat2mqtt: unexpected fault: ${stackOf(err)}\n`);
    return isKnown ? err.exitCode : EXIT.unexpected;
  }
}

function messageOf({ message, exitCode, hint }: Failure): string {
  // Each line about an invalid configuration already says what is allowed.
  return exitCode === EXIT.config || !hint ? `${message}\n` : `${message}\n${hint}\n`;
}

/** Where it was thrown, without the message: that may quote a secret. */
function stackOf(err: unknown): string {
  if (!(err instanceof Error)) return typeof err;
  const lines = err.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return [err.name, ...lines.slice(0, 5)].join('\n');
}
