// The terminal and the process as a command sees them, how it refuses words, and how it gets a line of input.
import { once } from 'node:events';
import { basename, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { about } from '../foundation/about.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, type Failure, failure, LAST_VALUES_STAY } from '../foundation/failure.ts';

/** The terminal and the process, as a command sees them. */
export interface Io {
  /** Text that cannot be written ends the process. */
  readonly out: (text: string) => void;
  /** A line of the log. One that cannot be written is lost. */
  readonly log: (line: string) => void;
  readonly err: (text: string) => void;
  /** Asks for one line of input; `null`: there is none. What is typed to a hidden question is not shown. */
  readonly ask: (question: string, isHidden?: boolean) => Promise<string | null>;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
  /** A person sits at the input. */
  readonly isInteractive: boolean;
  readonly columns: number;
  /** Aborts at the first SIGINT or SIGTERM; a second one ends the process at once. */
  readonly interrupted: AbortSignal;
  /** A test lowers what the marks of passwords cost. */
  readonly scryptCost?: number;
}

/** A command cannot do what it is asked to, however often. */
export const refusal = (code: string, message: string, hint?: string, exit: number = EXIT.usage) =>
  failure(code, message, { exit, retry: 'never', hint });

/** Text of a file that may come from anywhere. */
export const shown = (text: string): string => text.slice(0, 200).replace(/\p{Cc}/gu, ' ');

/** The command line cannot be understood. */
export const wrongUsage = (message: string) =>
  refusal('wrong_usage', message, `\`${about.name} --help\` lists commands and options.`);

/** The option is there, but does not take this value. */
export const wrongOption = (name: string, value: unknown, allowed: string) =>
  wrongUsage(`${name}: found ${String(value).slice(0, 20)}; allowed: ${allowed}.`);

/** The words that called the program, so that what is to be typed next works in the same shell. `file`: the one that runs. */
export const typedAs = (file = about.name): string =>
  basename(file) === about.name ? about.name : `node ${relative(process.cwd(), file)}`;

/** A command has no such button. */
const POLL_NOW = /press Poll now(?: \(or send to bridge\/request\/refresh\))?/g;

/** Its hint, without what is so for the daemon only. `again`: how to try once more here. */
export const adviceOf = ({ hint }: Failure, again = 'run this again'): string | undefined =>
  hint?.replace(LAST_VALUES_STAY, '').replace(POLL_NOW, again).trim();

/**
 * The line without its end; `null` at the end of the input, or when the signal aborts. What is typed to a hidden
 * question is not shown; it is asked of a terminal only.
 */
export function openPrompt(
  input: Readable,
  out: (text: string) => void,
  interrupted: AbortSignal,
): (question: string, isHidden?: boolean) => Promise<string | null> {
  // One chunk of the input may have several lines.
  const unread: string[] = [];
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  return async (question, isHidden = false) => {
    out(question);
    if (unread.length === 0 && !input.readableEnded) {
      // A terminal for readline only where it hides: Ctrl-C otherwise reaches the process. It then edits the line, writes it
      // nowhere, and ends at Ctrl-C.
      const hiding = isHidden ? { terminal: true, output: nowhere, historySize: 0 } : { terminal: false };
      const reader = createInterface({ input, signal: interrupted, ...hiding });
      reader.on('line', (line) => unread.push(line));
      await Promise.race([once(reader, 'line'), once(reader, 'close')]);
      reader.close();
    }
    const line = unread.shift() ?? null;
    if (isHidden || line === null) out('\n');
    return line;
  };
}
