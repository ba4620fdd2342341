// A person signs in to the provider from the page, with one attempt at a time by each method. Nothing of it is on a topic.
import type { Login, TypedCredentials } from '../auth/login.ts';
import { type CodeFlow, type DeviceFlow, type Issuer, noRedirectUri } from '../auth/oidc.ts';
import type { Session } from '../auth/session.ts';
import { needsAPerson } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure, safeWords } from '../foundation/failure.ts';
import { concurrencyLimit, RateLimit } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import { type Exchange, fieldsOf, type Handler, json, type Reply, type Routes, refuse } from './exchange.ts';
import type { Device, Method, SignIn } from './page/answers.ts';

interface Account {
  readonly id: string;
  readonly upstream: {
    readonly session: Session;
    readonly login: Login;
    readonly issuer: Issuer;
    readonly askForLogin: () => Promise<unknown>;
  };
}

interface SignInOptions {
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

export function createSignIns(options: SignInOptions): { readonly routes: Routes; stop(): void } {
  const attemptsOf = new Map(options.accounts.map((account) => [account.id, new Attempts(account, options)]));
  const by =
    (step: 'typePassword' | 'beginDevice' | 'cancelDevice' | 'goByLink'): Handler =>
    (exchange) =>
      attemptsOf.get(exchange.name)?.[step](exchange) ??
      refuse(404, 'unknown_account', 'There is no such account.');
  return {
    routes: {
      'GET /sign-in': async ({ visitor }) => {
        const waiting = [...attemptsOf.values()]
          .filter((attempts) => attempts.isWaiting)
          .slice(0, MOST_LISTED);
        return json(await Promise.all(waiting.map((attempts) => attempts.view(visitor.mayTypePasswords))));
      },
      'POST /sign-in/:name/password': by('typePassword'),
      'POST /sign-in/:name/device': by('beginDevice'),
      'DELETE /sign-in/:name/device': by('cancelDevice'),
      'POST /sign-in/:name/link': by('goByLink'),
    },
    stop: () => attemptsOf.forEach((attempts) => void attempts.cancelDevice()),
  };
}

/** A sign-in on another device that is under way. */
interface DeviceAttempt {
  view: Device;
  readonly ending: AbortController;
}

/** The attempts under way for one account. All rejections are Failures. */
class Attempts {
  readonly #account: Account;
  readonly #options: SignInOptions;
  readonly #limit: RateLimit;
  // A second click must not send a code again that has served.
  readonly #inOrder = concurrencyLimit(1);
  #device: DeviceAttempt | null = null;
  #link: CodeFlow | null = null;

  constructor(account: Account, options: SignInOptions) {
    this.#account = account;
    this.#options = options;
    this.#limit = new RateLimit(options.clock, MOST_ATTEMPTS, ATTEMPTS_WINDOW_MS);
  }

  /** The account has no session. */
  get isWaiting(): boolean {
    const { state, accessExpiresAt } = this.#account.upstream.session.status();
    return needsAPerson(state) || (state !== 'ok' && accessExpiresAt === null);
  }

  async view(mayTypePasswords: boolean): Promise<SignIn> {
    const { session, login, issuer } = this.#account.upstream;
    const { redirectUri, iso } = this.#options;
    const methods = [
      mayTypePasswords && 'password',
      (await issuer.offersDevice().catch(() => false)) && 'device',
      redirectUri !== undefined && 'link',
    ] as const;
    const { refusals = 0, nextAttemptAt: next = null } = (await login.suspendedBy()) ?? {};
    const nextAttemptAt = login.needsPerson || next === null ? null : iso(next);
    return {
      account: this.#account.id,
      state: session.status().state,
      reason: session.fault && safeWords(session.fault),
      methods: methods.filter((method) => method !== false),
      budget: refusals === 0 ? null : { refusals, nextAttemptAt },
      device: this.#device?.view ?? null,
      link: this.#link?.url.href ?? null,
    };
  }

  async typePassword(exchange: Exchange): Promise<Reply> {
    const { username = '', password = '', code = '' } = await fieldsOf(exchange);
    if (!exchange.visitor.mayTypePasswords) return refuse(403, 'not_encrypted', NOT_ENCRYPTED);
    if (username === '' || password === '') return malformed('User name or password is missing.');
    if ([username, password, code].some(({ length }) => length > LONGEST_TYPED))
      return malformed(`At most ${LONGEST_TYPED} characters are allowed.`);
    const typed = { username, password, code: code.replace(/\s/g, '') || null };
    return this.#inOrder(() => this.#tryPassword(typed));
  }

