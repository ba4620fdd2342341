// Processes of one account on one store, with the lock between them, which may be killed at any moment; and what each
// of them sends to the issuer.

import { join } from 'node:path';
import { Login } from '../../src/auth/login.ts';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { Issuer } from '../../src/auth/oidc.ts';
import { Session } from '../../src/auth/session.ts';
import type { Clock } from '../../src/foundation/clock.ts';
import { HttpClient } from '../../src/http/client.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import type { LoginBudgetRecord, TokenSet, WayIn } from '../../src/store/documents.ts';
import { withLock } from '../../src/store/locks.ts';
import type { Document } from '../../src/store/stateStore.ts';
import type { HandClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { QUICK_HASH } from './account.ts';

/** One request to the token endpoint. */
export interface Sent {
  readonly form: Readonly<Record<string, string>>;
  readonly at: number;
  /** The process asked because somebody wanted a login, whatever session there was. */
  readonly isWanted: boolean;
  /** What was stored when it was sent. */
  readonly kept: TokenSet | null;
  /** `null`: none has come, or the process was killed before. */
  answer: { readonly status: number; readonly body: Record<string, unknown> } | null;
  isOver: boolean;
}

export type Process = ReturnType<ReturnType<typeof openProcesses>['start']>;

const never = new Promise<never>(() => undefined);

export function openProcesses(simulator: Simulator, clock: HandClock, folder: string) {
  const tokens = memoryStore<TokenSet>();
  const budgetStore = memoryStore<LoginBudgetRecord>();
  const wayIn = memoryStore<WayIn>();
  const sent: Sent[] = [];
  const world = { password: 'demo' };

  function start() {
    let isAlive = true;
    let wanted = 0;
    /** Whatever a killed process waits for does not come. */
    const unlessKilled = async <T>(step: () => Promise<T>): Promise<T> => {
      if (!isAlive) return never;
      try {
        const value = await step();
        return isAlive ? value : await never;
      } catch (err) {
        if (!isAlive) return never;
        throw err;
      }
    };
    const own: Clock = { ...clock, sleep: (ms, signal) => unlessKilled(() => clock.sleep(ms, signal)) };
    const disk = <T>(store: Document<T>): Document<T> => ({
      read: () => unlessKilled(() => store.read()),
      write: (value) => unlessKilled(() => store.write(value)),
      remove: () => unlessKilled(() => store.remove()),
    });
    const outbound = new HttpClient(clock).fetch;
    const noted: typeof fetch = (input, init) =>
      unlessKilled(async () => {
        const form = Object.fromEntries(new URLSearchParams(String(init?.body ?? '')));
        if (form.grant_type === undefined) return outbound(input, init);
        const one: Sent = {
          form,
          at: clock.monotonic(),
          isWanted: wanted > 0,
          kept: tokens.kept,
          answer: null,
          isOver: false,
        };
        sent.push(one);
        try {
          const response = await outbound(input, init);
          const body = (await response.clone().json()) as Record<string, unknown>;
          if (isAlive) one.answer = { status: response.status, body };
          return response;
        } finally {
          one.isOver = true;
        }
      });
    const { log, scrubber } = logLines();
    const issuer = new Issuer({
      issuer: simulator.urls.issuer,
      clientId: 'self-care',
      scopes: ['openid', 'service-energy'],
      offlineAccess: false,
      codeSeconds: null,
      timeoutSeconds: 60,
      allowInsecure: true,
      fetch: noted,
      clock: own,
      log,
      memory: { metadata: null },
    });
    const budget = new LoginBudget(disk(budgetStore), own, log, { scryptCost: QUICK_HASH });
    const login = new Login({
      issuer,
      form: null,
      signIn: 'password',
      username: 'me@example.org',
      readPassword: async () => world.password,
      readTotpSecret: null,
      oneTimeCode: null,
      timeWords: (instant) => new Date(instant).toISOString().slice(11, 16),
      context: 'as configured',
      budget,
      wayIn: disk(wayIn),
      log,
    });
    const session = new Session({
      budget,
      wantsRefreshToken: false,
      issuer,
      login,
      tokens: disk(tokens),
      clock: own,
      log,
      onLogin: () => undefined,
      onRefresh: () => undefined,
      onChange: () => undefined,
      scrub: scrubber.registerToken,
      withLock: (step) =>
        withLock(join(folder, 'session.lock'), own, { kind: 'command', held: new Set() }, step),
    });
    return {
      session,
      /** As `heat2mqtt login`. */
      async wantLogin(): Promise<void> {
        wanted += 1;
        await session.logIn().finally(() => {
          wanted -= 1;
        });
      },
      /** As a person's sign-in by another way. */
      async bring(): Promise<void> {
        wanted += 1;
        const grant = await issuer.login('me@example.org', 'demo').finally(() => {
          wanted -= 1;
        });
        await session.storeGrant(grant);
      },
      kill(): void {
        isAlive = false;
      },
      get isAlive() {
        return isAlive;
      },
    };
  }

  return { start, sent: sent as readonly Sent[], tokens, world };
}
