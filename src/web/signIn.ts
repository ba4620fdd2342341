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
import { type Exchange, fieldsOf, type Handler, json, type Reply, type Routes, refuse } from './page.ts';

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
const NOT_ENCRYPTED = 'Passwords can be typed on this machine, in Home Assistant, or over HTTPS only.';

const malformed = (message: string) => refuse(400, 'request_malformed', message);
const impossible = (code: string, message: string) =>
  failure(code, message, { exit: EXIT.usage, retry: 'never' });

export function createSignIns(options: Options): { readonly routes: Routes; stop(): void } {
  const all = new Map(options.accounts.map((account) => [account.id, createAttempts(account, options)]));
  const by =
    (step: 'typePassword' | 'beginDevice' | 'cancelDevice' | 'goByLink'): Handler =>
    (exchange) =>
      all.get(exchange.name)?.[step](exchange) ?? refuse(404, 'unknown_account', 'There is no such account.');
  return {
    routes: {
      'GET /sign-in': async ({ visitor }) => {
        const waiting = [...all.values()].filter((attempts) => attempts.isWaiting()).slice(0, MOST_LISTED);
        return json(await Promise.all(waiting.map((attempts) => attempts.view(visitor.mayTypePasswords))));
      },
      'POST /sign-in/:name/password': by('typePassword'),
      'POST /sign-in/:name/device': by('beginDevice'),
      'DELETE /sign-in/:name/device': by('cancelDevice'),
      'POST /sign-in/:name/link': by('goByLink'),
    },
    stop: () => all.forEach((attempts) => void attempts.cancelDevice()),
  };
}

/** The attempts under way for one account. All rejections are Failures. */
function createAttempts({ id, upstream }: Account, { redirectUri, clock, log, ...options }: Options) {
  const { session, login, issuer, askForLogin } = upstream;
  const limit = new RateLimit(clock, MOST_ATTEMPTS, ATTEMPTS_WINDOW_MS);
  let device: { view: Device; readonly ending: AbortController } | null = null;
  let link: CodeFlow | null = null;

  function cancelDevice(): Reply {
    device?.ending.abort();
    device = null;
    return { status: 204 };
  }
  /** Attempts by another method are not needed any more. */
  function signedIn(method: Method): Reply {
    if (method !== 'device') cancelDevice();
    link = null;
    log.info({ account: id, method }, 'signed in from the page');
    options.signedIn(id);
    return DONE;
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
  /** Resolves to another link where the issuer wants fewer scopes than the first one asked for. */
  async function finishLink(pasted: string): Promise<CodeFlow | null> {
    const flow = link;
    if (flow === null) throw impossible('no_attempt', 'No link was asked for. Begin again.');
    const mistake = flow.mistakeIn(pasted);
    if (mistake !== null) throw impossible('wrong_address', mistake);
    link = null;
    let isFirst = true;
    const step = async (scope: string) => {
      if (!isFirst) return beginCodeFlow(scope);
      isFirst = false;
      await session.storeGrant(await flow.finish(new URL(pasted)));
      return null;
    };
    return issuer.withScope(step).catch((err) => {
      link = flow;
      throw err;
    });
  }

  return {
    cancelDevice,

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
      const { refusals = 0, nextAttemptAt: next = null } = (await login.suspendedBy()) ?? {};
      const nextAttemptAt = login.needsPerson || next === null ? null : options.iso(next);
      return {
        account: id,
        state: session.status().state,
        reason: session.fault && safeWords(session.fault),
        methods: methods.filter((method) => method !== false),
        budget: refusals === 0 ? null : { refusals, nextAttemptAt },
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
      return signedIn('password');
    },

    async beginDevice(): Promise<Reply> {
      await begin();
      cancelDevice();
      const flow = await issuer.beginDevice();
      const until = options.iso(clock.now() + flow.expiresInSeconds * 1000);
      device = { view: await viewOf(flow, until), ending: new AbortController() };
      void finishDevice(flow, device);
      return json(device.view);
    },

    async goByLink(exchange: Exchange): Promise<Reply> {
      const { pasted } = await fieldsOf(exchange);
      if (pasted === undefined) await begin();
      link = await (pasted === undefined ? issuer.withScope(beginCodeFlow) : finishLink(pasted.trim()));
      return link === null ? signedIn('link') : json({ address: link.url.href });
    },
  };
}

async function viewOf(flow: DeviceFlow, expires_at: string): Promise<Device> {
  return {
    state: 'waiting',
    verification_uri: flow.verificationUri,
    verification_uri_complete: flow.completeUri,
    user_code: flow.userCode,
    expires_at,
    qr: flow.qrUri === null ? null : await qrOf(flow.qrUri),
  };
}

async function qrOf(address: string): Promise<Device['qr']> {
  const { encode } = await import('uqr');
  const { data, size } = encode(address);
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : [])));
  return { size, path: squares.join('') };
}
