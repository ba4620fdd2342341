// One account in front of the simulated issuer: all of auth, wired as the daemon does it.

import { onTestFinished } from 'vitest';
import { keepAlive } from '../../src/auth/keepAlive.ts';
import { Login, type LoginOptions, type SignIn } from '../../src/auth/login.ts';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { Issuer, type IssuerOptions } from '../../src/auth/oidc.ts';
import { Session } from '../../src/auth/session.ts';
import { HttpClient } from '../../src/http/client.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import type { LoginBudgetRecord, TokenSet, WayIn } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';
// Loaded beforehand: settle() counts turns of the event loop, and does not wait for an import.
import 'openid-client';

export const TOKEN_PATH = '/auth/realms/energy/protocol';
export const DISCOVERY_PATH = '/auth/realms/energy/.well-known';
const QUIET_TURNS = 6;
/** The hash is slow on purpose: tens of milliseconds each time. */
export const QUICK_HASH = 2;

export type Account = Awaited<ReturnType<typeof openAccount>>;

export async function openAccount(at = '2026-03-10T12:00:00Z') {
  const clock = handClock(at);
  const simulator = await startSimulator({ clock });
  onTestFinished(() => simulator.stop());
  const told = logLines();
  let onTheWire = 0;
  const outbound = new HttpClient(clock).fetch;
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
    signIn: 'auto' as SignIn,
    form: null as LoginOptions['form'],
    offlineAccess: false,
    oneTimeCode: null as LoginOptions['oneTimeCode'],
    /** As the user has written it down; `null`: the secret file is gone. */
    password: 'demo' as string | null,
    /** `undefined`: none is configured; `null`: its file is gone. */
    totpSecret: undefined as string | null | undefined,
    events: [] as string[],
    issuer: (changes: Partial<IssuerOptions> = {}) =>
      new Issuer({
        issuer: simulator.urls.issuer,
        clientId: 'self-care',
        scopes: ['openid', 'service-energy'],
        // Real time: a busy machine must not run into it.
        timeoutSeconds: 60,
        allowInsecure: true,
        fetch: counted,
        clock,
        offlineAccess: false,
        codeSeconds: null,
        log: told.log,
        memory: { metadata: null },
        ...changes,
      }),
    /** A process starts: nothing is left of the one before but the stores. */
    start() {
      const read = async (secret: string | null) => {
        if (secret === null) throw new Error('the secret file is gone');
        return secret;
      };
      const { log, events, scrubber } = account;
      const issuer = account.issuer();
      const budget = new LoginBudget(account.budgetStore, clock, log, { scryptCost: QUICK_HASH });
      const login = new Login({
        issuer,
        form: account.form,
        signIn: account.signIn,
        username: 'me@example.org',
        readPassword: () => read(account.password),
        readTotpSecret: account.totpSecret === undefined ? null : () => read(account.totpSecret ?? null),
        oneTimeCode: account.oneTimeCode,
        timeWords: (instant) => new Date(instant).toISOString().slice(11, 16),
        context: 'as configured',
        budget,
        wayIn: account.wayIn,
        log,
      });
      const session: Session = new Session({
        issuer,
        login,
        budget,
        wantsRefreshToken: account.offlineAccess,
        tokens: account.tokens,
        clock,
        log,
        onLogin: () => void events.push('login'),
        onRefresh: () => void events.push('refresh'),
        onChange: () => void events.push(session.status().state),
        scrub: scrubber.registerToken,
        withLock: (step) => step(true),
      });
      return {
        session,
        login,
        budget,
        keepAlive(random = () => 0.5, limit = (step: () => Promise<boolean>) => step()) {
          const alive = keepAlive(session, limit, clock, random, log);
          onTestFinished(() => alive.stop());
          return alive;
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

/** A session whose access token is about to expire. */
export async function expiring(account: Account): Promise<Session> {
  const { session } = account.start();
  await session.accessToken();
  account.clock.advance(1750 * 1000);
  return session;
}

/** What a promise was rejected with; fails when it was not. */
export async function refusalOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`nothing was refused: ${JSON.stringify(value)}`);
    },
    (err: unknown) => err,
  );
}
