// Three days of a household: the second of its accounts was there alone at first, so that it has the ledger of the meter that both have.
// And two days of one whose only account is refused.
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { startMosquitto } from '../e2e/mosquitto.ts';
import { ENTRY } from '../e2e/program.ts';
import { startChild } from '../support/child.ts';
import { HEALTH } from '../support/homes.ts';
import { ANNS, BOBS, HOUSEHOLD, PORTS, REFUSED, SECTIONS, SHARED, VISITS } from '../support/recorded.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { turn } from '../support/waitFor.ts';
import { hear, keep } from './keeping.ts';

const SHIFTED_CLOCK = join(ROOT, 'test/e2e-fleet/shiftedClock.mjs');
/** What comes after the poll is asked for and on the disk. */
const SETTLED_MS = 5_000;
const stateOf = ({ meter }: { meter: string }) => `heat2mqtt/meter/${meter}/state`;

async function openPlace(what: 'household' | 'refused', people: readonly AccountOptions[]) {
  const stack = openStack();
  const folder = await stack.folder();
  const broker = stack.use(await startMosquitto());
  let shift = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + shift };
  const simulator = stack.use(await startSimulator({ clock, accounts: people, port: PORTS[what] }));
  const ear = stack.use(await hear(broker.url));
  const { issuer, api, constituencies } = simulator.urls;
  return {
    ear,
    /** The program at that moment, with these accounts, until all is published. */
    async visit(at: string, accounts: readonly object[], isPublished: () => Promise<unknown>): Promise<void> {
      shift = Date.parse(at) - systemClock.now();
      const path = join(folder, 'config.yaml');
      const config = {
        version: 1,
        provider: { issuer, api_url: api, client_id: 'self-care' },
        accounts,
        ...SECTIONS,
        constituencies: { base_url: constituencies },
        mqtt: { url: broker.url },
        http: false,
        state_dir: join(folder, 'kept'),
      };
      await writeFile(path, JSON.stringify(config));
      ear.forget();
      const args = ['--import', SHIFTED_CLOCK, ENTRY, 'run', '--config', path];
      const child = stack.use(startChild(process.execPath, args, { env: { CLOCK_SHIFT_MS: String(shift) } }));
      await isPublished();
      for (const question of ['{}', '{"skip":1,"limit":2}'])
        await ear.publish('heat2mqtt/bridge/request/constituencies', question);
      await turn(SETTLED_MS);
      const { code } = await child.end('SIGTERM');
      if (code !== 0) throw new Error(`ended with ${code}: ${child.output} ${child.errors}`);
    },
    async keep(): Promise<void> {
      const kept = join(await keep(what, clock.now(), broker.url), 'kept');
      for (const name of (await pathsBelow(join(folder, 'kept'))).filter((path) => path.endsWith('.json'))) {
        await mkdir(dirname(join(kept, name)), { recursive: true });
        await cp(join(folder, 'kept', name), join(kept, name));
      }
    },
  };
}

test('household', async () => {
  const { first, second, people } = HOUSEHOLD;
  const { ear, visit, keep } = await openPlace('household', people);
  const published = async (...meters: readonly { meter: string }[]) => {
    for (const meter of meters) await ear.until(stateOf(meter));
  };
  await visit(VISITS[0], [second], () => published(SHARED, BOBS));
  for (const at of VISITS.slice(1))
    await visit(at, [first, second], async () => {
      await published(ANNS, SHARED, BOBS);
      await ear.until(HEALTH, (health) => health.includes('duplicate_meter'));
    });
  await keep();
});

test('refused', async () => {
  const { account, people } = REFUSED;
  const { ear, visit, keep } = await openPlace('refused', people);
  for (const at of VISITS.slice(1))
    await visit(at, [account], () => ear.until(HEALTH, (health) => health.includes('bad_credentials')));
  await keep();
});
