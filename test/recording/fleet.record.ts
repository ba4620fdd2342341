// A fleet of three accounts, two of which have the same meter, after each was polled twice.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { startMosquitto } from '../e2e/mosquitto.ts';
import { outcome, run } from '../e2e/program.ts';
import { writeLogins } from '../e2e-fleet/flat.ts';
import { startPostgres } from '../e2e-fleet/postgres.ts';
import { ANNS, BOBS, CASS, FLEET, LASTING_TOKENS, PORTS, SECTIONS, SHARED } from '../support/recorded.ts';
import { openStack } from '../support/stack.ts';
import { turn, waitFor } from '../support/waitFor.ts';
import { hear, keep } from './keeping.ts';

const KEY = Buffer.alloc(32, 'a key of an invented fleet').toString('base64');
const SETTLED_MS = 5_000;

test('fleet', async () => {
  const stack = openStack();
  const folder = await stack.folder();
  const [broker, postgres] = await Promise.all([startMosquitto(), startPostgres()]);
  stack.use(broker);
  stack.use(postgres);
  const { people, logins } = FLEET;
  const simulator = stack.use(
    await startSimulator({ clock: systemClock, accounts: people, port: PORTS.fleet }),
  );
  Object.assign(simulator.switches.token, LASTING_TOKENS);
  const ear = stack.use(await hear(broker.url));
  const { issuer, api } = simulator.urls;
  const [config, key_file] = [join(folder, 'config.yaml'), join(folder, 'key')];
  await writeFile(key_file, `${KEY}\n`, { mode: 0o600 });
  const database_url = postgres.urlAs('heat2mqtt');
  const text = {
    version: 1,
    provider: { issuer, api_url: api, client_id: 'self-care' },
    ...SECTIONS,
    mqtt: { url: broker.url },
    fleet: { database_url, key_file },
    http: false,
    state_dir: join(folder, 'state'),
  };
  await writeFile(config, JSON.stringify(text));
  const command = async (...words: string[]) => {
    const { code, output, errors } = await outcome([...words, '--config', config]);
    if (code !== 0) throw new Error(`${words.join(' ')}: ${output} ${errors}`);
  };
  const rows = logins.map(({ id, username, password }) => [id, username, password]);
  await command('accounts', 'import', await writeLogins(folder, rows));
  const child = stack.use(run(['run', '--config', config]));
  for (const { meter } of [ANNS, SHARED, BOBS, CASS]) await ear.until(`heat2mqtt/meter/${meter}/state`);
  await turn(SETTLED_MS);
  await command('accounts', 'resume', ...logins.map(({ id }) => id));
  await waitFor('a poll of each', async () => {
    const busy = await postgres.query(
      'SELECT id FROM heat2mqtt.account WHERE wanted > 0 OR claimed_until > now()',
    );
    return busy.length === 0;
  });
  await turn(SETTLED_MS);
  const { code } = await child.end('SIGTERM');
  if (code !== 0) throw new Error(`ended with ${code}: ${child.output} ${child.errors}`);
  await ear.until('heat2mqtt/bridge/state', (payload) => payload === 'offline');
  const statements = await postgres.dumpStatements();
  const kept = await keep('fleet', systemClock.now(), broker.url);
  await writeFile(join(kept, 'database.sql'), statements);
  await writeFile(join(kept, 'key'), `${KEY}\n`);
});
