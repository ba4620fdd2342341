// A person: types into a command, signs in with a browser, and reads codes from an authenticator app.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { ENTRY } from '../e2e/program.ts';
import { Browser, type Page } from '../simulator/browser.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { ME, OTP_SECRET } from './realm.ts';

/** A command of the built program in a terminal, which waits for what is typed. */
export function converse(stack: Stack, args: readonly string[]) {
  const { PATH = '', HOME = '/' } = process.env;
  const command = [process.execPath, ENTRY, ...args].map((word) => `'${word}'`).join(' ');
  // The one that Debian cannot do without; its exit code is that of the command.
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { PATH, HOME, TERM: 'xterm' },
    stdio: 'pipe',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (said += String(bytes)));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  stack.defer(() => {
    child.kill('SIGKILL');
    return exited;
  });
  return {
    exited,
    get said() {
      return said;
    },
    /** Waits until it has said so, and gives the first group. */
    async says(pattern: RegExp): Promise<string> {
      const found = await waitFor(`the command to say ${pattern}`, () => pattern.exec(said), {
        diagnose: () => said,
      });
      return found[1] ?? '';
    },
    type: (line: string) => void child.stdin.write(`${line}\n`),
  };
}

/** Opens the address, signs in, and answers what comes after it with the button of that name. */
export async function signIn(address: string, button?: 'accept' | 'cancel'): Promise<Page> {
  const browser = new Browser();
  const page = await browser.signIn(address, ME.username, ME.password);
  return button === undefined ? page : browser.post(page, { [button]: 'Yes' });
}

/** RFC 6238: six digits, half a minute each. */
export function oneTimeCode(now = Date.now()): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)));
  const hash = createHmac('sha1', OTP_SECRET).update(counter).digest();
  const at = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
