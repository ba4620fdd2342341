// A person: types into a command, signs in with a browser, and reads codes from an authenticator app.
import { Secret, TOTP } from 'otpauth';
import { ENTRY } from '../e2e/program.ts';
import { Browser, type Page } from '../simulator/browser.ts';
import { startChild } from '../support/child.ts';
import type { Stack } from '../support/stack.ts';
import { ME, OTP_SECRET } from './realm.ts';

/** A command of the built program in a terminal, which waits for what is typed. */
export function converse(stack: Stack, args: readonly string[]) {
  const command = [process.execPath, ENTRY, ...args].map((word) => `'${word}'`).join(' ');
  // The one that Debian cannot do without; its exit code is that of the command.
  const script = ['--quiet', '--return', '--command', command, '/dev/null'];
  return stack.use(startChild('script', script, { env: { TERM: 'xterm' }, isTypedTo: true }));
}

/** Opens the address, signs in, and answers what comes after it with the button of that name. */
export async function signIn(address: string, button?: 'accept' | 'cancel'): Promise<Page> {
  const browser = new Browser();
  const page = await browser.signIn(address, ME.username, ME.password);
  return button === undefined ? page : browser.post(page, { [button]: 'Yes' });
}

/** What an authenticator app shows now. */
export const oneTimeCode = (): string => new TOTP({ secret: Secret.fromUTF8(OTP_SECRET) }).generate();
