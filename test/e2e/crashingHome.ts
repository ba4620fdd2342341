// The home of the crash test: readings that keep changing, short tokens, and the moments at which its daemon dies.
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Simulator } from '../../src/simulator/provider.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { TEMPORARY_FILE } from '../../src/store/privateFiles.ts';
import { home, METER, PROPERTY, person } from '../support/homes.ts';
import { turn } from '../support/waitFor.ts';
import { openMovingTruth } from './movingTruth.ts';
import { openHomeWithBroker } from './program.ts';

/** What the process is killed after: a request, a write, or nothing; and how many milliseconds later at most. */
const MOMENTS: readonly (readonly [after: RegExp | 'start' | 'write', longestMs: number])[] = [
  ['start', 2_500],
  ['start', 2_500],
  [/\/token$/, 40],
  [/\/usage$/, 40],
  ['write', 4],
];
const LONGEST_LIFE_MS = 4_000;
// The session judges a pair by a margin, and is not read at the instant of the start.
const LAPSING_MS = 2_500;

/** To be called from within a test. */
export async function openCrashingHome(seed: number) {
  const truth = openMovingTruth(drawFor(seed, 0, 'truth'));
  const me = person('me', [home(METER, { events: truth.events }, PROPERTY)]);
  const { stack, folder, simulator, configure, listen, start } = await openHomeWithBroker(me);
  Object.assign(simulator.switches.token, { accessSeconds: 6, refreshSeconds: 8, rotation: true });
  const probe = await listen();
  const config = await configure({
    usage: {
      history_since: truth.since,
      reading_closes: 'same_day',
      schedule: '*/1 * * * * *',
      allow_fast_schedule: true,
      jitter_seconds: 0,
      reread_days: 366,
      late_after_hours: 8784,
    },
  });
  const state = join(folder, 'state');
  const tokens = watchTokens(simulator, join(state, 'accounts/home/tokens.json'));
  stack.defer(truth.stop);
  truth.start(simulator);
  const draw = drawFor(seed, 0, 'crash');

  async function written(times: number): Promise<void> {
    const watcher = watch(join(state, 'accounts/home'));
    let seen = 0;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, LONGEST_LIFE_MS);
      watcher.on('change', (_, name) => {
        if (TEMPORARY_FILE.test(String(name)) && ++seen > times) resolve();
      });
    });
    watcher.close();
  }

  const asked = (path: RegExp): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, LONGEST_LIFE_MS);
      tokens.onRequest(path, resolve);
    });

  return {
    truth,
    probe,
    state,
    tokens,
    start: () => start(config),
    /**
     * Resolves at the moment that was drawn. Where the process is then cannot be known. `startMs`: how long a whole start takes here, so
     * that some of the moments after a start lie behind it on a busy machine, too.
     */
    async moment(startMs: number): Promise<void> {
      const [after, longestMs] = MOMENTS[Math.floor(draw() * MOMENTS.length)] ?? ['start', 0];
      if (after === 'write') await written(Math.floor(draw() * 10));
      else if (after !== 'start') await asked(after);
      // The first milliseconds are the interesting ones.
      const isOfStart = after === 'start';
      await turn(isOfStart ? draw() * Math.max(longestMs, 2 * startMs) : draw() ** 2 * longestMs);
    },
  };
}

/** Which tokens the issuer has seen and granted, beside what the state directory holds of them after a crash. */
function watchTokens(simulator: Simulator, file: string) {
  const used = new Set<string>();
  let waiting: { readonly path: RegExp; readonly told: () => void } | null = null;
  const { counters, switches } = simulator;
  // A fault that never happens: its condition sees every request as it comes, in full.
  switches.fault(
    '/',
    { kind: 'reset' },
    {
      when({ path, body }) {
        const token = (body as { refresh_token?: unknown } | undefined)?.refresh_token;
        if (typeof token === 'string') used.add(token);
        if (waiting?.path.test(path)) {
          const { told } = waiting;
          waiting = null;
          told();
        }
        return false;
      },
    },
  );
  return {
    /** Logins asked for so far. */
    get logins() {
      return counters.passwordGrants.asked;
    },
    /** Pairs granted by login or refresh. */
    get grants() {
      return counters.passwordGrants.ok + counters.refreshGrants.ok;
    },
    /** What a restart finds: a good pair, none, one that has served already, or one that has lapsed. */
    async kept(): Promise<'good' | 'none' | 'spent' | 'lapsed'> {
      const text = await readFile(file, 'utf8').catch(() => null);
      if (text === null) return 'none';
      const { refreshToken, refreshExpiresAt } = JSON.parse(text).value;
      if (used.has(refreshToken)) return 'spent';
      return refreshExpiresAt - Date.now() < LAPSING_MS ? 'lapsed' : 'good';
    },
    /** Calls back once, as soon as such a request has come. */
    onRequest(path: RegExp, told: () => void): void {
      waiting = { path, told };
    },
  };
}
