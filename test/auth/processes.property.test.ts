// Two processes on one store, whatever they do at the same time, are killed at, or meet at the issuer: no refresh token
// is used twice, no session is lost that the issuer has not ended, and no login is tried that need not be.
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/foundation/clock.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import type { LoginBudgetRecord, TokenSet } from '../../src/store/documents.ts';
import { withLock } from '../../src/store/locks.ts';
import type { Document } from '../../src/store/stateStore.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { RUNS } from '../support/property.ts';
import { untilAtRest } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { memoryStore } from '../support/tokenStore.ts';
import { issuerAt, MINUTE, openAuth, SECOND, TOKEN_PATH } from './account.ts';

/** One request to the token endpoint. */
interface Sent {
  readonly form: Readonly<Record<string, string>>;
  readonly at: number;
  /** A login was asked for, whatever session there was. */
  readonly isWanted: boolean;
  /** What was stored when it was sent. */
  readonly kept: TokenSet | null;
  /** `null`: none has come, or the process was killed before. */
  answer: { readonly status: number; readonly body: Record<string, unknown> } | null;
}

type Process = ReturnType<ReturnType<typeof openProcesses>['start']>;

const never = new Promise<never>(() => undefined);

function openProcesses(simulator: Simulator, clock: HandClock, folder: string) {
  const tokens = memoryStore<TokenSet>();
  const budgetStore = memoryStore<LoginBudgetRecord>();
  const sent: Sent[] = [];

  function start() {
    let isAlive = true;
    let wanted = 0;
    /** Whatever a killed process waits for does not come. */
    const unlessKilled = async <T>(step: () => Promise<T>): Promise<T> => {
      if (!isAlive) return never;
      const ended = await step().then(
        (value) => () => value,
        (err: unknown) => () => {
          throw err;
        },
      );
      return isAlive ? ended() : never;
    };
    const own: Clock = { ...clock, sleep: (ms, signal) => unlessKilled(() => clock.sleep(ms, signal)) };
    const disk = <T>(store: Document<T>): Document<T> => ({
      read: () => unlessKilled(() => store.read()),
      write: (value) => unlessKilled(() => store.write(value)),
      remove: () => unlessKilled(() => store.remove()),
    });
    const outbound = createHttpClient(clock).fetch;
    const noted: typeof fetch = (input, init) =>
      unlessKilled(async () => {
        const form = Object.fromEntries(new URLSearchParams(String(init?.body ?? '')));
        if (form.grant_type === undefined) return outbound(input, init);
        const { kept } = tokens;
        const one: Sent = { form, at: clock.monotonic(), isWanted: wanted > 0, kept, answer: null };
        sent.push(one);
        const response = await outbound(input, init);
        const body = (await response.clone().json()) as Record<string, unknown>;
        if (isAlive) one.answer = { status: response.status, body };
        return response;
      });
    const { log } = logLines();
    const issuer = issuerAt(simulator.urls.issuer, { fetch: noted, clock: own, log });
    const lock = join(folder, 'session.lock');
    const { session } = openAuth(
      { issuer, tokens: disk(tokens), budgetStore: disk(budgetStore), clock: own, log },
      {
        signIn: 'password',
        account: { username: 'me@example.org', password: { read: async () => 'demo' } },
        session: { withLock: (step) => withLock(lock, own, { kind: 'command', held: new Set() }, step) },
      },
    );
    const asWanted = async <T>(step: Promise<T>): Promise<T> => {
      wanted += 1;
      return step.finally(() => {
        wanted -= 1;
      });
    };
    return {
      use: () => session.accessToken(),
      renew: () => session.renew(),
      /** As `heat2mqtt login`. */
      login: () => asWanted(session.logIn()),
      /** As a person's sign-in by another way. */
      bring: async () => session.storeGrant(await asWanted(issuer.login('me@example.org', 'demo'))),
      reload: () => session.reload(),
      logout: () => session.end(),
      kill(): void {
        isAlive = false;
      },
      get isAlive() {
        return isAlive;
      },
    };
  }

  return { start, sent: sent as readonly Sent[] };
}

const ACTS = ['use', 'renew', 'login', 'bring', 'reload', 'logout', 'restart'] as const;
type Act = (typeof ACTS)[number];
type Happening = (typeof HAPPENINGS)[number];
const HAPPENINGS = ['sessions end', 'realm off', 'user off', 'all on', 'reply lost', 'jump'] as const;
type Step =
  | { readonly who: number; readonly act: Act; readonly turns: number }
  | { readonly happens: Happening; readonly ms: number }
  | { readonly passes: number };

const acts = fc.record({ who: fc.nat(1), act: fc.constantFrom(...ACTS), turns: fc.nat(12) });
const passes = fc.record({
  passes: fc.oneof(fc.nat(300), fc.constantFrom(20 * SECOND, 5 * MINUTE, 30 * MINUTE)),
});
const happens = fc.record({
  happens: fc.constantFrom(...HAPPENINGS),
  ms: fc.integer({ min: -10 * MINUTE, max: 10 * MINUTE }),
});

