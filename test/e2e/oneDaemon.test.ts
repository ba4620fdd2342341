// One daemon for one state directory, however long its path is.
import { mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker, outcome } from './program.ts';

test.each([88, 1_000])(
  'with a path of more than %i bytes a second daemon and a restore are refused',
  async (bytes) => {
    const { folder, configure, start, listen, stack } = await openHomeWithBroker();
    const parts = Array.from({ length: Math.ceil(bytes / 100) }, () => 'l'.repeat(Math.min(bytes, 100)));
    const long = join(folder, ...parts, 'state');
    await mkdir(join(long, '..'), { recursive: true });
    const config = await configure({ state_dir: long, http: false });
    const probe = await listen();
    const first = start(config);
    await probe.until(STATE, ({ energy_total }) => Number(energy_total) > 0);
    // On a busy machine the poll is written down some seconds after it was told.
    const written = () => readFile(join(long, 'journal.json'), 'utf8').catch(() => '');
    await waitFor('the poll in the journal', async () => /"lastSuccessAt":\s*\d/.test(await written()));
    const backup = join(folder, 'b.gz');
    const command = (...words: readonly string[]) => outcome([...words, '--config', config]);
    expect(await command('backup', backup)).toMatchObject({ code: 0 });

    const refused = { code: 2, errors: expect.stringContaining('already runs with this state directory') };
    expect(await command('run')).toMatchObject(refused);
    expect(await command('restore', backup, '--yes', '--force')).toMatchObject(refused);
    expect(await command('uninstall', '--yes')).toMatchObject({
      code: 2,
      errors: expect.stringContaining('is running'),
    });
    expect(await command('healthcheck')).toMatchObject({ code: 0 });
    // The same directory by another way.
    await symlink(join(folder, parts[0] ?? ''), join(folder, 'way'));
    const other = await configure({
      state_dir: join(folder, 'way', ...parts.slice(1), 'state'),
      http: false,
    });
    expect(await outcome(['run', '--config', other])).toMatchObject(refused);
    expect(probe.last('heat2mqtt/bridge/state')?.payload).toBe('online');

    await first.end('SIGKILL');
    expect(await command('restore', backup, '--yes', '--force')).toMatchObject({ code: 0 });
    const again = stack.use(start(config));
    await again.says('skipping the poll at start');
    expect((await again.end('SIGTERM')).code).toBe(0);
  },
);

test('a daemon whose state directory is taken away is still noticed, and gives way to one that took its place', async () => {
  const { folder, configure, start, listen } = await openHomeWithBroker();
  const state = join(folder, 'state');
  const config = await configure({ http: false });
  const probe = await listen();
  const first = start(config);
  await probe.until(STATE, ({ energy_total }) => Number(energy_total) > 0);
  // It would write into a directory that is being deleted.
  first.signal('SIGSTOP');
  await rm(state, { recursive: true });
  first.signal('SIGCONT');
  await first.says('is made again');
  expect(await outcome(['run', '--config', config])).toMatchObject({ code: 2 });
  // Its next look comes after the other one has taken its place.
  first.signal('SIGSTOP');
  await rename(state, join(folder, 'moved'));
  const second = start(config);
  await waitFor(
    'the second one',
    async () => (await outcome(['healthcheck', '--config', config])).code === 0,
  );
  first.signal('SIGCONT');
  expect(await first.exited).toBe(2);
  expect(first.output).toContain('"code":"already_running"');
  await waitFor('online', () => probe.last('heat2mqtt/bridge/state')?.payload === 'online');
  expect(await outcome(['healthcheck', '--config', config])).toMatchObject({ code: 0 });
  expect((await second.end('SIGTERM')).code).toBe(0);
});
