// Questions to a person: one line of standard input each.
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** The line without its end; `null` at the end of the input, or when the signal aborts. */
export function openPrompt(
  input: Readable,
  out: (text: string) => void,
  interrupted: AbortSignal,
): (question: string) => Promise<string | null> {
  let lines: AsyncIterator<string> | null = null;
  return async (question) => {
    // Not a terminal for readline: Ctrl-C then reaches the process.
    lines ??= createInterface({ input, terminal: false, signal: interrupted })[Symbol.asyncIterator]();
    out(question);
    const { value, done } = await lines.next();
    if (done) out('\n');
    return done ? null : value;
  };
}
