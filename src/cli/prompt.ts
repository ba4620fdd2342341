// Questions to a person: one line of standard input each.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

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
