// The routes below /sign-in: a person signs in at the provider, with one attempt at a time by each method. Nothing of it is on a topic.
import { Hono } from 'hono/tiny';
import { beginDevice, mistakeOf, noRedirectUri, storeGrant } from '../auth/byPerson.ts';
import type { Login, TypedCredentials } from '../auth/login.ts';
import type { LoginBudget } from '../auth/loginBudget.ts';
import type { CodeFlow, DeviceFlow, Issuer } from '../auth/oidc.ts';
import type { Session } from '../auth/session.ts';
import { needsAPerson } from '../domain/health.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure, safeWords } from '../foundation/failure.ts';
import { RateLimit } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import { type Env, type Exchange, fieldsOf, refuse } from './exchange.ts';

export interface SignInAccount {
  readonly id: string;
  readonly upstream: {
    readonly session: Session;
    readonly login: Login;
    readonly budget: LoginBudget;
    readonly issuer: Issuer;
    readonly askForLogin: () => Promise<unknown>;
  };
}

export interface SignInOptions {
  readonly accounts: readonly SignInAccount[];
  readonly redirectUri: string | undefined;
  readonly signedIn: (account: string) => void;
  /** Masks it in the log. */
  readonly mask: (secret: string) => void;
  readonly iso: (instant: number) => string;
  readonly clock: Clock;
  readonly log: Log;
}

interface DeviceView {
  state: 'waiting' | 'done' | 'failed';
  error?: ReturnType<typeof safeWords>;
  readonly verification_uri: string;
  readonly verification_uri_complete: string | null;
  readonly user_code: string;
  readonly expires_at: string;
  /** Of the address: a path within a square of `size`. */
  readonly qr: { readonly size: number; readonly path: string };
}

const LONGEST_TYPED = 256;
// Each is a request to the issuer, and a page of its own for a person.
const MOST_ATTEMPTS = 10;
const ATTEMPTS_WINDOW_MS = 10 * 60_000;
const MOST_LISTED = 100;
const DONE = { state: 'done' } as const;

const impossible = (code: string, message: string) =>
  failure(code, message, { exit: EXIT.usage, retry: 'never' });

export class SignIns {
  readonly #accounts: ReadonlyMap<string, Attempts>;

  constructor(options: SignInOptions) {
    this.#accounts = new Map(options.accounts.map((one) => [one.id, new Attempts(one, options)]));
  }

