// In any order of events the issuer never sees more refused logins, nor grants more useless ones, than the budget allows.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrantUnusable, issuerUnreachable } from '../../src/auth/issuerTrouble.ts';
import { LoginRefused, REFUSALS, SessionEnded } from '../../src/auth/refusals.ts';
import type { Grant } from '../../src/auth/tokens.ts';
import type { LoginBudgetRecord, TokenSet } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { RUNS } from '../support/property.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { HOUR, MINUTE, openAuth } from './account.ts';

const WAITS = [15 * MINUTE, HOUR, 6 * HOUR];
const TRIES = WAITS.length + 1;

/** What the issuer makes of a login: `misfit` tokens cannot be used by the program. */
type Answer = 'grants' | 'misfit' | 'refuses' | 'disabled' | 'away';
type Step =
  | { readonly kind: 'restart' | 'ask' | 'renew' }
  | { readonly kind: 'advance' | 'jump'; readonly ms: number }
  | { readonly kind: 'poll'; readonly issuer: Answer; readonly api: 'accepts' | 'refuses' | 'away' };

const among = <T extends string>(weights: Readonly<Partial<Record<T, number>>>) =>
  fc.oneof(
    ...Object.entries(weights).map(([value, weight]) => ({
      weight: Number(weight),
      arbitrary: fc.constant(value as T),
    })),
  );
const event = (kind: 'restart' | 'ask' | 'renew'): fc.Arbitrary<Step> => fc.constant({ kind });
const jump = (min: number, max: number): fc.Arbitrary<Step> =>
  fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min, max }) });
const events = (issuer: Readonly<Partial<Record<Answer, number>>>, ...more: fc.Arbitrary<Step>[]) => {
  const poll: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('poll' as const),
    issuer: among<Answer>(issuer),
    api: among<'accepts' | 'refuses' | 'away'>({ refuses: 4, accepts: 1, away: 1 }),
  });
  const ms = fc.oneof(fc.integer({ min: 0, max: 3 * HOUR }), fc.constantFrom(...WAITS, HOUR / 2, 24 * HOUR));
  const passing: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('advance' as const), ms });
  return fc.array(
    fc.oneof(
      { weight: 12, arbitrary: poll },
      { weight: 8, arbitrary: passing },
      ...more.map((arbitrary) => ({ weight: 2, arbitrary })),
    ),
    { minLength: 20, maxLength: 60 },
  );
};

/** Monotonic times at which the issuer refused, at which a user asked, and of logins that turned out to be of no use. */
async function run(steps: readonly Step[]) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const shared = {
    clock,
    log: logLines().log,
    tokens: memoryStore<TokenSet>(),
    budgetStore: memoryStore<LoginBudgetRecord>(),
  };
  const refusedAt: number[] = [];
  const askedAt: number[] = [];
  const logins: { at: number; verdict: 'useless' | 'useful' | null }[] = [];
  let refreshes = 0;
  let answer: Answer = 'grants';
  const grant = (): Grant => ({
    accessToken: `${logins.length}/${refreshes}`,
    refreshToken: `${logins.length}/${refreshes}`,
    expiresInSeconds: 1800,
    refreshExpiresInSeconds: 3600,
  });
  const away = issuerUnreachable('Away.', { retry: 'soon' });
  const issuer = {
    offersDevice: async () => false,
    endSession: async () => undefined,
    async login(): Promise<Grant> {
      if (answer === 'away') throw away;
      if (answer === 'refuses' || answer === 'disabled') {
        refusedAt.push(clock.monotonic());
        throw new LoginRefused(answer === 'refuses' ? REFUSALS.badCredentials : REFUSALS.accountDisabled);
      }
      logins.push({ at: clock.monotonic(), verdict: answer === 'misfit' ? 'useless' : null });
      if (answer === 'misfit') throw new GrantUnusable(away, grant());
      return grant();
    },
    async refresh(): Promise<Grant> {
      refreshes += 1;
      // Some end the session at a refresh.
      if (refreshes % 3 === 0) throw new SessionEnded(false);
      return grant();
    },
  };
  const open = () => openAuth({ ...shared, issuer });
  let opened = open();

  async function poll(api: 'accepts' | 'refuses' | 'away'): Promise<void> {
    const rejected: string[] = [];
    for (;;) {
      const token = await opened.session.accessToken(rejected).catch(() => null);
      const last = logins.at(-1);
      if (token === null) {
        // It was granted, and nothing of it was ever accepted.
        if (rejected.length > 0 && last?.verdict === null) last.verdict = 'useless';
        return;
      }
      if (api === 'away') return;
      if (api === 'accepts') {
        if (last) last.verdict ??= 'useful';
        return opened.session.accepted();
      }
      rejected.push(token);
    }
  }

  for (const each of steps) {
    if (each.kind === 'advance') clock.advance(each.ms);
    else if (each.kind === 'jump') clock.jump(each.ms);
    else if (each.kind === 'restart') opened = open();
    else if (each.kind === 'renew') await opened.session.renew().catch(() => undefined);
    else if (each.kind === 'ask') {
      askedAt.push(clock.monotonic());
      await opened.budget.ask();
    } else if (each.kind === 'poll') {
      answer = each.issuer;
      await poll(each.api);
    }
  }
  const useless = logins.filter(({ verdict }) => verdict === 'useless').map(({ at }) => at);
  return { refusedAt, askedAt, useless };
}

