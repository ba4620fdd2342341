// Logins that are granted and of no use: at most one an hour and four a day, in any order of events.

import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Login } from '../../src/auth/login.ts';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { accessTokenRejected, LoginRefused, REFUSALS, SessionEnded } from '../../src/auth/refusals.ts';
import { Session } from '../../src/auth/session.ts';
import type { Grant } from '../../src/auth/tokens.ts';
import { GrantUnusable, IssuerUnreachable } from '../../src/auth/unreachable.ts';
import type { LoginBudgetRecord, TokenSet } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { QUICK_HASH } from './account.ts';
import { type BudgetHome, HOUR, MINE, OTHER, openBudget } from './budget.ts';

let home: BudgetHome;
beforeEach(() => {
  home = openBudget();
});

describe('a login of no use', () => {
  const misfit = accessTokenRejected();
  const useless = async () => {
    await home.granted();
    await home.budget.useless(misfit, MINE);
  };

  test('holds the next one back for an hour, the fourth of a day for the rest of it, whatever restarts', async () => {
    const begin = home.clock.now();
    for (let count = 1; count <= 4; count += 1) {
      expect(await home.isFree()).toBe(true);
      await useless();
      home.restart();
      home.clock.advance(HOUR - 1);
      expect(await home.isFree()).toBe(false);
      home.clock.advance(1);
    }
    expect(await home.budget.inForce(MINE)).toMatchObject({
      about: 'tokens',
      code: 'key_rejected',
      message: misfit.message,
      nextAttemptAt: begin + 24 * HOUR,
    });
    home.clock.advance(20 * HOUR);
    expect(await home.isFree()).toBe(true);
  });

  test('nobody who asks, and no person who signs in, buys another', async () => {
    await useless();
    await home.budget.ask();
    expect(await home.isFree()).toBe(false);
    await home.budget.forget();
    expect(await home.isFree()).toBe(false);
  });

  test('other credentials are free, and begin anew', async () => {
    await useless();
    expect(await home.isFree(OTHER)).toBe(true);
    await home.granted(OTHER);
    expect(home.store.kept).toMatchObject({ useless: [] });
  });

  test('is one as long as it was not accepted; a refusal later on is no news of the login', async () => {
    await home.granted();
    home.restart();
    expect(await home.budget.isUnproven()).toBe(true);
    await home.budget.useful();
    expect(home.store.kept).toBeNull();
    await home.budget.useless(misfit, MINE);
    expect(home.store.kept).toBeNull();
  });

  test('one that is not proved is no reason to wait, and forgotten with the next', async () => {
    await home.granted();
    expect(await home.isFree()).toBe(true);
    await home.granted();
    await home.budget.useless(misfit, MINE);
    expect(home.store.kept?.useless).toHaveLength(1);
  });

  test('tokens that the program itself cannot use count at once', async () => {
    const away = new IssuerUnreachable('Of another issuer.', { retry: 'later' });
    const grant = {
      accessToken: 'a',
      refreshToken: null,
      expiresInSeconds: 60,
      refreshExpiresInSeconds: null,
    };
    await home.refused(new GrantUnusable(away, grant));
    expect(await home.isFree()).toBe(false);
  });

  test('after a clock that was far ahead it takes an hour, not a year', async () => {
    home.clock.jump(365 * 24 * HOUR);
    await useless();
    home.clock.jump(-365 * 24 * HOUR);
    for (let restarts = 0; restarts < 4; restarts += 1) {
      home.restart();
      expect(await home.isFree()).toBe(false);
      home.clock.advance(HOUR / 4);
    }
    expect(await home.isFree()).toBe(true);
  });
});

type Step =
  | { readonly kind: 'restart' | 'ask' | 'renew' }
  | { readonly kind: 'advance' | 'jump'; readonly ms: number }
  | Poll;
interface Poll {
  readonly kind: 'poll';
  readonly issuer: 'grants' | 'misfit' | 'refuses' | 'away';
  readonly api: 'accepts' | 'refuses' | 'away';
}

const PASSING = fc.oneof(fc.integer({ min: 0, max: 3 * HOUR }), fc.constantFrom(HOUR / 2, HOUR, 24 * HOUR));
const among = <T extends string>(...weights: readonly (readonly [T, number])[]) =>
  fc.oneof(...weights.map(([value, weight]) => ({ weight, arbitrary: fc.constant(value) })));
const POLL: fc.Arbitrary<Poll> = fc.record({
  kind: fc.constant('poll'),
  issuer: among(['grants', 20], ['misfit', 10], ['away', 4], ['refuses', 1]),
  api: among(['refuses', 4], ['accepts', 1], ['away', 1]),
});
const steps = (...more: fc.Arbitrary<Step>[]) =>
  fc.array(
    fc.oneof<{ weight: number; arbitrary: fc.Arbitrary<Step> }[]>(
      { weight: 12, arbitrary: POLL },
      { weight: 8, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: PASSING }) },
      { weight: 2, arbitrary: fc.constantFrom<Step>({ kind: 'ask' }, { kind: 'renew' }) },
      ...more.map((arbitrary) => ({ weight: 3, arbitrary })),
    ),
    { minLength: 40, maxLength: 120 },
  );