  routes(): Hono<Env> {
    const app = new Hono<Env>();
    const forAccount = (step: (attempts: Attempts, c: Exchange) => Response | Promise<Response>) => {
      return async (c: Exchange) => {
        const attempts = this.#accounts.get(c.req.param('account') ?? '');
        return attempts ? step(attempts, c) : refuse(c, 404, 'unknown_account', 'There is no such account.');
      };
    };
    app.get('/', async (c) => {
      const waiting = [...this.#accounts.values()].filter(({ isWaiting }) => isWaiting);
      const { mayTypePasswords } = c.get('visitor');
      return c.json(
        await Promise.all(waiting.slice(0, MOST_LISTED).map((one) => one.view(mayTypePasswords))),
      );
    });
    app.post(
      '/:account/password',
      forAccount(async (attempts, c) => {
        const { username = '', password = '', code } = await fieldsOf(c);
        if (!c.get('visitor').mayTypePasswords) return refuse(c, 403, 'not_encrypted', NOT_ENCRYPTED);
        if (username === '' || password === '')
          return refuse(c, 400, 'request_malformed', 'User name or password is missing.');
        if ([username, password, code ?? ''].some(({ length }) => length > LONGEST_TYPED))
          return refuse(c, 400, 'request_malformed', `At most ${LONGEST_TYPED} characters are allowed.`);
        await attempts.byPassword({ username, password, code: code?.replace(/\s/g, '') || null });
        return c.json(DONE);
      }),
    );
    app.post(
      '/:account/device',
      forAccount(async (attempts, c) => c.json(await attempts.beginDevice())),
    );
    app.get(
      '/:account/device',
      forAccount(({ device }, c) =>
        device ? c.json(device) : refuse(c, 404, 'no_attempt', 'No attempt is under way.'),
      ),
    );
    app.post(
      '/:account/link',
      forAccount(async (attempts, c) => {
        const { pasted } = await fieldsOf(c);
        const address = await (pasted === undefined
          ? attempts.beginLink()
          : attempts.finishLink(pasted.trim()));
        return c.json(address === null ? DONE : { address });
      }),
    );
    for (const method of ['device', 'link'] as const)
      app.delete(
        `/:account/${method}`,
        forAccount((attempts, c) => {
          attempts.cancel(method);
          return c.body(null, 204);
        }),
      );
    return app;
  }

  stop(): void {
    for (const attempts of this.#accounts.values()) attempts.cancel('device');
  }
}

const NOT_ENCRYPTED = 'Passwords can be typed on this machine, in Home Assistant, or over HTTPS only.';

/** What is under way for one account. What rejects does so with a Failure. */
class Attempts {
  readonly #id: string;
  readonly #upstream: SignInAccount['upstream'];
  readonly #options: SignInOptions;
  readonly #limit: RateLimit;
  #device: { readonly view: DeviceView; readonly ending: AbortController } | null = null;
  #link: CodeFlow | null = null;

  constructor({ id, upstream }: SignInAccount, options: SignInOptions) {
    this.#id = id;
    this.#upstream = upstream;
    this.#options = options;
    this.#limit = new RateLimit(options.clock, MOST_ATTEMPTS, ATTEMPTS_WINDOW_MS);
  }

  /** The account has no session. */
  get isWaiting(): boolean {
    const { state, accessExpiresAt } = this.#upstream.session.status();
    return needsAPerson(state) || (state !== 'ok' && accessExpiresAt === null);
  }

  get device(): DeviceView | null {
    return this.#device?.view ?? null;
  }

  /** Methods, and `budget` while a refusal is in force: `askedAt` is when one more attempt was made all the same. */
  async view(mayTypePasswords: boolean) {
    const { session, login, issuer } = this.#upstream;
    const canRedirect = this.#options.redirectUri !== undefined;
    const offersDevice = await issuer.offersDevice().catch(() => false);
    const methods = {
      password: mayTypePasswords,
      form: mayTypePasswords && canRedirect,
      device: offersDevice,
      link: canRedirect,
    };
    const suspension = await login.suspendedBy();
    const iso = (at: number | null) => (at === null ? null : this.#options.iso(at));
    return {
      account: this.#id,
      state: session.status().state,
      reason: session.fault && safeWords(session.fault),
      methods: Object.entries(methods).flatMap(([method, isOffered]) => (isOffered ? method : [])),
      budget:
        suspension === null || suspension.refusals === 0
          ? null
          : {
              refusals: suspension.refusals,
              nextAttemptAt: iso(login.needsPerson ? null : suspension.nextAttemptAt),
              askedAt: iso(suspension.askedAt),
            },
      device: this.device,
    };
  }

  async byPassword(typed: TypedCredentials): Promise<void> {
    const { session, login, askForLogin } = this.#upstream;
    await this.#rejectIfSignedIn();
    await askForLogin();
    // Only what is sent need be masked: each one costs every line of the log some time.
    const suspension = await login.suspendedBy();
    if (suspension !== null) throw login.suspended(suspension);
    this.#options.mask(typed.password);
    if (typed.username.includes('@')) this.#options.mask(typed.username);
    await session.logIn(typed);
    this.#signedIn('password');
  }

  async beginDevice(): Promise<DeviceView> {
    await this.#begin();
    this.cancel('device');
    const flow = await beginDevice(this.#upstream.issuer);
    const view = await this.#shown(flow);
    const ending = new AbortController();
    this.#device = { view, ending };
    void this.#finishDevice(flow, view, ending.signal);
    return view;
  }

  /** Resolves to the address to begin with. */
  async beginLink(): Promise<string> {
    await this.#begin();
    const { issuer } = this.#upstream;
    this.#link = await issuer.withScope((scope) => issuer.beginCodeFlow(this.#redirectUri(), scope));
    return this.#link.url.href;
  }

  /** Resolves to another address where the issuer wants fewer scopes than the first one asked for. */
  async finishLink(pasted: string): Promise<string | null> {
    const { issuer } = this.#upstream;
    const flow = this.#link;
    if (flow === null) throw impossible('no_attempt', 'No link was asked for. Begin again.');
    const mistake = mistakeOf(pasted, flow);
    if (mistake !== null) throw impossible('wrong_address', mistake);
    this.#link = null;
    let isFirst = true;
    this.#link = await issuer.withScope(async (scope) => {
      if (!isFirst) return issuer.beginCodeFlow(this.#redirectUri(), scope);
      isFirst = false;
      await storeGrant(await flow.finish(new URL(pasted)), this.#upstream);
      return null;
    });
    if (this.#link !== null) return this.#link.url.href;
    this.#signedIn('link');
    return null;
  }

  /** The other method goes on. */
  cancel(method: 'device' | 'link'): void {
    if (method === 'link') this.#link = null;
    else {
      this.#device?.ending.abort();
      this.#device = null;
    }
  }

  #redirectUri(): string {
    const { redirectUri } = this.#options;
    if (redirectUri !== undefined) return redirectUri;
    throw noRedirectUri('Signing in by a link');
  }

  async #begin(): Promise<void> {
    await this.#rejectIfSignedIn();
    if (!this.#limit.tryStart())
      throw impossible('too_many_attempts', 'Too many attempts. Wait some minutes.');
  }

  async #rejectIfSignedIn(): Promise<void> {
    const { session } = this.#upstream;
    if (session.status().state === 'ok' && (await session.current()) !== null)
      throw impossible('already_signed_in', 'This account is signed in.');
  }

  async #finishDevice(flow: DeviceFlow, view: DeviceView, ending: AbortSignal): Promise<void> {
    try {
      await storeGrant(await flow.wait(ending), this.#upstream);
      view.state = 'done';
      this.#signedIn('device');
    } catch (err) {
      if (ending.aborted) return;
      view.state = 'failed';
      view.error = safeWords(err);
      this.#options.log.warn({ err, account: this.#id }, 'the sign-in on another device has failed');
    }
  }

  /** What is under way by another method is not needed any more. */
  #signedIn(method: 'password' | 'device' | 'link'): void {
    if (method !== 'device') this.cancel('device');
    this.cancel('link');
    this.#options.log.info({ account: this.#id, method }, 'signed in from the page');
    this.#options.signedIn(this.#id);
  }

  async #shown({
    verificationUri,
    completeUri,
    userCode,
    expiresInSeconds,
  }: DeviceFlow): Promise<DeviceView> {
    const { encode } = await import('uqr');
    const { data, size } = encode(completeUri ?? verificationUri);
    const { clock, iso } = this.#options;
    return {
      state: 'waiting',
      verification_uri: verificationUri,
      verification_uri_complete: completeUri,
      user_code: userCode,
      expires_at: iso(clock.now() + expiresInSeconds * 1000),
      qr: {
        size,
        path: data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : []))).join(''),
      },
    };
  }
}