  async #tryPassword(typed: TypedCredentials): Promise<Reply> {
    const { session, login, askForLogin } = this.#account.upstream;
    await this.#rejectIfSignedIn();
    await askForLogin();
    // Only what is sent need be masked: each one costs every line of the log some time.
    const suspension = await login.suspendedBy();
    if (suspension !== null) throw login.suspended(suspension);
    this.#options.mask(typed.password);
    if (typed.username.includes('@')) this.#options.mask(typed.username);
    await session.logIn(typed);
    return this.#signedIn('password');
  }

  async beginDevice(): Promise<Reply> {
    const { clock, iso } = this.#options;
    await this.#begin();
    const flow = await this.#account.upstream.issuer.beginDevice();
    const view = await viewOf(flow, iso(clock.now() + flow.expiresInSeconds * 1000));
    // Another browser may have begun one meanwhile.
    this.cancelDevice();
    this.#device = { view, ending: new AbortController() };
    void this.#finishDevice(flow, this.#device);
    return json(this.#device.view);
  }

  cancelDevice(): Reply {
    this.#device?.ending.abort();
    this.#device = null;
    return { status: 204 };
  }

  async goByLink(exchange: Exchange): Promise<Reply> {
    const { pasted } = await fieldsOf(exchange);
    return pasted === undefined ? this.#beginLink() : this.#inOrder(() => this.#finishLink(pasted.trim()));
  }

  /** Attempts by another method are not needed any more. */
  #signedIn(method: Method): Reply {
    const { id } = this.#account;
    if (method !== 'device') this.cancelDevice();
    this.#link = null;
    this.#options.log.info({ account: id, method }, 'signed in from the page');
    this.#options.signedIn(id);
    return DONE;
  }

  async #rejectIfSignedIn(): Promise<void> {
    const { session } = this.#account.upstream;
    if (session.status().state === 'ok' && (await session.current()) !== null)
      throw impossible('already_signed_in', 'This account is signed in.');
  }

  async #begin(): Promise<void> {
    await this.#rejectIfSignedIn();
    if (!this.#limit.tryStart())
      throw impossible('too_many_attempts', 'Too many attempts. Wait some minutes.');
  }

  async #finishDevice(flow: DeviceFlow, attempt: DeviceAttempt): Promise<void> {
    const { signal } = attempt.ending;
    try {
      await this.#account.upstream.session.storeGrant(await flow.wait(signal));
      attempt.view = { ...attempt.view, state: 'done' };
      this.#signedIn('device');
    } catch (err) {
      if (signal.aborted) return;
      attempt.view = { ...attempt.view, state: 'failed', error: safeWords(err) };
      this.#options.log.warn({ err, account: this.#account.id }, 'the sign-in on another device has failed');
    }
  }

  async #beginLink(): Promise<Reply> {
    await this.#begin();
    return this.#account.upstream.issuer.withScope((scope) => this.#offerLink(scope));
  }

  async #offerLink(scope: string): Promise<Reply> {
    const { redirectUri } = this.#options;
    if (redirectUri === undefined) throw noRedirectUri('Signing in by a link');
    this.#link = await this.#account.upstream.issuer.beginCodeFlow(redirectUri, scope);
    return json({ address: this.#link.url.href });
  }

  /** Offers another link where the issuer wants fewer scopes than the first one asked for. */
  async #finishLink(pasted: string): Promise<Reply> {
    const { session, issuer } = this.#account.upstream;
    const flow = this.#link;
    if (flow === null) throw impossible('no_attempt', 'No link was asked for. Begin again.');
    const mistake = flow.mistakeIn(pasted);
    if (mistake !== null) throw impossible('wrong_address', mistake);
    let hasServed = false;
    return issuer.withScope(async (scope) => {
      if (hasServed) return this.#offerLink(scope);
      hasServed = true;
      await session.storeGrant(await flow.finish(new URL(pasted)));
      return this.#signedIn('link');
    });
  }
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
