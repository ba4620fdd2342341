// heat2mqtt healthcheck beside a daemon that serves no HTTP.
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import { openHomeWithBroker, outcome } from './program.ts';

test('without HTTP it is told on the socket: while the daemon works, is suspended, and has gone', async () => {
  const { configure, start, listen } = await openHomeWithBroker();
  const config = await configure({ http: false });
  const healthcheck = () => outcome(['healthcheck', '--config', config]);
  expect(await healthcheck()).toMatchObject({ code: 1, errors: expect.stringContaining('No daemon runs') });
  const probe = await listen();
  const program = start(config);
  await probe.until(STATE, ({ energy_total }) => Number(energy_total) > 0);
  expect(await healthcheck()).toEqual({ code: 0, output: 'healthy\n', errors: '' });
  program.signal('SIGSTOP');
  expect(await healthcheck()).toMatchObject({ code: 1, errors: expect.stringContaining('does not say') });
  program.signal('SIGCONT');
  expect(await healthcheck()).toMatchObject({ code: 0 });
  await program.end('SIGKILL');
  expect(await healthcheck()).toMatchObject({ code: 1, errors: expect.stringContaining('No daemon runs') });
});
