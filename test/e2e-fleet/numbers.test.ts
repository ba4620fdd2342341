// The numbers of processes: one that is taken for dead gives its own away, and lives on under another when it wakes up.
import { expect, test } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import { isRead, openFlat } from './flat.ts';

test('a process whose number was taken while it was stopped says so, and works on under another', async () => {
  const flat = await openFlat();
  const { postgres, command } = flat;
  const probe = await flat.listen();
  const stateOf = (number: number) =>
    probe.last(`heat2mqtt/bridge/process/${number}/state`)?.payload.toString();
  const untilStates = (...states: readonly (string | undefined)[]) =>
    waitFor(`the processes to be ${states}`, () => states.every((state, at) => stateOf(at + 1) === state), {
      diagnose: () => [1, 2, 3].map(stateOf),
    });
  await flat.import('home');
  const stopped = flat.process();
  await untilStates('online');
  const other = flat.process();
  await untilStates('online', 'online');
  stopped.signal('SIGSTOP');
  // As if it had been stopped for minutes.
  await waitFor('the other one to give its number away', async () => {
    await postgres.query(`UPDATE heat2mqtt.process SET seen_at = now() - interval '3 min' WHERE number = 1`);
    return (await postgres.query('SELECT FROM heat2mqtt.process WHERE number = 1')).length === 0;
  });
  const third = flat.process();
  await third.says('works for the fleet');
  stopped.signal('SIGCONT');
  await stopped.says('number_taken');
  await stopped.says(/"process":3/);
  await untilStates('online', 'online', 'online');
  const numbers = await postgres.query('SELECT number FROM heat2mqtt.process ORDER BY number');
  expect(numbers).toEqual([{ number: 1 }, { number: 2 }, { number: 3 }]);
  expect(stopped.output + stopped.errors).not.toContain('unexpected fault');

  // It still does the work of a process, alone.
  await Promise.all([other.end('SIGTERM'), third.end('SIGTERM')]);
  await untilStates('offline', 'offline', 'online');
  const before = (await flat.row('home')).last_success_at;
  await command('accounts', 'resume', 'home');
  await flat.untilRow(
    'home',
    'read again',
    (row) => isRead(row) && Number(row.last_success_at) > Number(before),
  );
  expect(await stopped.end('SIGTERM')).toMatchObject({ code: 0 });
  await untilStates('offline', 'offline', 'offline');
});
