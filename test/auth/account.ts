// One account in front of an issuer: all of auth, wired as the daemon does it. By default the issuer is the simulated one.
import { onTestFinished } from 'vitest';
import { Login, type LoginDeps } from '../../src/auth/login.ts';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { Issuer, type IssuerDeps } from '../../src/auth/oidc.ts';
import { type RefreshOutcome, RefreshPlan } from '../../src/auth/refreshPlan.ts';
import { Session, type SessionDeps } from '../../src/auth/session.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import type { AccountRecord, LoginBudgetRecord, TokenSet, WayIn } from '../../src/store/documents.ts';
import { look } from '../simulator/visitor.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';
// Loaded beforehand: settle() counts turns of the event loop, and does not wait for an import.
import 'openid-client';

export const TOKEN_PATH = '/auth/realms/energy/protocol';
export const DISCOVERY_PATH = '/auth/realms/energy/.well-known';
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
const QUIET_TURNS = 6;
const USER = 'me@example.org';
const nothing = () => undefined;

export type Account = Awaited<ReturnType<typeof openAccount>>;
type Shared = Pick<SessionDeps, 'tokens' | 'clock' | 'log'> & {
  readonly issuer: Pick<Issuer, 'login' | 'refresh' | 'offersDevice' | 'endSession'>;
  readonly budgetStore: ConstructorParameters<typeof LoginBudget>[0]['store'];
};

/** Session, login and budget of one process. */
export function openAuth(
  { issuer, tokens, budgetStore, clock, log }: Shared,
  { session = {}, ...login }: Partial<LoginDeps> & { readonly session?: Partial<SessionDeps> } = {},
) {
  // The hash is slow on purpose: tens of milliseconds each time.
  const budget = new LoginBudget({ store: budgetStore, clock, scryptCost: 2 });
  const byItself = new Login({
    issuer,
    form: null,
    signIn: 'auto',
    account: { username: USER, password: { read: async () => 'demo' } },
    oneTimeCode: null,
    timeWords: (instant) => new Date(instant).toISOString().slice(11, 16),
    context: 'as configured',
    budget,
    wayIn: memoryStore<WayIn>(),
    log,
    ...login,
  });
  const own = new Session({
    issuer,
    login: byItself,
    budget,
    tokens,
    wantsRefreshToken: false,
    clock,
    log,
    scrub: nothing,
    withLock: (step) => step(true),
    ...session,
  });
  return { session: own, login: byItself, budget };
}

export const issuerAt = (
  url: string,
  changes: Pick<IssuerDeps, 'fetch' | 'clock' | 'log'> & Partial<IssuerDeps>,
) =>
  new Issuer({
    issuer: url,
    client_id: 'self-care',
    scopes: ['openid', 'service-energy'],
    // Real time: a busy machine must not run into it.
    timeout_seconds: 60,
    offline_access: false,
    codeSeconds: null,
    memory: { metadata: null },
    ...changes,
  });

