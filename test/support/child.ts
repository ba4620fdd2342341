// A child process of a test: what it has said so far, and how it ended.
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { waitFor } from './waitFor.ts';

export type Child = ReturnType<typeof startChild>;

export interface ChildOptions {
  /** Beside PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Its input stays open, for what is typed. */
  readonly isTypedTo?: boolean;
}

export function startChild(command: string, args: readonly string[], options: ChildOptions = {}) {
  const { env = {}, cwd = tmpdir(), isTypedTo = false } = options;
  const { PATH = '', HOME = '/' } = process.env;
  const child = spawn(command, args, { cwd, env: { PATH, HOME, ...env }, stdio: 'pipe' });
  let output = '';
  let errors = '';
  let isGone = false;
  if (!isTypedTo) child.stdin.end();
  child.stdout.on('data', (bytes) => (output += String(bytes)));
  child.stderr.on('data', (bytes) => (errors += String(bytes)));
  child.on('error', (err) => (errors += err.message));
  /** Resolves to the exit code, `null` after a signal that was not handled. */
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isGone = true;
      resolve(code);
    });
  });
  /** Sends the signal, and resolves to exit code and milliseconds. */
  async function end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL') {
    const began = performance.now();
    child.kill(signal);
    return { code: await exited, ms: performance.now() - began };
  }
  return {
    get output() {
      return output;
    },
    get errors() {
      return errors;
    },
    pid: child.pid,
    exited,
    /** Gives the first group, or all that was looked for. */
    async says(text: string | RegExp): Promise<string> {
      const match = await waitFor(`the program to say ${text}`, () => output.match(text), {
        diagnose: () => ({ output: output.slice(-2_000), errors: errors.slice(-2_000) }),
      });
      return match[1] ?? match[0];
    },
    type: (line: string) => void child.stdin.write(`${line}\n`),
    end,
    signal: (signal: 'SIGSTOP' | 'SIGCONT') => void child.kill(signal),
    async stop(): Promise<void> {
      if (!isGone) await end('SIGKILL');
    },
  };
}
