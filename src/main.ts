#!/usr/bin/env node
// Runs the command line, and turns a Failure into a message and an exit code.
import type { Io } from './cli/command.ts';
import { runCommandLine } from './cli/commands.ts';
import { openPrompt } from './cli/prompt.ts';
import { systemClock } from './foundation/clock.ts';
import { EXIT, Failure } from './foundation/failure.ts';

const LINGER_MS = 250;

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted.signal.aborted) process.exit(EXIT.unexpected);
    interrupted.abort();
  });
}
// A reader that closes the pipe (`heat2mqtt usage | head`) is not an error.
process.stdout.on('error', (err: NodeJS.ErrnoException) => {
  if (err.code !== 'EPIPE') throw err;
  process.exit(EXIT.fine);
});

const out = (text: string) => void process.stdout.write(text);
const io: Io = {
  out,
  err: (text) => process.stderr.write(text),
  ask: openPrompt(process.stdin, out, interrupted.signal),
  clock: systemClock,
  env: process.env,
  isTerminal: process.stdout.isTTY === true,
  isInteractive: process.stdin.isTTY === true,
  columns: process.stdout.columns ?? 100,
  interrupted: interrupted.signal,
};
try {
  process.exitCode = await runCommandLine(process.argv.slice(2), io);
} catch (err) {
  const isKnown = err instanceof Failure;
  io.err(isKnown ? messageOf(err) : `heat2mqtt: unexpected fault: ${stackOf(err)}\n`);
  process.exitCode = isKnown ? err.exitCode : EXIT.unexpected;
}
// A request that hangs must not keep the process alive: everything that had to be done is done.
setTimeout(() => process.exit(), LINGER_MS).unref();

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
