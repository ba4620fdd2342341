// A full disk: said clearly, lived with from memory, and made good afterwards. And output that finds no room on it.
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { drawFor } from '../../src/simulator/random.ts';
import { startChild } from '../support/child.ts';
import { booked, HEALTH, home, METER, PROPERTY, person, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openMovingTruth } from './movingTruth.ts';
import { ENTRY, openHome, openHomeWithBroker, outcome } from './program.ts';
import { canMount, openSmallDisk } from './smallDisk.ts';

const onSmallDisk = test.skipIf(!canMount());

async function homeOnSmallDisk() {
  const { events, since } = openMovingTruth(drawFor(1, 0, 'disk'));
  const me = person('me', [home(METER, { events }, PROPERTY)]);
  const { stack, simulator, configure, listen, start } = await openHomeWithBroker(me);
  Object.assign(simulator.switches.token, { accessSeconds: 6, refreshSeconds: 60, rotation: true });
  const disk = stack.use(await openSmallDisk());
  const state = join(disk.path, 'state');
  const probe = await listen();
  const config = await configure({
    usage: {
      history_since: since,
      reading_closes: 'same_day',
      schedule: '*/1 * * * * *',
      allow_fast_schedule: true,
      jitter_seconds: 0,
      late_after_hours: 8784,
      reread_days: 366,
    },
    state_dir: state,
  });
  /** A day that was not there before, or one more reading of the last. */
  const more = () => {
    const last = events.at(-1);
    if (last) events.push({ ...last, at: last.at + 60_000 });
    return booked(simulator).kwh;
  };
  const published = (kwh: number) =>
    probe.until(STATE, ({ energy_total }) => Math.abs(Number(energy_total) - kwh) < 1e-6);
  const reasons = () => (probe.json(HEALTH)?.reasons ?? []) as readonly Record<string, unknown>[];
  const document = async (name: string) =>
    JSON.parse(await readFile(join(state, 'accounts/home', `${name}.json`), 'utf8'));
  return { simulator, disk, state, probe, start: () => start(config), more, published, reasons, document };
}

onSmallDisk('full while running', async () => {
  const { simulator, disk, state, start, more, published, reasons, document } = await homeOnSmallDisk();
  const program = start();
  await published(booked(simulator).kwh);
  await waitFor('a good health', () => reasons().length === 0);
  const ledger = `ledger-${PROPERTY}`;
  const before = await document(ledger);

  await disk.fill();
  const said = await waitFor('the reason', () => reasons()[0]);
  // A write that was under way has failed, and given back the space it had.
  await disk.fill();
  await published(more());
  expect(reasons()).toHaveLength(1);
  expect(said).toMatchObject({
    code: 'state_unwritable',
    message: `The state directory cannot be written: ${state} (ENOSPC).`,
    hint: expect.stringContaining('free space'),
  });
  expect(program.output).toContain('state document could not be saved');
  const { refreshGrants } = simulator.counters;
  const refreshed = refreshGrants.ok;
  await waitFor('a refresh', () => refreshGrants.ok > refreshed);
  const newest = more();
  await published(newest);
  // What is on the disk is old, but whole.
  expect((await document(ledger)).days).toEqual(before.days);

  await disk.free();
  await waitFor('a good health', () => reasons().length === 0);
  expect(program.output).toContain('the state directory can be written again');
  expect((await document(ledger)).days).not.toEqual(before.days);
  // Right after a pair has reached the disk: one that is lost on its way there costs a login.
  const { refreshToken } = (await document('tokens')).value;
  const isNew = async () => (await document('tokens')).value.refreshToken !== refreshToken;
  await waitFor('a new pair on the disk', isNew);
  await program.end('SIGKILL');
  const again = start();
  await again.says('"polled"');
  expect(again.output).not.toMatch(/"level":"(warn|error)"/);
  expect(simulator.counters.passwordGrants.asked).toBe(1);
  await again.end('SIGTERM');
});

onSmallDisk('room for a part of a backup', async () => {
  const { stack, configure } = await openHome();
  const disk = stack.use(await openSmallDisk());
  const mqtt = { embedded: { port: 0 } };
  const config = await configure({ mqtt });
  const file = join(disk.path, 'heat.backup');
  const backup = () => outcome(['backup', file, '--config', config, '--force']);
  expect((await backup()).code).toBe(0);
  const before = await readFile(file);
  // Cannot be compressed to less than a block of the disk.
  const contacts = Array.from({ length: 200 }, () => randomBytes(32).toString('hex'));
  await configure({ mqtt, statement: { contacts } });
  await disk.fill();
  await disk.giveBackBlock();
  const { code, output, errors } = await backup();
  expect([code, output, errors]).toEqual([2, '', expect.stringContaining('cannot be written (ENOSPC)')]);
  expect(await readFile(file)).toEqual(before);
  expect((await readdir(disk.path)).sort()).toEqual(['filler', 'heat.backup']);
});

onSmallDisk('no room for the state directory, when check looks at it', async () => {
  const { stack, configure } = await openHome();
  const disk = stack.use(await openSmallDisk());
  const config = await configure({ mqtt: { embedded: { port: 0 } }, state_dir: join(disk.path, 'state') });
  const check = () => outcome(['check', '--config', config]);
  expect(await check()).toMatchObject({ code: 0, output: expect.stringContaining('ok     state directory') });
  await disk.fill();
  const { code, output } = await check();
  expect([code, output]).toEqual([
    1,
    expect.stringMatching(/FAILED state directory: .*ENOSPC.*\n.*free space/),
  ]);
  expect(await readdir(join(disk.path, 'state'))).toEqual([]);
});

/** `shell` has the command line as `"$0" "$@"`. */
const inShell = (shell: string, args: readonly string[]) =>
  startChild('sh', ['-c', shell, process.execPath, ENTRY, ...args]);

test.each([
  ['no room at all', 'exec "$0" "$@" > /dev/full', 'ENOSPC'],
  // The system treats a limit of a file's size like a disk that has room for a part.
  [
    'room for a part',
    'file=$(mktemp) && ulimit -f 1 && "$0" "$@" > "$file"; code=$?; rm "$file"; exit $code',
    'EFBIG',
  ],
])('a command whose output finds %s says so, and fails', async (_, shell, code) => {
  const child = inShell(shell, ['config', 'example']);
  expect([await child.exited, child.errors]).toEqual([1, `The output cannot be written (${code}).\n`]);
});

test('the daemon goes on without a log that cannot be written', async () => {
  const { stack, configure, listen } = await openHomeWithBroker();
  const probe = await listen();
  const config = await configure();
  const program = stack.use(inShell('exec "$0" "$@" > /dev/full', ['run', '--config', config]));
  await probe.until(STATE, ({ energy_total }) => Number(energy_total) > 0);
  expect([(await program.end('SIGTERM')).code, program.errors]).toEqual([0, '']);
});
