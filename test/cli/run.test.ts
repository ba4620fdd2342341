// What systemd is told: READY once, WATCHDOG three times within its timeout, STOPPING; and nothing when there is no systemd.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemdNotifier } from '../../src/cli/systemd.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

const SOCKET = { NOTIFY_SOCKET: '/run/notify' };

test.each<[string, Record<string, string>, readonly string[]]>([
  ['systemd with a watchdog', { ...SOCKET, WATCHDOG_USEC: '180000000' }, Array(3).fill('WATCHDOG=1')],
  ['systemd without one', SOCKET, []],
])('%s', async (_, env, fed) => {
  const heard: string[] = [];
  const clock = handClock('2026-03-10T12:00:00Z');
  const systemd = systemdNotifier(env, clock, logLines().log, async (state) => void heard.push(state));
  expect(heard).toEqual([]);
  await systemd.ready();
  expect(heard).toEqual(['READY=1']);
  await clock.pass(185_000, setImmediate);
  await systemd.stopping();
  await clock.pass(600_000, setImmediate);
  expect(heard).toEqual(['READY=1', ...fed, 'STOPPING=1']);
  expect(clock.sleepers).toBe(0);
});

test('sends nothing without systemd, and goes on when a notification fails', async () => {
  const clock = handClock('2026-03-10T12:00:00Z');
  for (const [env, logged] of [
    [{ WATCHDOG_USEC: '180000000' }, 0],
    [SOCKET, 2],
  ] as const) {
    const lines = logLines();
    const systemd = systemdNotifier(env, clock, lines.log, () => Promise.reject(new Error('gone')));
    await systemd.ready();
    await systemd.stopping();
    expect([lines.messages('error').length, clock.sleepers]).toEqual([logged, 0]);
  }
});
