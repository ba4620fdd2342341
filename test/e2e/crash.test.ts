// kill -9, again and again: no torn file, no wrong total, no login but for a pair lost with its answer, no error.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HEALTH, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openCrashingHome } from './crashingHome.ts';
import { expectWhole, warningsIn } from './wholeState.ts';

const CRASHES = Number(process.env.HEAT2MQTT_CRASHES ?? 50);
const SEED = Number(process.env.HEAT2MQTT_SEED ?? 1);
const BRIDGE = 'heat2mqtt/bridge/state';

test(`${CRASHES} crashes`, { timeout: 60_000 + CRASHES * 10_000 }, async () => {
  const { truth, probe, state, tokens, start, moment } = await openCrashingHome(SEED);
  const figures = { connected: 0, totals: 0, pairsLost: 0, lapsed: 0, unfinished: 0 };
  let version = 0;
  let offlines = 0;
  let bridge: string | undefined;

  /** Every total on the broker is one that the provider has told, and none is older than the one before. */
  function takeHeard(): void {
    for (const { topic, payload } of probe.heard) {
      if (topic === BRIDGE) bridge = payload;
      if (topic === BRIDGE && payload === 'offline') offlines += 1;
      if (topic !== STATE) continue;
      const { energy_total: kwh, cost_total: eur } = JSON.parse(payload);
      const found = truth.versionOf({ kwh, eur }, version);
      const said = `${kwh} kWh and ${eur} EUR (version ${truth.versionOf({ kwh, eur }, 0)}) after version ${version}`;
      expect(found, said).toBeGreaterThanOrEqual(version);
      version = found;
      figures.totals += 1;
    }
    probe.forget();
  }

  async function crash(): Promise<void> {
    const before = await tokens.kept();
    const { logins, grants } = tokens;
    const offlinesBefore = offlines;
    const program = start();
    await moment();
    await program.end('SIGKILL');

    await expectWhole(state);
    if (program.output.includes('connected to the broker')) {
      figures.connected += 1;
      await waitFor('the will', () => {
        takeHeard();
        return offlines > offlinesBefore;
      });
    }
    takeHeard();
    expect(bridge).toBe('offline');

    // A pair that was granted and had not reached the disk is gone: with rotation the old one gets no second answer.
    const after = await tokens.kept();
    if (tokens.grants > grants && (after === 'none' || after === 'spent')) figures.pairsLost += 1;
    const asked = tokens.logins - logins;
    // Killed in the middle of a login, or right before its password was sent: the next one would wait a minute. Here it is
    // tried at once, as by Poll now.
    const budget = join(state, 'accounts/home/login-budget.json');
    const noted = await readFile(budget, 'utf8').catch(() => '');
    if (noted !== '') {
      // Or right after it was granted, before the API has accepted its tokens.
      const { code, unprovenAt } = JSON.parse(noted);
      expect(code).toBe(unprovenAt === null ? 'login_unfinished' : null);
      figures.unfinished += asked;
      await rm(budget);
    }
    if (before === 'lapsed') figures.lapsed += asked;
    expect(asked, `logins of a start with ${before} tokens`).toBeLessThanOrEqual(before === 'good' ? 0 : 1);
    expect(program.errors).toBe('');
    const said = warningsIn(program.output);
    if (before === 'spent') expect(['', 'session ended by the issuer']).toContain(said.join());
    else expect(said, program.output).toEqual([]);
  }

  const first = start();
  await probe.until(STATE, () => true);
  await waitFor('tokens on the disk', async () => (await tokens.kept()) === 'good');
  await first.end('SIGKILL');
  await waitFor('the first will', () => {
    takeHeard();
    return bridge === 'offline';
  });
  for (let done = 0; done < CRASHES; done += 1) await crash();

  truth.stop();
  const last = start();
  await waitFor('the newest truth', () => {
    takeHeard();
    return version === truth.versions - 1;
  });
  await probe.until(HEALTH, ({ state: verdict }) => verdict === 'ok');
  expect((await last.end('SIGTERM')).code).toBe(0);
  // The very first login, and one for each pair that was lost or left to lapse, and for each login that was killed.
  process.stdout.write(`${JSON.stringify({ seed: SEED, ...figures, logins: tokens.logins })}\n`);
  expect(tokens.logins).toBeLessThanOrEqual(1 + figures.pairsLost + figures.lapsed + figures.unfinished);
  expect(figures.connected).toBeGreaterThan(CRASHES / 4);
});
