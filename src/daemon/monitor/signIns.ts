// Signing in from the page: the accounts that need a person, and for each of them one attempt by each method.

import type { Account } from '../../accounts/account.ts';
import { adopt, beginDevice, mistakeOf, noRedirectUri } from '../../accounts/signIn.ts';
import type { TypedCredentials } from '../../auth/login.ts';
import type { Suspension } from '../../auth/loginBudget.ts';
import type { CodeFlow, DeviceFlow } from '../../auth/oidc.ts';
import { needsAPerson } from '../../domain/health.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import { RateLimit } from '../../foundation/limits.ts';
import type { DeviceView, SignInSource, SignInView } from '../../web/signIn.ts';
import type { Context } from '../context.ts';
import type { Poller } from '../polling/poller.ts';

class NotPossible extends Failure {
  readonly code: string;
  readonly exitCode = EXIT.usage;

  constructor(code: string, message: string) {
    super(message, { retry: 'never' });
    this.code = code;
  }
}

interface DeviceAttempt extends DeviceView {
  readonly ending: AbortController;
}

// Each is a request to the issuer, and a page of its own for a person.
const MOST_ATTEMPTS = 10;
const ATTEMPTS_WINDOW_MS = 10 * 60_000;
const MOST_LISTED = 100;

export class SignIns implements SignInSource {
  readonly #accounts: ReadonlyMap<string, Account>;
  readonly #poller: Poller;
  readonly #context: Context;
  readonly #attempts: ReadonlyMap<string, RateLimit>;
  readonly #devices = new Map<string, DeviceAttempt>();
  readonly #links = new Map<string, CodeFlow>();

  constructor(accounts: readonly Account[], poller: Poller, context: Context) {
    this.#accounts = new Map(accounts.map((account) => [account.id, account]));
    this.#poller = poller;
    this.#context = context;
    const limit = () => new RateLimit(context.clock, MOST_ATTEMPTS, ATTEMPTS_WINDOW_MS);
    this.#attempts = new Map(accounts.map(({ id }) => [id, limit()]));
  }

