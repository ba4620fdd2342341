// A person signs in to the provider from the page, with one attempt at a time by each method. Nothing of it is on a topic.
import type { Login } from '../auth/login.ts';
import { type CodeFlow, type DeviceFlow, type Issuer, noRedirectUri } from '../auth/oidc.ts';
import type { Session } from '../auth/session.ts';
import { needsAPerson } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure, safeWords } from '../foundation/failure.ts';
import { RateLimit } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Device, Method, SignIn } from './page/answers.ts';
import { type Exchange, fieldsOf, type Handler, json, type Reply, type Route, refuse } from './page.ts';

interface Account {
  readonly id: string;
  readonly upstream: {
    readonly session: Session;
    readonly login: Login;
    readonly issuer: Issuer;
    readonly askForLogin: () => Promise<unknown>;
  };
}

interface Options {
  readonly accounts: readonly Account[];
  readonly redirectUri: string | undefined;
  readonly signedIn: (account: string) => void;
  /** Masks it in the log. */
  readonly mask: (secret: string) => void;
  readonly iso: (instant: number) => string;
  readonly clock: Clock;
  readonly log: Log;
}

const LONGEST_TYPED = 256;
// Each is a request to the issuer, and a page of its own for a person.
const MOST_ATTEMPTS = 10;
const ATTEMPTS_WINDOW_MS = 10 * 60_000;
const MOST_LISTED = 100;
const DONE = json({ state: 'done' });

const malformed = (message: string) => refuse(400, 'request_malformed', message);
const impossible = (code: string, message: string) =>
  failure(code, message, { exit: EXIT.usage, retry: 'never' });

export function createSignIns(options: Options): { readonly routes: readonly Route[]; stop(): void } {
  const all = new Map(options.accounts.map((account) => [account.id, createAttempts(account, options)]));
  async function waiting({ visitor }: Exchange): Promise<Reply> {
    const listed = [...all.values()].filter((attempts) => attempts.isWaiting()).slice(0, MOST_LISTED);
    return json(await Promise.all(listed.map((attempts) => attempts.view(visitor.mayTypePasswords))));
  }
  const by =
    (step: 'typePassword' | 'beginDevice' | 'cancelDevice' | 'goByLink'): Handler =>
    (exchange) =>
      all.get(exchange.name)?.[step](exchange) ?? refuse(404, 'unknown_account', 'There is no such account.');
  return {
    routes: [
      ['GET /sign-in', waiting],
      ['POST /sign-in/:name/password', by('typePassword')],
      ['POST /sign-in/:name/device', by('beginDevice')],
      ['DELETE /sign-in/:name/device', by('cancelDevice')],
      ['POST /sign-in/:name/link', by('goByLink')],
    ],
    stop(): void {
      for (const attempts of all.values()) attempts.endDevice();
    },
  };
}

