#!/usr/bin/env node
// The process: what it is given, and how it ends.
import { type Io, openPrompt } from './cli/command.ts';
import { exitCodeOf } from './cli/commands.ts';
import { systemClock } from './foundation/clock.ts';
import { EXIT } from './foundation/failure.ts';

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
process.exitCode = await exitCodeOf(process.argv.slice(2), io);
// A request that hangs must not keep the process alive: everything that had to be done is done.
setTimeout(() => process.exit(), LINGER_MS).unref();
