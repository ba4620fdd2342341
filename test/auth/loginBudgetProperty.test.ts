// In any order of events the issuer never sees more refused logins than the budget allows.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Login } from '../../src/auth/login.ts';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import { IssuerUnreachable } from '../../src/auth/unreachable.ts';
import type { LoginBudgetRecord } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { QUICK_HASH } from './account.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WAITS = [15 * MINUTE, HOUR, 6 * HOUR];
const TRIES = WAITS.length + 1;

type Step =
  | { readonly kind: 'try' | 'restart' | 'ask' }
  | { readonly kind: 'advance' | 'jump'; readonly ms: number }
  | { readonly kind: 'outage'; readonly lasts: boolean }
  | { readonly kind: 'refusal'; readonly final: boolean };

const ms = (min: number) => fc.oneof(fc.integer({ min, max: 8 * HOUR }), fc.constantFrom(...WAITS));
const step = (jumps: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Step>({ kind: 'try' }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: ms(0) }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'restart' }, { kind: 'ask' }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('outage' as const), lasts: fc.boolean() }) },
    ...(jumps
      ? [
          { weight: 2, arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: ms(-80 * HOUR) }) },
          { weight: 1, arbitrary: fc.record({ kind: fc.constant('refusal' as const), final: fc.boolean() }) },
        ]
      : []),
  );

/** Monotonic times at which the issuer refused and at which somebody asked. */
async function run(steps: readonly Step[]) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const store = memoryStore<LoginBudgetRecord>();
  const { log } = logLines();
  const refusedAt: number[] = [];
  const askedAt: number[] = [];
  let isDown = false;
  let row: keyof typeof REFUSALS = 'badCredentials';
  const issuer = {
    offersDevice: async () => false,
    refresh: () => Promise.reject(new Error('not asked for')),
    async login(): Promise<never> {
      if (isDown) throw new IssuerUnreachable('Away.', { retry: 'soon' });
      refusedAt.push(clock.monotonic());
      throw new LoginRefused(REFUSALS[row]);
    },
  };
  let budget = new LoginBudget(store, clock, log, { scryptCost: QUICK_HASH });
  const open = () =>
    new Login({
      issuer,
      form: null,
      signIn: 'auto',
      username: 'me',
      readPassword: async () => 'wrong',
      readTotpSecret: null,
      oneTimeCode: null,
      timeWords: (instant) => new Date(instant).toISOString().slice(11, 16),
      context: '',
      budget,
      wayIn: memoryStore(),
      log,
    });
  let login = open();
  for (const each of steps) {
    if (each.kind === 'try') await login.attempt().catch(() => undefined);
    else if (each.kind === 'advance') clock.advance(each.ms);
    else if (each.kind === 'jump') clock.jump(each.ms);
    else if (each.kind === 'outage') isDown = each.lasts;
    else if (each.kind === 'refusal') row = each.final ? 'accountDisabled' : 'badCredentials';
    else if (each.kind === 'ask') {
      askedAt.push(clock.monotonic());
      await budget.ask();
    } else {
      budget = new LoginBudget(store, clock, log, { scryptCost: QUICK_HASH });
      login = open();
    }
  }
  return { refusedAt, askedAt };
}

const RUNS = { numRuns: 200 };

test('with clocks that jump: four, and one for each time somebody asks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(true), { maxLength: 60 }), async (steps) => {
      const { refusedAt, askedAt } = await run(steps);
      expect(refusedAt.length).toBeLessThanOrEqual(TRIES + askedAt.length);
    }),
    RUNS,
  );
});

test('with honest clocks: the waits are kept but for one asked for, at most once an hour', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(false), { maxLength: 80 }), async (steps) => {
      const { refusedAt, askedAt } = await run(steps);
      let lastExtra = Number.NEGATIVE_INFINITY;
      for (const [index, at] of refusedAt.entries()) {
        const before = refusedAt[index - 1] ?? Number.NEGATIVE_INFINITY;
        const wait = WAITS[index - 1] ?? (index === 0 ? 0 : Number.POSITIVE_INFINITY);
        if (at - before >= wait) continue;
        expect(askedAt.some((asked) => asked >= before && asked <= at)).toBe(true);
        expect(at - lastExtra).toBeGreaterThanOrEqual(HOUR);
        lastExtra = at;
      }
    }),
    RUNS,
  );
});
