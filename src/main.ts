#!/usr/bin/env node
// The process: what it is given, and how it ends.
import { fstatSync, writeFileSync } from 'node:fs';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { type Io, openPrompt } from './cli/command.ts';
import { exitCodeOf } from './cli/commandLine.ts';
import { systemClock } from './foundation/clock.ts';
import { EXIT } from './foundation/failure.ts';

const LINGER_MS = 250;
/**
 * Each address of a name is tried so long. Node's quarter of a second is too short for a slow link, and the last address may lead
 * nowhere.
 */
const ADDRESS_MS = 2_500;
setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_MS);

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted.signal.aborted) process.exit(EXIT.unexpected);
    interrupted.abort();
  });
}
const { stdout, stderr } = process;
// Only `out` cares about errors, by its own callback: a line of the log that finds no reader, or no room, is lost, and the daemon
// goes on. A pipe may get another reader later.
for (const stream of [stdout, stderr]) stream.on('error', () => undefined);

const isFile = fstatSync(stdout.fd).isFile();
function out(text: string): void {
  const onWritten = (err?: NodeJS.ErrnoException | null) => {
    if (!err) return;
    // A reader that has seen enough (`heat2mqtt usage | head`) is not an error.
    if (err.code === 'EPIPE') process.exit(EXIT.fine);
    stderr.write(`The output cannot be written (${err.code}).\n`);
    process.exit(EXIT.unexpected);
  };
  if (!isFile) return void stdout.write(text, onWritten);
  try {
    // Node's stream to a file reports no error when a disk that is nearly full takes a part.
    writeFileSync(stdout.fd, text);
  } catch (err) {
    onWritten(err as NodeJS.ErrnoException);
  }
}

const io: Io = {
  out,
  log: (line) => void stdout.write(line),
  err: (text) => stderr.write(text),
  ask: openPrompt(process.stdin, out, interrupted.signal),
  clock: systemClock,
  env: process.env,
  isTerminal: stdout.isTTY === true,
  isInteractive: process.stdin.isTTY === true,
  // A serial console says 0: it does not know.
  columns: stdout.columns || 100,
  interrupted: interrupted.signal,
};
process.exitCode = await exitCodeOf(process.argv.slice(2), io);
// A request that hangs must not keep the process alive: everything that had to be done is done.
setTimeout(() => process.exit(), LINGER_MS).unref();
