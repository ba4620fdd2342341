// A person signs in to the provider from the page, with one attempt at a time by each method. Nothing of it is on a topic.
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
import { type Exchange, fieldsOf, type Handler, json, type Reply, refuse } from './exchange.ts';

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

export type SignIns = ReturnType<typeof createSignIns>;
type Attempts = ReturnType<typeof createAttempts>;
type Method = 'password' | 'device' | 'link';

const LONGEST_TYPED = 256;
// Each is a request to the issuer, and a page of its own for a person.
const MOST_ATTEMPTS = 10;
const ATTEMPTS_WINDOW_MS = 10 * 60_000;
const MOST_LISTED = 100;
const DONE = { state: 'done' } as const;

const impossible = (code: string, message: string) =>
  failure(code, message, { exit: EXIT.usage, retry: 'never' });

/** The handlers of the routes below /sign-in. */
export function createSignIns(options: SignInOptions) {
  const all = new Map(options.accounts.map((account) => [account.id, createAttempts(account, options)]));
  const forAccount =
    (step: (attempts: Attempts, exchange: Exchange) => Reply | Promise<Reply>): Handler =>
    (exchange) => {
      const attempts = all.get(exchange.named);
      return attempts
        ? step(attempts, exchange)
        : refuse(404, 'unknown_account', 'There is no such account.');
    };
  return {
    waiting: async ({ visitor }: Exchange) => {
      const waiting = [...all.values()].filter((attempts) => attempts.isWaiting()).slice(0, MOST_LISTED);
      return json(await Promise.all(waiting.map((attempts) => attempts.view(visitor.mayTypePasswords))));
    },
    typePassword: forAccount(async (attempts, exchange) => {
      const { username = '', password = '', code = '' } = await fieldsOf(exchange);
      if (!exchange.visitor.mayTypePasswords) return refuse(403, 'not_encrypted', NOT_ENCRYPTED);
      if (username === '' || password === '')
        return refuse(400, 'request_malformed', 'User name or password is missing.');
      if ([username, password, code].some(({ length }) => length > LONGEST_TYPED))
        return refuse(400, 'request_malformed', `At most ${LONGEST_TYPED} characters are allowed.`);
      await attempts.typePassword({ username, password, code: code.replace(/\s/g, '') || null });
      return json(DONE);
    }),
    beginDevice: forAccount(async (attempts) => json(await attempts.beginDevice())),
    endDevice: forAccount((attempts) => {
      attempts.endDevice();
      return { status: 204 };
    }),
    goByLink: forAccount(async (attempts, exchange) => {
      const { pasted } = await fieldsOf(exchange);
      const address = await (pasted === undefined
        ? attempts.beginLink()
        : attempts.finishLink(pasted.trim()));
      return json(address === null ? DONE : { address });
    }),
    stop(): void {
      for (const attempts of all.values()) attempts.endDevice();
    },
  };
}

const NOT_ENCRYPTED = 'Passwords can be typed on this machine, in Home Assistant, or over HTTPS only.';

/** What is under way for one account. What rejects does so with a Failure. */
function createAttempts({ id, upstream }: SignInAccount, options: SignInOptions) {
  const { session, login, issuer, askForLogin } = upstream;
  const { redirectUri, clock, log } = options;
  const limit = new RateLimit(clock, MOST_ATTEMPTS, ATTEMPTS_WINDOW_MS);
  let device: { readonly view: DeviceView; readonly ending: AbortController } | null = null;
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
  async function finishDevice(flow: DeviceFlow, view: DeviceView, ending: AbortSignal): Promise<void> {
    try {
      await storeGrant(await flow.wait(ending), upstream);
      view.state = 'done';
      signedIn('device');
    } catch (err) {
      if (ending.aborted) return;
      view.state = 'failed';
      view.error = safeWords(err);
      log.warn({ err, account: id }, 'the sign-in on another device has failed');
    }
  }
  function beginCodeFlow(scope: string): Promise<CodeFlow> {
    if (redirectUri === undefined) throw noRedirectUri('Signing in by a link');
    return issuer.beginCodeFlow(redirectUri, scope);
  }

  return {
    endDevice,

    /** The account has no session. */
    isWaiting(): boolean {
      const { state, accessExpiresAt } = session.status();
      return needsAPerson(state) || (state !== 'ok' && accessExpiresAt === null);
    },

    /** Methods, what is under way, and `budget` while a refusal is in force: `askedAt` is when one more attempt was made all the same. */
    async view(mayTypePasswords: boolean) {
      const methods = {
        password: mayTypePasswords,
        form: mayTypePasswords && redirectUri !== undefined,
        device: await issuer.offersDevice().catch(() => false),
        link: redirectUri !== undefined,
      };
      const suspension = await login.suspendedBy();
      const iso = (at: number | null) => (at === null ? null : options.iso(at));
      return {
        account: id,
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
        device: device?.view ?? null,
        link: link?.url.href ?? null,
      };
    },

    async typePassword(typed: TypedCredentials) {
      await rejectIfSignedIn();
      await askForLogin();
      // Only what is sent need be masked: each one costs every line of the log some time.
      const suspension = await login.suspendedBy();
      if (suspension !== null) throw login.suspended(suspension);
      options.mask(typed.password);
      if (typed.username.includes('@')) options.mask(typed.username);
      await session.logIn(typed);
      signedIn('password');
    },

    async beginDevice(): Promise<DeviceView> {
      await begin();
      endDevice();
      const flow = await beginDevice(issuer);
      const view = await viewOf(flow, options);
      const ending = new AbortController();
      device = { view, ending };
      void finishDevice(flow, view, ending.signal);
      return view;
    },

    /** Resolves to the address to begin with. */
    async beginLink(): Promise<string> {
      await begin();
      link = await issuer.withScope(beginCodeFlow);
      return link.url.href;
    },

    /** Resolves to another address where the issuer wants fewer scopes than the first one asked for. */
    async finishLink(pasted: string): Promise<string | null> {
      const flow = link;
      if (flow === null) throw impossible('no_attempt', 'No link was asked for. Begin again.');
      const mistake = mistakeOf(pasted, flow);
      if (mistake !== null) throw impossible('wrong_address', mistake);
      link = null;
      let isFirst = true;
      const finish = async (scope: string) => {
        if (!isFirst) return beginCodeFlow(scope);
        isFirst = false;
        await storeGrant(await flow.finish(new URL(pasted)), upstream);
        return null;
      };
      link = await issuer.withScope(finish).catch((err) => {
        link = flow;
        throw err;
      });
      if (link !== null) return link.url.href;
      signedIn('link');
      return null;
    },
  };
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

async function viewOf(flow: DeviceFlow, { clock, iso }: SignInOptions): Promise<DeviceView> {
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
