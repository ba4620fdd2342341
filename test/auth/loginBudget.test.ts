// How often a login may be tried: waits, restarts, another secret, clocks that jump, crashes, one more attempt, useless logins.
import { expect, test } from 'vitest';
import { GrantUnusable, issuerUnreachable } from '../../src/auth/issuerTrouble.ts';
import { LoginBudget } from '../../src/auth/loginBudget.ts';
import { accessTokenRejected, LoginRefused, REFUSALS } from '../../src/auth/refusals.ts';
import type { Failure } from '../../src/foundation/failure.ts';
import type { LoginBudgetRecord } from '../../src/store/documents.ts';
import { handClock } from '../support/clock.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { HOUR, MINUTE } from './account.ts';

const MINE = 'me / my password';
const OTHER = 'me / my new password';
const DAY = 24 * HOUR;
const away = issuerUnreachable('Away.', { retry: 'soon' });
const useless = accessTokenRejected();
const GRANT = { accessToken: 'a', refreshToken: 'r', expiresInSeconds: 9, refreshExpiresInSeconds: null };

/** `15m`, `6h`, `-2d` in milliseconds. */
const ms = (text: string) =>
  Number.parseFloat(text) * ({ m: MINUTE, h: HOUR, d: DAY }[text.at(-1) ?? ''] ?? Number.NaN);

function openHome() {
  const clock = handClock('2026-03-10T12:00:00Z');
  const store = memoryStore<LoginBudgetRecord>();
  const open = (changes = {}) => new LoginBudget({ store, clock, scryptCost: 2, ...changes });
  let budget = open();
  const restart = () => {
    budget = open();
  };
  const inForce = (credentials: string | null = MINE) => budget.inForce(credentials);
  const isFree = async (credentials = MINE) => (await inForce(credentials)) === null;
  const refuse = (refusal: Failure, credentials = MINE, by = budget): Promise<unknown> =>
    by.attempt(credentials, () => Promise.reject(refusal)).catch(() => undefined);
  const grant = (credentials = MINE) => budget.attempt(credentials, async () => GRANT);
  const free = async () => expect(await isFree()).toBe(true);
  const held = async () => expect(await isFree()).toBe(false);
  /** What a story below may say; a word in brackets is its argument. */
  const verbs: Readonly<Record<string, (argument: string) => unknown>> = {
    restart,
    refused: () => refuse(new LoginRefused(REFUSALS.badCredentials)),
    otherRefused: () => refuse(new LoginRefused(REFUSALS.badCredentials), OTHER),
    limited: () => refuse(new LoginRefused(REFUSALS.sessionLimit)),
    clientRefused: () => refuse(new LoginRefused(REFUSALS.wrongClient)),
    clientRefusedByCommand: () => refuse(new LoginRefused(REFUSALS.wrongClient), MINE, open()),
    notSetUp: () => refuse(new LoginRefused(REFUSALS.notSetUp)),
    away: () => refuse(away),
    misfit: () => refuse(new GrantUnusable(away, GRANT)),
    granted: () => grant(),
    otherGranted: () => grant(OTHER),
    accepted: () => budget.useful(),
    useless: () => budget.useless(useless, MINE),
    ask: () => budget.ask(),
    forget: () => budget.forget(),
    /** The process dies before the answer comes. */
    crash: () =>
      new Promise<void>((resolve) => {
        void budget.attempt(MINE, () => {
          resolve();
          return new Promise(() => undefined);
        });
      }).then(restart),
    wait: (time) => clock.advance(ms(time)),
    jump: (time) => clock.jump(ms(time)),
    full: () => {
      store.isFull = true;
    },
    free,
    held,
    otherFree: async () => expect(await isFree(OTHER)).toBe(true),
    otherHeld: async () => expect(await isFree(OTHER)).toBe(false),
    fleetHeld: async () => expect(await open({ isOpenedForEachRun: true }).inForce(MINE)).not.toBeNull(),
    /** And not a millisecond less. */
    heldFor: async (time) => {
      clock.advance(ms(time) - 1);
      await held();
      clock.advance(1);
      await free();
    },
    /** For whatever time. */
    stopped: async () => {
      for (const jump of [1e5, -2e5, 1e5]) {
        clock.advance(1000 * HOUR);
        clock.jump(jump * HOUR);
        expect(await inForce()).toMatchObject({ nextAttemptAt: null });
      }
    },
    refusals: (count) => expect(store.kept).toMatchObject({ refusals: Number(count) }),
    nothingKept: () => expect(store.kept).toBeNull(),
  };
  return {
    clock,
    store,
    open,
    inForce,
    async play(story: string) {
      for (const step of story.split(/\s+/)) {
        const [verb = '', argument = ''] = step.split(/[()]/);
        const act = verbs[verb];
        if (!act) throw new Error(`no such step: ${verb}`);
        await act(argument);
      }
    },
  };
}

