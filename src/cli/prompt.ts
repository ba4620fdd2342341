// Questions to a person: one line of standard input each.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

/**
 * The line without its end; `null` at the end of the input, or when the signal aborts. What is typed to a hidden
 * question is not shown; it is asked of a terminal only, and before all others.
 */
export function openPrompt(
  input: Readable,
  out: (text: string) => void,
  interrupted: AbortSignal,
): (question: string, isHidden?: boolean) => Promise<string | null> {
  let lines: AsyncIterator<string> | null = null;
  return async (question, isHidden = false) => {
    if (isHidden) return hiddenLine(question, input, out, interrupted);
    // Not a terminal for readline: Ctrl-C then reaches the process.
    lines ??= createInterface({ input, terminal: false, signal: interrupted })[Symbol.asyncIterator]();
    out(question);
    const { value, done } = await lines.next();
    if (done) out('\n');
    return done ? null : value;
  };
}

/** Readline edits the line and writes it nowhere. Ctrl-C ends the input. */
async function hiddenLine(
  question: string,
  input: Readable,
  out: (text: string) => void,
  signal: AbortSignal,
): Promise<string | null> {
  out(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0, signal });
  const [line = null] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  lines.close();
  out('\n');
  return line;
}