export async function openAccount(at = '2026-03-10T12:00:00Z') {
  const clock = handClock(at);
  const simulator = await startSimulator({ clock });
  onTestFinished(() => simulator.stop());
  const told = logLines();
  let onTheWire = 0;
  const outbound = createHttpClient(clock).fetch;
  const counted: typeof fetch = async (input, init) => {
    onTheWire += 1;
    return outbound(input, init).finally(() => {
      onTheWire -= 1;
    });
  };

  /** Waits until no request is under way and nothing happens for some turns of the event loop. */
  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      await new Promise((resolve) => setImmediate(resolve));
      quiet = onTheWire === 0 ? quiet + 1 : 0;
    }
  }

  const account = {
    ...told,
    clock,
    simulator,
    tokens: memoryStore<TokenSet>(),
    budgetStore: memoryStore<LoginBudgetRecord>(),
    wayIn: memoryStore<WayIn>(),
    journal: openJournal(),
    /** As the user has written it down; `null`: the secret file is gone. */
    password: 'demo' as string | null,
    /** `undefined`: none is configured; `null`: its file is gone. */
    totpSecret: undefined as string | null | undefined,
    events: [] as string[],
    issuer: (changes: Partial<IssuerDeps> = {}) =>
      issuerAt(simulator.urls.issuer, { fetch: counted, clock, log: told.log, ...changes }),
    /** A process starts: nothing is left of the one before but the stores. */
    start(changes: Partial<LoginDeps> = {}) {
      const { log, events, scrubber, wayIn } = account;
      const read = async (secret: string | null) => {
        if (secret === null) throw new Error('the secret file is gone');
        return secret;
      };
      const opened = openAuth(
        { ...account, issuer: account.issuer() },
        {
          account: {
            username: USER,
            password: { read: () => read(account.password) },
            ...(account.totpSecret === undefined
              ? {}
              : { totp_secret: { read: () => read(account.totpSecret ?? null) } }),
          },
          wayIn,
          session: {
            onLogin: () => void events.push('login'),
            onRefresh: () => void events.push('refresh'),
            onChange: () => void events.push(opened.session.status().state),
            scrub: scrubber.registerToken,
          },
          ...changes,
        },
      );
      return {
        ...opened,
        keepAlive(random = () => 0.5, limit: Limit = (step) => step()) {
          const { session } = opened;
          const plan = new RefreshPlan({ ...account, account: 'home', session, random, log });
          return keptAlive(plan, limit, clock, () => void events.push('recovered'));
        },
      };
    },
    settle,
    pass: (ms: number) => clock.pass(ms, settle),
    /** Requests that the token endpoint has seen so far. */
    asked: () => ({
      logins: simulator.counters.passwordGrants.asked,
      refreshes: simulator.counters.refreshGrants.asked,
    }),
  };
  return account;
}

/** The failures of refreshes, which outlive a process. */
function openJournal() {
  return {
    record: { refresh: null as AccountRecord['refresh'] },
    note(changes: Pick<AccountRecord, 'refresh'>) {
      this.record = changes;
    },
  };
}

type Limit = (step: () => Promise<RefreshOutcome>) => Promise<RefreshOutcome>;
const LONGEST_LOOK_MS = 30_000;

/** Looks at a plan as a household does, until the test is over or it is stopped. */
function keptAlive(plan: RefreshPlan, limit: Limit, clock: HandClock, onRecovery: () => void) {
  const stopping = new AbortController();
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const waitMs = (await plan.msUntilDue()) ?? LONGEST_LOOK_MS;
      if (waitMs > 0) await clock.sleep(Math.min(waitMs, LONGEST_LOOK_MS), stopping.signal);
      else if ((await limit(() => plan.run(stopping.signal))).isOver) onRecovery();
    }
  }
  const running = run();
  const stop = (): Promise<void> => {
    stopping.abort();
    return running;
  };
  onTestFinished(stop);
  return { stop };
}

/** A session whose access token is about to expire. */
export async function expiring(account: Account): Promise<Session> {
  const { session } = account.start();
  await session.accessToken();
  account.clock.advance(1750 * SECOND);
  return session;
}

/** The id token of each answer has these claims in place of its own; `more`: other keys of the answer. */
export const idTokenWith = (over: Record<string, unknown>, more: object = {}): Fault => ({
  kind: 'change',
  change(body) {
    const [head, claims, mark] = String(look(body, 'id_token')).split('.');
    const read = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString());
    const written = Buffer.from(JSON.stringify({ ...read, ...over })).toString('base64url');
    return { ...Object(body), id_token: `${head}.${written}.${mark}`, ...more };
  },
});

/** What a promise was rejected with; fails when it was not. */
export async function refusalOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`nothing was refused: ${JSON.stringify(value)}`);
    },
    (err: unknown) => err,
  );
}