test.each([
  // The password step has refused it.
  'free refused restart heldFor(15m) refused restart heldFor(1h) refused restart heldFor(6h) refused restart stopped refusals(4)',
  'refused heldFor(15m) refused granted accepted nothingKept refused refusals(1)',
  // No password is tried twice in a row because a clock that was ahead has been set.
  'jump(1d) refused jump(-1d) restart held heldFor(6h) refused heldFor(1h)',
  'refused jump(1h) free refused refusals(2) jump(-365d) held wait(5.9h) held wait(0.1h) free refused held',
  'notSetUp held stopped',
  // The client was refused: until a restart, but in a fleet, or a user asks.
  'clientRefused otherFree fleetHeld heldFor(6h)',
  'clientRefused wait(5.9h) held fleetHeld restart free fleetHeld',
  'clientRefused held ask free',
  'refused heldFor(15m) clientRefusedByCommand held refusals(1) wait(1m) restart free refused refusals(2) heldFor(1h)',
  'refused clientRefused forget free',
  // For another reason than the password, which may pass: no stop, and a password is not given up for it either.
  'limited restart heldFor(15m) limited restart heldFor(1h) limited heldFor(6h) limited restart heldFor(6h) limited heldFor(6h)',
  'limited limited limited limited refused heldFor(6h) refused restart stopped',
  'refused refused refused limited heldFor(6h) refused stopped',
  'limited otherFree fleetHeld ask free limited ask held wait(59m) ask held wait(1m) ask free granted accepted nothingKept',
  'limited crash heldFor(15m) limited heldFor(6h)',
  // Other credentials.
  'refused refused refused refused held otherFree restart held otherFree otherRefused refusals(1) otherHeld',
  'refused ask refused ask held otherRefused otherHeld ask otherFree',
  // The program ended before the answer came.
  'crash heldFor(1m) crash heldFor(15m) crash heldFor(1h) crash heldFor(6h) crash heldFor(6h)',
  'refused refused heldFor(1h) away free refusals(2) crash refusals(3) heldFor(1h) granted accepted nothingKept',
  // A user asks: once an hour after a refusal of the password, whatever the wall clock and restarts say; and not in vain.
  'refused ask free refused refusals(2) held wait(59m) ask held wait(1m) ask free',
  'refused refused refused refused ask free refused ask held wait(59m) ask held wait(1m) ask free',
  'refused heldFor(15m) ask refused held ask free',
  'refused refused refused refused ask refused jump(2d) ask held jump(-2d) jump(-2d) restart ask held jump(59m) restart ask held wait(1h) ask free',
  'refused refused refused refused full ask held',
  'notSetUp held ask free notSetUp restart ask free notSetUp ask free refused refusals(1) ask free refused ask held',
  // It was granted, and of no use: at most one an hour and four a day.
  'granted free useless restart heldFor(1h) granted useless heldFor(1h) granted useless heldFor(1h) granted useless heldFor(21h)',
  'granted useless ask held forget held otherFree otherGranted accepted nothingKept',
  'granted restart accepted useless nothingKept',
  'misfit held useless useless useless heldFor(1h)',
  'jump(365d) granted useless jump(-365d) restart held wait(15m) restart held wait(45m) free',
])('%s', (story) => openHome().play(story));

test('says what for, and until when, when a login waits', async () => {
  const { clock, store, inForce, play } = openHome();
  await play('ask');
  expect([await inForce(null), store.steps.includes('write')]).toEqual([null, false]);
  const told = async (story: string) => {
    await play(story);
    // A secret that cannot be read has not changed.
    expect(await inForce(null)).toEqual(await inForce());
    const { about, state, code, nextAttemptAt: next } = (await inForce()) ?? {};
    return [about, state, code, next && next - clock.now()];
  };
  const bad = REFUSALS.badCredentials.code;
  expect(await told('refused')).toEqual(['password', bad, bad, HOUR / 4]);
  expect(JSON.stringify(store.kept)).not.toContain('password');
  expect(await told('crash')).toEqual(['password', 'backoff', 'login_unfinished', HOUR / 4]);
  expect(await told('clientRefused')).toEqual(['client', 'needs_user_action', 'client_refused', 6 * HOUR]);
  const full = REFUSALS.sessionLimit.code;
  expect(await told('limited')).toEqual(['otherwise', 'backoff', full, 6 * HOUR]);
  expect(await told('notSetUp')).toEqual(['person', 'needs_user_action', 'account_not_set_up', null]);
  expect(await told('granted useless')).toEqual(['tokens', 'backoff', 'key_rejected', HOUR]);
  expect(await inForce()).toMatchObject({ message: useless.message, hint: useless.hint });
});

test('recognises the credentials when an earlier version has written their mark', async () => {
  const secretMark = 'kyq2qULTPGyyLKynQYORsQ.x2yF63yHNXEPsDe0EkRQ_zC6yHfiBuhCd4fHL96e54Y';
  const { store, open, play } = openHome();
  await play('refused');
  store.kept = { ...(store.kept as LoginBudgetRecord), secretMark };
  const budget = open({ scryptCost: undefined });
  const isFree = async (credentials: string) => (await budget.inForce(credentials)) === null;
  expect([await isFree(MINE), await isFree(OTHER)]).toEqual([false, true]);
});
