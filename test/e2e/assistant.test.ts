// The built program as an assistant's server: lines of JSON in and out, and nothing else on standard output.
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker, run } from './program.ts';

test('beside a running daemon it answers in order what it is asked, and ends with its input', async () => {
  const home = await openHomeWithBroker();
  const config = await home.configure();
  const probe = await home.listen();
  home.start(config);
  const state = await probe.until(STATE, () => true);

  const server = home.stack.use(run(['mcp', '--config', config], { isTypedTo: true }));
  const ask = (id: number, method: string, params: object = {}) =>
    server.type(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {} });
  server.type('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  server.type('this is no JSON');
  ask(2, 'tools/list');
  ask(3, 'tools/call', { name: 'forecast', arguments: {} });
  const answers = await waitFor('four answers', () => {
    const lines = server.output.trim().split('\n');
    return lines.length === 4 ? lines.map((line) => JSON.parse(line)) : null;
  });
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [1, undefined],
    [null, -32700],
    [2, undefined],
    [3, undefined],
  ]);
  expect(answers[0].result.protocolVersion).toBe('2025-06-18');
  expect(answers[3].result.structuredContent).toMatchObject({
    accounts: [{ meters: [{ month_so_far: { energy_kwh: state.energy_month } }] }],
  });
  const { code } = await server.end('SIGTERM');
  expect([code, server.errors]).toEqual([0, '']);
});