  async list(): Promise<readonly SignInView[]> {
    const wanting = [...this.#accounts.values()].filter(({ upstream }) => {
      const { state, accessExpiresAt } = upstream.session.status();
      return needsAPerson(state) || (state !== 'ok' && accessExpiresAt === null);
    });
    return Promise.all(wanting.slice(0, MOST_LISTED).map((account) => this.#view(account)));
  }

  has(account: string): boolean {
    return this.#accounts.has(account);
  }

  async byPassword(id: string, typed: TypedCredentials): Promise<void> {
    const account = this.#account(id);
    const { session, login, askForLogin } = account.upstream;
    const { scrubber } = this.#context;
    await rejectIfSignedIn(account);
    await askForLogin();
    // Only what is sent need be masked: each one costs every line of the log some time.
    const refusal = await login.suspendedBy();
    if (refusal !== null) throw login.suspended(refusal);
    scrubber.registerToken(typed.password);
    if (typed.username.includes('@')) scrubber.registerToken(typed.username);
    await session.logIn(typed);
    this.#signedIn(account, 'password');
  }

  async beginDevice(id: string): Promise<DeviceView> {
    const account = this.#account(id);
    await this.#begin(account);
    this.cancel(id, 'device');
    const flow = await beginDevice(account.upstream);
    const attempt = { ...(await this.#shown(flow)), ending: new AbortController() };
    this.#devices.set(id, attempt);
    void this.#finishDevice(account, flow, attempt);
    return viewOf(attempt);
  }

  device(id: string): DeviceView | null {
    const attempt = this.#devices.get(id);
    return attempt === undefined ? null : viewOf(attempt);
  }

  async beginLink(id: string): Promise<{ address: string }> {
    const account = this.#account(id);
    const { issuer } = account.upstream;
    await this.#begin(account);
    const redirectUri = this.#redirectUri();
    const flow = await issuer.withScope((scope) => issuer.beginCodeFlow(redirectUri, scope));
    this.#links.set(id, flow);
    return { address: flow.url.href };
  }

  /** Resolves to another address where the issuer wants fewer scopes than the first one asked for. */
  async finishLink(id: string, pasted: string): Promise<{ address: string } | null> {
    const account = this.#account(id);
    const { upstream } = account;
    const flow = this.#links.get(id);
    if (flow === undefined) throw new NotPossible('no_attempt', 'No link was asked for. Begin again.');
    const mistake = mistakeOf(pasted.trim(), flow);
    if (mistake !== null) throw new NotPossible('wrong_address', mistake);
    this.#links.delete(id);
    let isFirst = true;
    const next = await upstream.issuer.withScope(async (scope) => {
      if (!isFirst) return upstream.issuer.beginCodeFlow(this.#redirectUri(), scope);
      isFirst = false;
      await adopt(await flow.finish(new URL(pasted.trim())), upstream);
      return null;
    });
    if (next === null) {
      this.#signedIn(account, 'link');
      return null;
    }
    this.#links.set(id, next);
    return { address: next.url.href };
  }

  cancel(id: string, method: 'device' | 'link'): void {
    if (method === 'device') this.#devices.get(id)?.ending.abort();
    (method === 'device' ? this.#devices : this.#links).delete(id);
  }

  stop(): void {
    for (const id of this.#accounts.keys()) this.cancel(id, 'device');
  }

  #account(id: string): Account {
    const account = this.#accounts.get(id);
    if (account === undefined) throw new NotPossible('unknown_account', 'There is no such account.');
    return account;
  }

  #redirectUri(): string {
    const redirectUri = this.#context.config.provider?.redirect_uri;
    if (redirectUri !== undefined) return redirectUri;
    throw noRedirectUri('Signing in by a link');
  }

  async #begin(account: Account): Promise<void> {
    await rejectIfSignedIn(account);
    if (!this.#attempts.get(account.id)?.tryStart())
      throw new NotPossible('too_many_attempts', 'Too many attempts. Wait some minutes.');
  }

  async #finishDevice(account: Account, flow: DeviceFlow, attempt: DeviceAttempt): Promise<void> {
    const { signal } = attempt.ending;
    try {
      await adopt(await flow.wait(signal), account.upstream);
      attempt.state = 'done';
      this.#signedIn(account, 'device');
    } catch (err) {
      if (signal.aborted) return;
      attempt.state = 'failed';
      attempt.error = safeWords(err);
      this.#context.log.warn({ err, account: account.id }, 'nobody has signed in on another device');
    }
  }

  /** What is under way by another method is not needed any more. */
  #signedIn({ id }: Account, method: 'password' | 'device' | 'link'): void {
    if (method !== 'device') this.cancel(id, 'device');
    this.cancel(id, 'link');
    this.#context.log.info({ account: id, method }, 'signed in from the page');
    this.#poller.retryNow(id, true);
  }

  async #view({ id, upstream }: Account): Promise<SignInView> {
    const { session, login, issuer } = upstream;
    const { state } = session.status();
    const canRedirect = this.#context.config.provider?.redirect_uri !== undefined;
    const offersDevice = await issuer.offersDevice().catch(() => false);
    return {
      account: id,
      state,
      reason: session.fault && safeWords(session.fault),
      methods: [
        'password',
        ...(canRedirect ? (['form'] as const) : []),
        ...(offersDevice ? (['device'] as const) : []),
        ...(canRedirect ? (['link'] as const) : []),
      ],
      budget: this.#budgetOf(await login.suspendedBy(), login.needsPerson),
      device: this.device(id),
    };
  }

  #budgetOf(suspension: Suspension | null, needsPerson: boolean): SignInView['budget'] {
    if (suspension === null || suspension.refusals === 0) return null;
    const { refusals, nextAttemptAt, askedAt } = suspension;
    const iso = (at: number | null) => (at === null ? null : this.#context.zone.iso(at));
    return { refusals, nextAttemptAt: iso(needsPerson ? null : nextAttemptAt), askedAt: iso(askedAt) };
  }

  async #shown({
    verificationUri,
    completeUri,
    userCode,
    expiresInSeconds,
  }: DeviceFlow): Promise<DeviceView> {
    const { encode } = await import('uqr');
    const { data, size } = encode(completeUri ?? verificationUri);
    const { clock, zone } = this.#context;
    return {
      state: 'waiting',
      verification_uri: verificationUri,
      verification_uri_complete: completeUri,
      user_code: userCode,
      expires_at: zone.iso(clock.now() + expiresInSeconds * 1000),
      qr: {
        size,
        path: data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : []))).join(''),
      },
    };
  }
}

async function rejectIfSignedIn({ upstream: { session } }: Account): Promise<void> {
  if (session.status().state === 'ok' && (await session.current()) !== null)
    throw new NotPossible('already_signed_in', 'This account is signed in.');
}

function viewOf({ ending: _, ...view }: DeviceAttempt): DeviceView {
  return view;
}
