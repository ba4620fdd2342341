// What systemd is told: READY once, WATCHDOG three times within its timeout, STOPPING; and nothing when there is no systemd.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemdNotifier } from '../../src/cli/run.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';

function listening(env: Record<string, string>, notify?: (state: string) => Promise<void>) {
  const heard: string[] = [];
  const clock = handClock('2026-03-10T12:00:00Z');
  const lines = logLines();
  const listen = async (state: string) => void heard.push(state);
  const systemd = systemdNotifier(env, clock, lines.log, notify ?? listen);
  return { heard, clock, lines, systemd };
}

test('it is told of the start, of every third of its timeout, and of the end', async () => {
  const { heard, clock, systemd } = listening({ NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '180000000' });
  expect(heard).toEqual([]);
  await systemd.ready();
  expect(heard).toEqual(['READY=1']);
  await clock.pass(185_000, setImmediate);
  expect(heard.slice(1)).toEqual(['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  await systemd.stopping();
  await clock.pass(600_000, setImmediate);
  expect(heard.slice(4)).toEqual(['STOPPING=1']);
  expect(clock.sleepers).toBe(0);
});

test('without a watchdog it is told of start and end only', async () => {
  const { heard, clock, systemd } = listening({ NOTIFY_SOCKET: '/run/notify' });
  await systemd.ready();
  await clock.pass(600_000, setImmediate);
  await systemd.stopping();
  expect(heard).toEqual(['READY=1', 'STOPPING=1']);
});

test('without systemd nothing is sent', async () => {
  const { heard, clock, systemd } = listening({ WATCHDOG_USEC: '180000000' });
  await systemd.ready();
  await systemd.stopping();
  expect([heard, clock.sleepers]).toEqual([[], 0]);
});

test('a notification that fails is logged, and stops nothing', async () => {
  const { lines, systemd } = listening({ NOTIFY_SOCKET: '/run/notify' }, () =>
    Promise.reject(new Error('gone')),
  );
  await systemd.ready();
  await systemd.stopping();
  expect(lines.messages('error')).toHaveLength(2);
});
