// Who has typed the page's password: sessions in memory, and attempts that are slowed down for each address.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../foundation/clock.ts';
import { networkOf } from './addresses.ts';

const LONGEST_SESSION_MS = 14 * 24 * 3_600_000;
const MOST_SESSIONS = 100;
const LONGEST_WAIT_MS = 60_000;
const FORGOTTEN_AFTER_MS = 3_600_000;
const MOST_ADDRESSES = 1_000;

type Read = () => Promise<string>;

interface Session {
  readonly password: Buffer;
  readonly until: number;
  readonly ending: AbortController;
}

export class Sessions {
  readonly #readPassword: Read;
  readonly #clock: Clock;
  readonly #attempts: Attempts;
  /** Digests of tokens; `password`: that of the password with which it was opened, so that a new one ends it. */
  readonly #open = new Map<string, Session>();
  readonly #key = randomBytes(32);

  constructor(readPassword: Read, clock: Clock) {
    this.#readPassword = readPassword;
    this.#clock = clock;
    this.#attempts = new Attempts(clock);
  }

  /** A token, or how long to wait before the next attempt. Rejects when the password cannot be read. */
  async signIn(
    typed: string,
    address: string,
  ): Promise<{ readonly token: string } | { readonly waitMs: number; readonly isWrong: boolean }> {
    const waitMs = this.#attempts.waitMs(address);
    if (waitMs > 0) return { waitMs, isWrong: false };
    // Counted at once: a thousand guesses at the same moment are a thousand guesses.
    this.#attempts.count(address);
    const password = this.#digest(await this.#readPassword());
    if (!timingSafeEqual(password, this.#digest(typed)))
      return { waitMs: this.#attempts.waitMs(address), isWrong: true };
    this.#attempts.forget(address);
    const token = randomBytes(32).toString('base64url');
    const until = this.#clock.now() + LONGEST_SESSION_MS;
    this.#open.set(this.#name(token), { password, until, ending: new AbortController() });
    const [oldest] = this.#open.keys();
    if (this.#open.size > MOST_SESSIONS && oldest !== undefined) this.#close(oldest);
    return { token };
  }

  async isOpen(token: string | undefined): Promise<boolean> {
    const session = token === undefined ? undefined : this.#open.get(this.#name(token));
    if (session === undefined) return false;
    const password = await this.#readPassword().catch(() => null);
    if (session.until <= this.#clock.now() || password === null) return false;
    return timingSafeEqual(session.password, this.#digest(password));
  }

  end(token: string | undefined): void {
    if (token !== undefined) this.#close(this.#name(token));
  }

  /** Aborts when the session is ended. Age and another password are for `isOpen` to notice. */
  ending(token: string | undefined): AbortSignal | undefined {
    return token === undefined ? undefined : this.#open.get(this.#name(token))?.ending.signal;
  }

  #close(name: string): void {
    this.#open.get(name)?.ending.abort();
    this.#open.delete(name);
  }

  #digest(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }

  #name(token: string): string {
    return this.#digest(token).toString('base64');
  }
}

/** Each wrong attempt doubles the wait before the next one from the same address, up to a minute. */
class Attempts {
  readonly #clock: Clock;
  readonly #byAddress = new Map<
    string,
    { readonly wrong: number; readonly at: number; readonly freeAt: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  waitMs(address: string): number {
    return Math.max(0, (this.#of(address)?.freeAt ?? 0) - this.#clock.monotonic());
  }

  count(address: string): void {
    const wrong = (this.#of(address)?.wrong ?? 0) + 1;
    const at = this.#clock.monotonic();
    this.forget(address);
    this.#byAddress.set(networkOf(address), {
      wrong,
      at,
      freeAt: at + Math.min(500 * 2 ** wrong, LONGEST_WAIT_MS),
    });
    const [oldest] = this.#byAddress.keys();
    if (this.#byAddress.size > MOST_ADDRESSES && oldest !== undefined) this.#byAddress.delete(oldest);
  }

  forget(address: string): void {
    this.#byAddress.delete(networkOf(address));
  }

  #of(address: string) {
    const known = this.#byAddress.get(networkOf(address));
    return known && this.#clock.monotonic() - known.at < FORGOTTEN_AFTER_MS ? known : undefined;
  }
}
