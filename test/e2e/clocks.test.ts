// The built daemon under a clock that is wrong, that is set, and that stood still with its machine: one poll, and it answers all the time.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker } from './program.ts';

const YEAR_MS = 365 * 24 * 3_600_000;
const WRONG_CLOCK = join(ROOT, 'test/e2e/wrongClock.mjs');
const EVERY_TEN_SECONDS = '*/10 * * * * *';

async function homeWithClock(offsetMs: number, usage: object = {}) {
  const home = await openHomeWithBroker();
  const file = join(home.folder, 'clock');
  const setClock = (ms: number) => writeFile(file, String(ms));
  await setClock(offsetMs);
  const config = await home.configure({ usage: { reading_closes: 'same_day', jitter_seconds: 0, ...usage } });
  const probe = await home.listen();
  const start = () =>
    home.start(config, { NODE_OPTIONS: `--import ${WRONG_CLOCK}`, CLOCK_OFFSET_FILE: file });
  const program = start();
  const polls = () => program.output.split('"msg":"polled"').length - 1;
  /** The longest time without an answer of `/healthz`, in milliseconds, until the condition holds. */
  async function longestSilence(until: () => boolean, leastMs: number): Promise<number> {
    let longest = 0;
    const began = performance.now();
    while (!until() || performance.now() - began < leastMs) {
      const asked = performance.now();
      await fetch(`http://127.0.0.1:${home.httpPort}/healthz`);
      longest = Math.max(longest, performance.now() - asked);
      await sleep(100);
    }
    return longest;
  }
  return { ...home, start, probe, program, setClock, polls, longestSilence };
}

test.each(['23 */4 * * *', '*/15 * * * *'])(
  'a clock that begins in 1970 and is set, with the schedule %s: one poll',
  async (schedule) => {
    const { program, probe, setClock, polls, longestSilence } = await homeWithClock(-56 * YEAR_MS, {
      schedule,
    });
    await program.says(/clock_not_set/);
    await setClock(0);
    const silence = await longestSilence(() => probe.json(STATE) !== undefined && polls() > 0, 3_000);
    expect(silence).toBeLessThan(1_000);
    expect(polls()).toBe(1);
    expect((await program.end('SIGTERM')).ms).toBeLessThan(8_000);
  },
);

test('a clock that jumps five years ahead, and back: one poll, an answer all the time, and an end in time', async () => {
  const { program, probe, setClock, polls, longestSilence } = await homeWithClock(0);
  await probe.until(STATE, () => true);
  await program.says('"msg":"polled"');
  const before = polls();
  await setClock(5 * YEAR_MS);
  expect(await longestSilence(() => polls() > before, 3_000)).toBeLessThan(1_000);
  expect(polls()).toBe(before + 1);
  await setClock(0);
  expect(await longestSilence(() => true, 2_000)).toBeLessThan(1_000);
  const { code, ms } = await program.end('SIGTERM');
  expect([code, ms < 8_000]).toEqual([0, true]);
});

test('a process that is suspended over a time of the schedule polls at once when it goes on', async () => {
  const usage = { schedule: EVERY_TEN_SECONDS, allow_fast_schedule: true };
  const { program, probe, polls } = await homeWithClock(0, usage);
  await probe.until(STATE, () => true);
  await waitFor('eight seconds past a tick', () => (Date.now() / 1000) % 10 >= 8, { timeoutMs: 11_000 });
  const before = polls();
  program.signal('SIGSTOP');
  await sleep(4_000);
  program.signal('SIGCONT');
  await waitFor('the poll', () => polls() > before, { timeoutMs: 3_000 });
  expect(polls()).toBe(before + 1);
});

test('a restart with a clock that is two years behind: origin and total stay', async () => {
  const { program, start, probe, setClock } = await homeWithClock(0, { history_since: undefined });
  const { origin, energy_total } = await probe.until(STATE, () => true);
  await program.end('SIGTERM');
  await setClock(-2 * YEAR_MS);
  probe.forget();
  await start().says('"msg":"polled"');
  expect(await probe.until(STATE, () => true)).toMatchObject({ origin, energy_total });
});
