// Hands the command line to cli, and turns a Failure into a sentence and an exit code.
import * as module from 'node:module';
import { EXIT, Failure } from '../foundation/failure.ts';
import { runCommandLine } from './commands.ts';

const LINGER_MS = 250;

export async function begin(): Promise<void> {
  // Node 22 and newer keep for the next start what V8 has compiled.
  if ('enableCompileCache' in module && typeof module.enableCompileCache === 'function')
    module.enableCompileCache();

  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(EXIT.unexpected);
      interrupted.abort();
    });
  }
  // A pipe that was closed (`heat2mqtt usage | head`) is no fault of ours.
  process.stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (err.code !== 'EPIPE') throw err;
    process.exit(EXIT.fine);
  });

  try {
    process.exitCode = await runCommandLine(process.argv.slice(2), {
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
      env: process.env,
      isTerminal: process.stdout.isTTY === true,
      columns: process.stdout.columns ?? 100,
      interrupted: interrupted.signal,
    });
  } catch (err) {
    const known = err instanceof Failure;
    process.stderr.write(known ? words(err) : `heat2mqtt: unexpected fault: ${shape(err)}\n`);
    process.exitCode = known ? err.exitCode : EXIT.unexpected;
  }

  // A request that hangs must not hold the process: what had to be done is done.
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

function words(failure: Failure): string {
  // The faults of a configuration speak for themselves, a line each.
  if (failure.exitCode === EXIT.config || !failure.hint) return `${failure.message}\n`;
  return `${failure.message}\n${failure.hint}\n`;
}

/** The place, but not the message: it may quote what it should not. */
function shape(err: unknown): string {
  if (!(err instanceof Error)) return typeof err;
  const places = err.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return [err.name, ...places.slice(0, 5)].join('\n');
}
