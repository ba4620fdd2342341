// Passwords and one-time codes, and the lock that counts the wrong ones however they came in.
import type { Clock } from '../../foundation/clock.ts';
import type { Account } from '../accounts.ts';
import type { Counters, Exchange } from '../exchange.ts';
import type { Switches } from '../switches.ts';

export class Credentials {
  readonly #clock: Clock;
  readonly #accounts: readonly Account[];
  readonly #switches: Switches;
  readonly #counters: Counters;
  readonly #usedCodes = new Map<string, string>();
  readonly #wrong = new Map<string, { count: number; lockedUntil: number }>();

  constructor(clock: Clock, accounts: readonly Account[], switches: Switches, counters: Counters) {
    this.#clock = clock;
    this.#accounts = accounts;
    this.#switches = switches;
    this.#counters = counters;
  }

  account(username = ''): Account | undefined {
    return this.#accounts.find((one) => one.username.toLowerCase() === username.toLowerCase());
  }

  /** The account, when its password is right and, for a grant that brings everything at once, its one-time code too. */
  login(exchange: Exchange, username = '', password = '', code?: { readonly totp: string | undefined }) {
    const account = this.account(username);
    if (!account) return undefined;
    const isRight = password === account.password && (!code || this.#isCode(account, code.totp));
    return this.#passes(exchange, account, isRight) ? account : undefined;
  }

  oneTimeCodePasses(exchange: Exchange, account: Account, code: string | undefined): boolean {
    return this.#passes(exchange, account, this.#isCode(account, code));
  }

  wantsOneTimeCode({ username }: Account): boolean {
    return this.#switches.token.oneTimeCodes.has(username);
  }

  /** The login is complete: wrong tries before it no longer count. */
  succeeded({ username }: Account): void {
    this.#wrong.delete(username);
  }

  /** A code that follows the time serves once. */
  #isCode({ username }: Account, given: string | undefined): boolean {
    const code = this.#switches.token.oneTimeCodes.get(username);
    if (code === undefined || typeof code === 'string') return code === undefined || given === code;
    if (given !== code() || given === this.#usedCodes.get(username)) return false;
    this.#usedCodes.set(username, given);
    return true;
  }

  /** While the lock holds, and for the later of two logins at a time, what is right is refused as if it were wrong. */
  #passes(exchange: Exchange, { username }: Account, isRight: boolean): boolean {
    const { lockAfterWrongPasswords, lockSeconds } = this.#switches.token;
    if (lockAfterWrongPasswords < Number.POSITIVE_INFINITY && this.#counters.isSecondLogin(exchange))
      return false;
    const now = this.#clock.now();
    const tries = this.#wrong.get(username) ?? { count: 0, lockedUntil: 0 };
    if (now < tries.lockedUntil) return false;
    if (isRight) return true;
    const count = tries.count + 1;
    const isLocked = count >= lockAfterWrongPasswords;
    const lockedUntil = isLocked ? now + lockSeconds * 1000 : 0;
    this.#wrong.set(username, { count: isLocked ? 0 : count, lockedUntil });
    return false;
  }
}