/** What is under way for one account. What rejects does so with a Failure. */
function createAttempts({ id, upstream }: Account, options: Options) {
  const { session, login, issuer, askForLogin } = upstream;
  const { redirectUri, clock, log } = options;
  const limit = new RateLimit(clock, MOST_ATTEMPTS, ATTEMPTS_WINDOW_MS);
  let device: { view: Device; readonly ending: AbortController } | null = null;
  let link: CodeFlow | null = null;

  function endDevice(): void {
    device?.ending.abort();
    device = null;
  }
  /** What is under way by another method is not needed any more. */
  function signedIn(method: Method): void {
    if (method !== 'device') endDevice();
    link = null;
    log.info({ account: id, method }, 'signed in from the page');
    options.signedIn(id);
  }
  async function rejectIfSignedIn(): Promise<void> {
    if (session.status().state === 'ok' && (await session.current()) !== null)
      throw impossible('already_signed_in', 'This account is signed in.');
  }
  async function begin(): Promise<void> {
    await rejectIfSignedIn();
    if (!limit.tryStart()) throw impossible('too_many_attempts', 'Too many attempts. Wait some minutes.');
  }
  async function finishDevice(flow: DeviceFlow, begun: NonNullable<typeof device>): Promise<void> {
    try {
      await session.storeGrant(await flow.wait(begun.ending.signal));
      begun.view = { ...begun.view, state: 'done' };
      signedIn('device');
    } catch (err) {
      if (begun.ending.signal.aborted) return;
      begun.view = { ...begun.view, state: 'failed', error: safeWords(err) };
      log.warn({ err, account: id }, 'the sign-in on another device has failed');
    }
  }
  function beginCodeFlow(scope: string): Promise<CodeFlow> {
    if (redirectUri === undefined) throw noRedirectUri('Signing in by a link');
    return issuer.beginCodeFlow(redirectUri, scope);
  }
  /** Where the issuer wants fewer scopes than the first link asked for, there is another link afterwards. */
  async function finishLink(pasted: string): Promise<void> {
    const flow = link;
    if (flow === null) throw impossible('no_attempt', 'No link was asked for. Begin again.');
    const mistake = flow.mistakeIn(pasted);
    if (mistake !== null) throw impossible('wrong_address', mistake);
    link = null;
    let step = async (_: string): Promise<CodeFlow | null> => {
      step = beginCodeFlow;
      await session.storeGrant(await flow.finish(new URL(pasted)));
      return null;
    };
    try {
      link = await issuer.withScope((scope) => step(scope));
    } catch (err) {
      link = flow;
      throw err;
    }
    if (link === null) signedIn('link');
  }

  return {
    endDevice,

    /** The account has no session. */
    isWaiting(): boolean {
      const { state, accessExpiresAt } = session.status();
      return needsAPerson(state) || (state !== 'ok' && accessExpiresAt === null);
    },

    async view(mayTypePasswords: boolean): Promise<SignIn> {
      const methods = [
        mayTypePasswords && 'password',
        (await issuer.offersDevice().catch(() => false)) && 'device',
        redirectUri !== undefined && 'link',
      ] as const;
      const suspension = await login.suspendedBy();
      const nextAttemptAt = login.needsPerson ? null : (suspension?.nextAttemptAt ?? null);
      return {
        account: id,
        state: session.status().state,
        reason: session.fault && safeWords(session.fault),
        methods: methods.filter((method) => method !== false),
        budget: suspension?.refusals
          ? {
              refusals: suspension.refusals,
              nextAttemptAt: nextAttemptAt === null ? null : options.iso(nextAttemptAt),
            }
          : null,
        device: device?.view ?? null,
        link: link?.url.href ?? null,
      };
    },

    async typePassword(exchange: Exchange): Promise<Reply> {
      const { username = '', password = '', code = '' } = await fieldsOf(exchange);
      if (!exchange.visitor.mayTypePasswords) return refuse(403, 'not_encrypted', NOT_ENCRYPTED);
      if (username === '' || password === '') return malformed('User name or password is missing.');
      if ([username, password, code].some(({ length }) => length > LONGEST_TYPED))
        return malformed(`At most ${LONGEST_TYPED} characters are allowed.`);
      await rejectIfSignedIn();
      await askForLogin();
      // Only what is sent need be masked: each one costs every line of the log some time.
      const suspension = await login.suspendedBy();
      if (suspension !== null) throw login.suspended(suspension);
      options.mask(password);
      if (username.includes('@')) options.mask(username);
      await session.logIn({ username, password, code: code.replace(/\s/g, '') || null });
      signedIn('password');
      return DONE;
    },

    async beginDevice(): Promise<Reply> {
      await begin();
      endDevice();
      const flow = await issuer.beginDevice();
      device = { view: await viewOf(flow, options), ending: new AbortController() };
      void finishDevice(flow, device);
      return json(device.view);
    },

    cancelDevice(): Reply {
      endDevice();
      return { status: 204 };
    },

    async goByLink(exchange: Exchange): Promise<Reply> {
      const { pasted } = await fieldsOf(exchange);
      if (pasted === undefined) {
        await begin();
        link = await issuer.withScope(beginCodeFlow);
      } else await finishLink(pasted.trim());
      return link === null ? DONE : json({ address: link.url.href });
    },
  };
}

const NOT_ENCRYPTED = 'Passwords can be typed on this machine, in Home Assistant, or over HTTPS only.';

async function viewOf(flow: DeviceFlow, { clock, iso }: Options): Promise<Device> {
  const { verificationUri, completeUri, userCode, expiresInSeconds } = flow;
  const { encode } = await import('uqr');
  const { data, size } = encode(completeUri ?? verificationUri);
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : [])));
  return {
    state: 'waiting',
    verification_uri: verificationUri,
    verification_uri_complete: completeUri,
    user_code: userCode,
    expires_at: iso(clock.now() + expiresInSeconds * 1000),
    qr: { size, path: squares.join('') },
  };
}