async function run(steps: readonly Step[]) {
  const stack = openStack();
  const clock = handClock('2026-03-10T12:00:00Z');
  const simulator = await startSimulator({ clock });
  const { switches } = simulator;
  const { token } = switches;
  Object.assign(token, { accessSeconds: 600, refreshSeconds: 86_400, sessionMaxSeconds: 864_000 });
  // Answers take their time, so that whatever is not kept apart meets.
  let isLost = false;
  switches.fault(TOKEN_PATH, { kind: 'slow', ms: 100 }, { when: () => !isLost });
  const loses = ({ text }: { readonly text: string }) => {
    const takes = isLost && text.includes('grant_type=refresh_token');
    if (takes) isLost = false;
    return takes;
  };
  switches.fault(TOKEN_PATH, { kind: 'reply_lost' }, { when: loses });
  const { start, sent } = openProcesses(simulator, clock, await stack.folder());
  const processes: Process[] = [start(), start()];
  const unexpected: unknown[] = [];
  const underWay = new Set<{ readonly process: Process }>();

  function begin(process: Process, step: () => Promise<unknown>): void {
    const one = { process };
    underWay.add(one);
    void step()
      .catch((err) => {
        if (!(err instanceof Failure)) unexpected.push(err);
      })
      .finally(() => underWay.delete(one));
  }
  const happening: Record<Happening, (ms: number) => void> = {
    'sessions end': () => simulator.endSessions(),
    'realm off': () => void Object.assign(token, { realmEnabled: false }),
    'user off': () => void token.accountStates.set('me@example.org', 'disabled'),
    'all on': () => {
      token.realmEnabled = true;
      token.accountStates.clear();
    },
    'reply lost': () => {
      isLost = true;
    },
    jump: (ms) => clock.jump(ms),
  };
  for (const step of steps) {
    if ('passes' in step) await clock.pass(step.passes, untilAtRest);
    else if ('happens' in step) happening[step.happens](step.ms);
    else if (step.act === 'restart') {
      processes[step.who]?.kill();
      processes[step.who] = start();
    } else {
      const process = processes[step.who] as Process;
      begin(process, process[step.act]);
      for (let left = step.turns; left > 0; left -= 1) await new Promise((done) => setImmediate(done));
    }
  }
  await clock.pass(3 * MINUTE, untilAtRest);
  const stuck = [...underWay].filter(({ process }) => process.isAlive);
  for (const process of processes) process.kill();
  await simulator.stop();
  return { sent, unexpected, stuck, simulator };
}

const isRefresh = ({ form }: Sent) => form.grant_type === 'refresh_token';
const isLogin = ({ form }: Sent) => form.grant_type === 'password';
/** The words with which the issuer ends a session. */
const endingOf = ({ answer }: Sent): string | null => {
  const { error, error_description } = answer?.body ?? {};
  return error === 'invalid_grant' && error_description !== 'User disabled'
    ? String(error_description)
    : null;
};

test('whatever two processes do at the same time', { timeout: 120_000 }, async () => {
  const step = fc.oneof({ weight: 6, arbitrary: acts }, { weight: 3, arbitrary: passes }, happens);
  const claim = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
    const { sent, unexpected, stuck, simulator } = await run(steps);
    expect(unexpected).toEqual([]);
    expect(stuck).toEqual([]);
    const signedOut = simulator.counters.revocations > 0;
    const wasEnded = signedOut || steps.some((one) => 'happens' in one && one.happens === 'sessions end');
    const used = new Map<string, Sent>();
    const unanswered = new Set<string>();
    for (const one of sent.filter(isRefresh)) {
      const refreshToken = one.form.refresh_token ?? '';
      const before = used.get(refreshToken);
      // A killed process may have sent it; a lost answer, or a refusal for now, leaves it as it was.
      const isAgain = before?.answer?.status === 200 || (before !== undefined && endingOf(before) !== null);
      // After a sign-out the session is over for the other process too: it learns that from the issuer.
      expect(isAgain && one.kept !== null).toBe(false);
      // A lost answer ends the session: each process learns that by a refusal of its own.
      if (before?.answer === null) unanswered.add(refreshToken);
      const isByRight = wasEnded || unanswered.has(refreshToken);
      if (endingOf(one) !== null)
        expect({ isByRight, words: endingOf(one) }).toMatchObject({ isByRight: true });
      used.set(refreshToken, one);
    }
    expect(simulator.counters.refreshGrants.asked).toBe(sent.filter(isRefresh).length);
    for (const { isWanted, kept } of sent.filter(isLogin)) if (!isWanted) expect(kept).toBeNull();
  });
  await fc.assert(claim, { numRuns: Math.ceil(RUNS / 4) });
});
