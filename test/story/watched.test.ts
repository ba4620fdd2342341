// What machines that watch see of a living daemon: metrics that count, and a port that was taken.
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { FAULTS } from '../../src/simulator/faults.ts';
import { HEALTH, STATE } from '../support/homes.ts';
import { openHouse } from '../support/house.ts';

const scrape = async (port: number | null) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

test('metrics follow what happens', async () => {
  const house = await openHouse();
  const probe = await house.listen();
  const daemon = await house.start();
  await house.polled(1);
  await probe.until(STATE, () => true);
  const first = await scrape(daemon.httpPort);
  for (const line of ['polls_total 1', 'logins_total 1', 'mqtt_connected 1', 'days{meter="70418235"} 69']) {
    expect(first).toContain(`heat2mqtt_${line}\n`);
  }
  expect(first).toMatch(/heat2mqtt_access_token_seconds_left\{account="home"\} (1800|179\d)/);
  expect(first).toContain(`heat2mqtt_provider_requests_total ${house.simulator.requests.length}\n`);
  house.simulator.switches.fault('/api/', FAULTS.serverError);
  house.tick();
  await house.polled(2);
  expect(await scrape(daemon.httpPort)).toContain(
    'heat2mqtt_poll_failures_total{code="provider_unreachable"} 1\n',
  );
});

test('a taken port is a reason of its own; the bridge does its work without', async () => {
  const house = await openHouse();
  const squatter = createServer();
  const port = await new Promise<number>((resolve) => {
    squatter.listen(0, '127.0.0.1', () => resolve((squatter.address() as { port: number }).port));
  });
  house.stack.defer(() => squatter.close());
  const probe = await house.listen();
  const daemon = await house.start({ http: { listen: `127.0.0.1:${port}` } });
  await probe.until(STATE, () => true);
  expect(daemon.httpPort).toBeNull();
  const health = await probe.until(HEALTH, ({ state }) => state === 'degraded');
  expect(health.reasons).toMatchObject([{ code: 'listen_failed' }]);
});

test('off is off', async () => {
  const house = await openHouse();
  const daemon = await house.start({ http: false });
  await house.polled(1);
  expect(daemon.httpPort).toBeNull();
});
