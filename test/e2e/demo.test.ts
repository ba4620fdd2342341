// The demo, as a stranger meets it: discovery, states and health on a broker within 15 seconds, ended by Ctrl-C.
import { expect, test } from 'vitest';
import { HEALTH } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort } from './mosquitto.ts';
import { run } from './program.ts';

const LONGEST_START_MS = 15_000;

test('shows discovery, states and health, tells where to look, and leaves with exit code 0', async () => {
  const stack = openStack();
  const port = await freePort();
  const began = performance.now();
  const demo = stack.use(run(['demo', '--port', String(port)]));
  await demo.says('mosquitto_sub -h 127.0.0.1');
  const [sentence, address = ''] = demo.output.split('\n');
  expect(sentence).toMatch(/^\w+day \d+ \w+: [\d.]+ kWh, [\d.]+ EUR\. This month so far: /);
  const probe = stack.use(await startProbe(`mqtt://127.0.0.1:${port}`));
  await waitFor('discovery', () =>
    probe.heard.some(({ topic }) => /^homeassistant\/device\/.*_meter_/.test(topic)),
  );
  const meter = await waitFor('states', () =>
    probe.heard.find(({ topic }) => /\/meter\/[^/]+\/state$/.test(topic)),
  );
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  expect(performance.now() - began).toBeLessThan(LONGEST_START_MS);
  expect(JSON.parse(meter.payload).energy_total).toBeGreaterThan(1_000);
  const http = /http:\/\/127\.0\.0\.1:\d+/.exec(address)?.[0];
  expect(await (await fetch(`${http}/`)).text()).toContain('page.js');
  const session = await fetch(`${http}/session`);
  expect(await session.json()).toMatchObject({ signedIn: true, needsPassword: false });
  expect((await fetch(`${http}/healthz`)).status).toBe(200);
  await probe.publish('heat2mqtt/bridge/request/constituencies', '');
  await demo.says('Answer to the request constituencies: ok, ');
  // The next minute brings a corrected day, and no line says that a poll or a refresh brought nothing.
  await waitFor('a corrected day', () => demo.output.includes('A day was corrected: '), {
    timeoutMs: 90_000,
  });
  expect(demo.output).not.toMatch(/refreshed|answered/);
  expect(demo.output).not.toContain('{"');

  const { code, ms } = await demo.end('SIGINT');
  expect([code, ms < 8_000]).toEqual([0, true]);
  expect(demo.output.slice(demo.output.indexOf('That was the demo'))).toContain(`mqtt://127.0.0.1:${port}`);
  await waitFor('offline', () => probe.last('heat2mqtt/bridge/state')?.payload === 'offline');
});
