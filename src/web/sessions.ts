// A visitor who has typed the page's password has a session. This has the sessions, and the routes that open and end
// one.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import { type Exchange, fieldsOf, json, type Reply, type Routes, refuse } from './exchange.ts';
import type { Session as SessionAnswer } from './page/answers.ts';
import { type Entrance, networkOf } from './visitor.ts';

const COOKIE = 'heat2mqtt_session';
const tokenOf = ({ headers }: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|; *)${COOKIE}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1];

interface SessionOptions extends Pick<Entrance, 'readPassword'> {
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function createGate({ readPassword, version, clock, log }: SessionOptions) {
  const sessions = readPassword && createSessions(readPassword, clock);
  const isOpen = async (request: IncomingMessage) => sessions?.isOpen(tokenOf(request)) ?? true;
  const sessionOf = (signedIn: boolean): SessionAnswer => ({
    version,
    signedIn,
    needsPassword: sessions !== null,
  });

  async function open(exchange: Exchange): Promise<Reply> {
    const { password } = await fieldsOf(exchange);
    if (password === undefined) return refuse(400, 'request_malformed', 'A password is missing.');
    if (sessions === null) return json(sessionOf(true));
    const { address, isEncrypted } = exchange.visitor;
    const outcome = await sessions.signIn(password, address).catch((err: unknown) => {
      log.error({ err }, 'the password of the page cannot be read');
      return null;
    });
    if (outcome === null)
      return refuse(503, 'password_unreadable', 'The bridge cannot read the password. Its log says why.');
    if ('token' in outcome) {
      const cookie = `${COOKIE}=${outcome.token}; Path=/; HttpOnly; SameSite=Strict`;
      return json(sessionOf(true), 200, { 'set-cookie': isEncrypted ? `${cookie}; Secure` : cookie });
    }
    const seconds = Math.ceil(outcome.waitMs / 1000);
    const later = { 'retry-after': String(seconds) };
    return outcome.isWrong
      ? refuse(401, 'wrong_password', `That is not the password. Try again in ${seconds} s.`, later)
      : refuse(429, 'too_many_attempts', `Try again in ${seconds} s.`, later);
  }

  const routes: Routes = {
    'GET /session': async ({ request }) => json(sessionOf(await isOpen(request))),
    'POST /session': open,
    'DELETE /session': ({ request }) => {
      sessions?.end(tokenOf(request));
      return { status: 204, headers: { 'set-cookie': `${COOKIE}=; Max-Age=0; Path=/` } };
    },
  };
  /** `isOpen`: the visitor may see the page. `ending` aborts when the session is ended. */
  return { routes, isOpen, ending: (request: IncomingMessage) => sessions?.ending(tokenOf(request)) };
}

const LONGEST_SESSION_MS = 14 * 24 * 3_600_000;
const MOST_SESSIONS = 100;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const FORGOTTEN_AFTER_MS = 3_600_000;
const MOST_NETWORKS = 1_000;

interface Session {
  /** Digest of the password with which it was opened, so that a new one ends it. */
  readonly password: Buffer;
  readonly until: number;
  readonly ending: AbortController;
}

/** `readPassword` may reject: then no session is open. */
export function createSessions(readPassword: () => Promise<string>, clock: Clock) {
  const key = randomBytes(32);
  const digest = (text: string) => createHmac('sha256', key).update(text).digest();
  const nameOf = (token = '') => digest(token).toString('base64');
  /** Keys are digests of tokens. */
  const open = new Map<string, Session>();
  /** Wrong attempts by their network, and when the last one was. */
  const wrong = new Map<string, { readonly count: number; readonly at: number }>();

  /** Each wrong attempt doubles the wait before the next one, up to a minute. */
  function attemptsFrom(network: string) {
    const { count = 0, at = 0 } = wrong.get(network) ?? {};
    const age = clock.monotonic() - at;
    if (count === 0 || age >= FORGOTTEN_AFTER_MS) return { count: 0, waitMs: 0 };
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (count - 1), LONGEST_WAIT_MS);
    return { count, waitMs: Math.max(0, waitMs - age) };
  }

  return {
    /** A token, or how long to wait before the next attempt. Rejects when the password cannot be read. */
    async signIn(typed: string, address: string) {
      const network = networkOf(address);
      const { count, waitMs } = attemptsFrom(network);
      if (waitMs > 0) return { waitMs, isWrong: false };
      // Counted before it is compared: a thousand guesses at the same moment are a thousand guesses.
      keep(wrong, network, { count: count + 1, at: clock.monotonic() }, MOST_NETWORKS);
      const password = digest(await readPassword());
      if (!timingSafeEqual(password, digest(typed)))
        return { waitMs: attemptsFrom(network).waitMs, isWrong: true };
      wrong.delete(network);
      const token = randomBytes(32).toString('base64url');
      const until = clock.now() + LONGEST_SESSION_MS;
      const ending = new AbortController();
      // Each open stream of the session listens to it; Node warns of more than ten.
      setMaxListeners(0, ending.signal);
      keep(open, nameOf(token), { password, until, ending }, MOST_SESSIONS);
      return { token };
    },

    async isOpen(token: string | undefined): Promise<boolean> {
      const session = open.get(nameOf(token));
      if (session === undefined || session.until <= clock.now()) return false;
      const password = await readPassword().catch(() => null);
      return password !== null && timingSafeEqual(session.password, digest(password));
    },

    end(token: string | undefined): void {
      open.get(nameOf(token))?.ending.abort();
      open.delete(nameOf(token));
    },

    /** Aborts when the session is ended. Age, another password and too many others are for `isOpen` to notice. */
    ending: (token: string | undefined): AbortSignal | undefined => open.get(nameOf(token))?.ending.signal,
  };
}

/** The oldest makes room. */
function keep<T>(map: Map<string, T>, name: string, value: T, most: number): void {
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
