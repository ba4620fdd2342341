// Two built daemons on one base topic of a real Mosquitto, as with an old Pi or a test container: the one that stays is available.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { STATE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker } from './program.ts';

const BRIDGE = 'heat2mqtt/bridge/state';
const INFO = 'heat2mqtt/bridge/info';
const HEALTH = 'heat2mqtt/bridge/response/health';
/** The broker and the machine are given a moment, too. */
const RIGHT_WITHIN_MS = 2_500;
const SILENCE_MS = 12_000;

/** Resolves to what each daemon that runs answers. */
async function healthOf(probe: Probe, daemons: number) {
  const before = probe.on(HEALTH).length;
  await probe.publish('heat2mqtt/bridge/request/health', '');
  await waitFor('the answers', () => probe.on(HEALTH).length >= before + daemons);
  return probe
    .all(HEALTH)
    .slice(before)
    .map(({ data }) => data.reasons.map(({ code }: { code: string }) => code));
}

test.each(['5', '3.1.1'])(
  'MQTT %s: both tell of the other, neither echoes, and bridge/state is put right',
  async (protocol) => {
    const home = await openHomeWithBroker();
    const mqtt = { url: home.broker.url, protocol };
    const probe = await home.listen();
    home.start(await home.configure({ mqtt }));
    await probe.until(STATE, () => true);
    const elsewhere = { mqtt, http: false, state_dir: join(home.folder, 'elsewhere') };
    for (const end of ['SIGTERM', 'SIGKILL'] as const) {
      const other = home.start(await home.configure(elsewhere));
      await other.says('connected to the broker');
      await waitFor('both to know', async () =>
        (await healthOf(probe, 2)).every((codes) => codes.includes('two_installations')),
      );
      await turn(RIGHT_WITHIN_MS);
      const before = probe.on(INFO).length;
      await turn(SILENCE_MS);
      expect(probe.on(INFO).length).toBe(before);
      expect(new Set(probe.all(INFO).map(({ instance }) => instance)).size).toBeGreaterThan(1);

      await other.end(end);
      await waitFor('its last word', () => probe.last(BRIDGE)?.payload === 'offline');
      const said = performance.now();
      await waitFor('online', () => probe.last(BRIDGE)?.payload === 'online');
      expect(performance.now() - said).toBeLessThan(RIGHT_WITHIN_MS);
    }
    await turn(SILENCE_MS);
    expect(probe.last(BRIDGE)?.payload).toBe('online');
    const late = await home.listen();
    const retained = await waitFor('what the broker keeps', () => late.last(BRIDGE));
    expect(retained).toMatchObject({ payload: 'online', retained: true });
  },
);