const restart: fc.Arbitrary<Step> = fc.constant({ kind: 'restart' });
const jump = (min: number, max: number): fc.Arbitrary<Step> =>
  fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min, max }) });

const ACCESS_SECONDS = 1800;

/** Monotonic times of logins whose tokens the API has refused, or the program could not use. */
async function run(all: readonly Step[]): Promise<number[]> {
  const clock = handClock('2026-03-10T12:00:00Z');
  const store = memoryStore<LoginBudgetRecord>();
  const tokens = memoryStore<TokenSet>();
  const { log } = logLines();
  const logins: { at: number; verdict: 'useless' | 'useful' | null }[] = [];
  let refreshes = 0;
  let issuerDoes: Poll['issuer'] = 'grants';
  const grant = (): Grant => ({
    accessToken: `${logins.length}/${refreshes}`,
    refreshToken: `${logins.length}/${refreshes}`,
    expiresInSeconds: ACCESS_SECONDS,
    refreshExpiresInSeconds: 2 * ACCESS_SECONDS,
  });
  const issuer = {
    offersDevice: async () => false,
    endSession: async () => undefined,
    async login(): Promise<Grant> {
      if (issuerDoes === 'refuses') throw new LoginRefused(REFUSALS.badCredentials);
      const away = new IssuerUnreachable('Away.', { retry: 'soon' });
      if (issuerDoes === 'away') throw away;
      const isMisfit = issuerDoes === 'misfit';
      logins.push({ at: clock.monotonic(), verdict: isMisfit ? 'useless' : null });
      if (isMisfit) throw new GrantUnusable(away, grant());
      return grant();
    },
    async refresh(): Promise<Grant> {
      refreshes += 1;
      // Some end the session at a refresh.
      if (refreshes % 3 === 0) throw new SessionEnded(false);
      return grant();
    },
  };
  const open = () => {
    const budget = new LoginBudget(store, clock, log, { scryptCost: QUICK_HASH });
    const login = new Login({
      issuer,
      form: null,
      signIn: 'auto',
      username: 'me',
      readPassword: async () => 'right',
      readTotpSecret: null,
      oneTimeCode: null,
      timeWords: (instant) => new Date(instant).toISOString().slice(11, 16),
      context: '',
      budget,
      wayIn: memoryStore(),
      log,
    });
    const session = new Session({
      budget,
      wantsRefreshToken: false,
      issuer,
      login,
      tokens,
      clock,
      log,
      onLogin: () => undefined,
      onRefresh: () => undefined,
      onChange: () => undefined,
      scrub: () => undefined,
      withLock: (step) => step(true),
    });
    return { budget, session };
  };
  let opened = open();

  async function poll(api: 'accepts' | 'refuses' | 'away'): Promise<void> {
    const rejected: string[] = [];
    for (;;) {
      const token = await opened.session.accessToken(rejected).catch(() => null);
      if (token === null) {
        const last = logins.at(-1);
        // It was granted, and nothing of it was ever accepted.
        if (rejected.length > 0 && last?.verdict === null) last.verdict = 'useless';
        return;
      }
      if (api === 'away') return;
      if (api === 'accepts') {
        const last = logins.at(-1);
        if (last) last.verdict ??= 'useful';
        return opened.session.accepted();
      }
      rejected.push(token);
    }
  }

  for (const each of all) {
    if (each.kind === 'advance') clock.advance(each.ms);
    else if (each.kind === 'jump') clock.jump(each.ms);
    else if (each.kind === 'restart') opened = open();
    else if (each.kind === 'ask') await opened.budget.ask();
    else if (each.kind === 'renew') await opened.session.renew().catch(() => undefined);
    else if (each.kind === 'poll') {
      issuerDoes = each.issuer;
      await poll(each.api);
    }
  }
  return logins.filter(({ verdict }) => verdict === 'useless').map(({ at }) => at);
}

const before = (times: readonly number[], index: number) => times[index] ?? Number.NEGATIVE_INFINITY;

// How long a machine was off only its wall clock can tell: one that steps ahead meanwhile has told it.
test.each([
  ['honest clocks and restarts', steps(restart)],
  ['restarts, and a wall clock that steps back', steps(restart, jump(-80 * HOUR, 0))],
  ['a wall clock that jumps anywhere', steps(jump(-80 * HOUR, 80 * HOUR))],
])('never more than one useless login an hour, four a day: %s', async (_, events) => {
  let most = 0;
  await fc.assert(
    fc.asyncProperty(events, async (all) => {
      const useless = await run(all);
      most = Math.max(most, useless.length);
      for (const [index, at] of useless.entries()) {
        expect(at - before(useless, index - 1)).toBeGreaterThanOrEqual(HOUR);
        expect(at - before(useless, index - 4)).toBeGreaterThanOrEqual(24 * HOUR);
      }
    }),
    { numRuns: 200 },
  );
  // The events do reach the limit.
  expect(most).toBeGreaterThan(4);
});