const before = (times: readonly number[], index: number) => times[index] ?? Number.NEGATIVE_INFINITY;
const [restart, ask, renew] = [event('restart'), event('ask'), event('renew')];

test('is refused four times at most, and once for each time a user asks, when clocks jump', async () => {
  const drawn = events({ refuses: 9, disabled: 2, away: 2 }, restart, ask, jump(-80 * HOUR, 8 * HOUR));
  const claim = fc.asyncProperty(drawn, async (steps) => {
    const { refusedAt, askedAt } = await run(steps);
    expect(refusedAt.length).toBeLessThanOrEqual(TRIES + askedAt.length);
  });
  await fc.assert(claim, { numRuns: RUNS });
});

test('keeps the waits, but for one that a user asks for each hour, when clocks are honest', async () => {
  const claim = fc.asyncProperty(events({ refuses: 9, away: 2 }, restart, ask), async (steps) => {
    const { refusedAt, askedAt } = await run(steps);
    let lastExtra = Number.NEGATIVE_INFINITY;
    for (const [index, at] of refusedAt.entries()) {
      const previous = before(refusedAt, index - 1);
      const wait = WAITS[index - 1] ?? (index === 0 ? 0 : Number.POSITIVE_INFINITY);
      if (at - previous >= wait) continue;
      expect(askedAt.some((asked) => asked >= previous && asked <= at)).toBe(true);
      expect(at - lastExtra).toBeGreaterThanOrEqual(HOUR);
      lastExtra = at;
    }
  });
  await fc.assert(claim, { numRuns: RUNS });
});

// How long a machine was off only its wall clock can tell: one that steps ahead meanwhile has told it.
test.each([
  ['honest clocks and restarts', [restart]],
  ['restarts, and a wall clock that steps back', [restart, jump(-80 * HOUR, 0)]],
  ['a wall clock that jumps anywhere', [jump(-80 * HOUR, 80 * HOUR)]],
])('never more than one useless login an hour, four a day: %s', async (_, more) => {
  let most = 0;
  const drawn = events({ grants: 20, misfit: 10, away: 4, refuses: 1 }, ask, renew, ...more);
  const claim = fc.asyncProperty(drawn, async (steps) => {
    const { useless } = await run(steps);
    most = Math.max(most, useless.length);
    for (const [index, at] of useless.entries()) {
      expect(at - before(useless, index - 1)).toBeGreaterThanOrEqual(HOUR);
      expect(at - before(useless, index - 4)).toBeGreaterThanOrEqual(24 * HOUR);
    }
  });
  await fc.assert(claim, { numRuns: RUNS });
  // The events do reach the limit.
  expect(most).toBeGreaterThan(4);
});
