// Who has typed the page's password: sessions in memory, and attempts that are slowed down for each address.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../foundation/clock.ts';
import { networkOf } from './visitor.ts';

const LONGEST_SESSION_MS = 14 * 24 * 3_600_000;
const MOST_SESSIONS = 100;
const LONGEST_WAIT_MS = 60_000;
const FORGOTTEN_AFTER_MS = 3_600_000;
const MOST_ADDRESSES = 1_000;

interface Session {
  /** Digest of the password with which it was opened, so that a new one ends it. */
  readonly password: Buffer;
  readonly until: number;
  readonly ending: AbortController;
}

export type Sessions = ReturnType<typeof createSessions>;

/** `readPassword` may reject: then no session is open. */
export function createSessions(readPassword: () => Promise<string>, clock: Clock) {
  const attempts = createAttempts(clock);
  const key = randomBytes(32);
  const digest = (text: string) => createHmac('sha256', key).update(text).digest();
  /** By the digest of the token, the oldest first. */
  const open = new Map<string, Session>();
  const nameOf = (token: string) => digest(token).toString('base64');
  const find = (token: string | undefined) => (token === undefined ? undefined : open.get(nameOf(token)));
  function close(name: string): void {
    open.get(name)?.ending.abort();
    open.delete(name);
  }

  return {
    /** A token, or how long to wait before the next attempt. Rejects when the password cannot be read. */
    async signIn(typed: string, address: string) {
      const waitMs = attempts.waitMs(address);
      if (waitMs > 0) return { waitMs, isWrong: false };
      // Counted before it is compared: a thousand guesses at the same moment are a thousand guesses.
      attempts.count(address);
      const password = digest(await readPassword());
      if (!timingSafeEqual(password, digest(typed)))
        return { waitMs: attempts.waitMs(address), isWrong: true };
      attempts.forget(address);
      const token = randomBytes(32).toString('base64url');
      const until = clock.now() + LONGEST_SESSION_MS;
      open.set(nameOf(token), { password, until, ending: new AbortController() });
      const [oldest] = open.keys();
      if (open.size > MOST_SESSIONS && oldest !== undefined) close(oldest);
      return { token };
    },

    async isOpen(token: string | undefined): Promise<boolean> {
      const session = find(token);
      if (session === undefined || session.until <= clock.now()) return false;
      const password = await readPassword().catch(() => null);
      return password !== null && timingSafeEqual(session.password, digest(password));
    },

    end(token: string | undefined): void {
      if (token !== undefined) close(nameOf(token));
    },

    /** Aborts when the session is ended. Age and another password are for `isOpen` to notice. */
    ending: (token: string | undefined): AbortSignal | undefined => find(token)?.ending.signal,
  };
}

/** Each wrong attempt doubles the wait before the next one from the same network, up to a minute. */
function createAttempts(clock: Clock) {
  const byNetwork = new Map<
    string,
    { readonly wrong: number; readonly at: number; readonly freeAt: number }
  >();
  const find = (address: string) => {
    const known = byNetwork.get(networkOf(address));
    return known && clock.monotonic() - known.at < FORGOTTEN_AFTER_MS ? known : undefined;
  };
  return {
    waitMs: (address: string) => Math.max(0, (find(address)?.freeAt ?? 0) - clock.monotonic()),
    count(address: string): void {
      const wrong = (find(address)?.wrong ?? 0) + 1;
      const at = clock.monotonic();
      byNetwork.delete(networkOf(address));
      byNetwork.set(networkOf(address), {
        wrong,
        at,
        freeAt: at + Math.min(500 * 2 ** wrong, LONGEST_WAIT_MS),
      });
      const [oldest] = byNetwork.keys();
      if (byNetwork.size > MOST_ADDRESSES && oldest !== undefined) byNetwork.delete(oldest);
    },
    forget: (address: string) => void byNetwork.delete(networkOf(address)),
  };
}
