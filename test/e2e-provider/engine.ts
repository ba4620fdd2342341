// A real search engine, and the readings that it knows.
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../support/sources.ts';
import { startJava } from './java.ts';
import type { Reading } from './readings.ts';

export const INDEX = 'events';

const MAPPING = {
  properties: {
    service_type: { type: 'keyword' },
    customer_id: { type: 'keyword' },
    resource_name: { type: 'keyword' },
    amount: { type: 'double' },
    quantity: { type: 'double' },
    event_fields: {
      type: 'nested',
      properties: { time_of_read: { properties: { date: { type: 'date' } } } },
    },
  },
};

/** `parts`: what scripts/provider-parts.sh has prepared. */
export async function startEngine(parts: string, folder: string, port: number) {
  const source = join(ROOT, 'test/e2e-provider/SearchEngine.java');
  const args = ['-Xmx512m', '-cp', join(parts, 'engine/*'), source, folder, String(port)];
  const child = await startJava('OpenSearch', args, /ready/);
  return { url: `http://127.0.0.1:${port}`, stop: () => child.end('SIGTERM') };
}

/** Adds the readings of a property as the provider keeps them: one document for the energy, one for the cost. */
export async function fillEngine(
  url: string,
  property: number,
  readings: readonly Reading[],
  index = INDEX,
): Promise<void> {
  const events = readings.flatMap(({ at, kwh, eur }) => {
    const common = {
      service_type: 'HEAT_METER_READ_SERVICE',
      customer_id: String(property),
      event_fields: [{ time_of_read: { date: new Date(at).toISOString() } }],
    };
    // The amount beside the energy is the meter's register, which is no money.
    const energy = {
      ...common,
      resource_name: 'Heat - Meter Value',
      amount: 48_213.5,
      quantity: Number(kwh),
    };
    return [energy, { ...common, resource_name: 'Euro', amount: Number(eur), quantity: Number(kwh) }];
  });
  const lines = events.flatMap((event) => ['{"index":{}}', JSON.stringify(event)]);
  const reply = await ask(url, 'POST', `/${index}/_bulk?refresh=true`, `${lines.join('\n')}\n`);
  if (reply.errors !== false) throw new Error('the engine did not take every reading');
}

export async function createIndex(url: string, index = INDEX): Promise<void> {
  const settings = { number_of_shards: 2, number_of_replicas: 0 };
  await ask(url, 'PUT', `/${index}`, JSON.stringify({ settings, mappings: MAPPING }));
}

/** The only copy of the index's first shard is lost, as with a broken disk; what the returned function does brings it back. */
export async function takeShardAway(
  url: string,
  folder: string,
  index: string,
): Promise<() => Promise<void>> {
  const { [index]: described } = await ask(url, 'GET', `/${index}/_settings`);
  const { uuid } = Object(described).settings.index;
  const shard = join(folder, 'node_1/data/nodes/0/indices', uuid, '0');
  const elsewhere = `${folder}-${index}`;
  // An index that is open keeps its files open.
  await ask(url, 'POST', `/${index}/_close`);
  await rename(shard, elsewhere);
  await ask(url, 'POST', `/${index}/_open?wait_for_active_shards=0`);
  return async () => {
    await rm(shard, { recursive: true, force: true });
    await rename(elsewhere, shard);
    const command = { index, shard: 0, node: 'Node 1', accept_data_loss: true };
    const commands = [{ allocate_stale_primary: command }];
    await ask(url, 'POST', '/_cluster/reroute', JSON.stringify({ commands }));
    await ask(url, 'GET', `/_cluster/health/${index}?wait_for_status=green&timeout=30s`);
  };
}

async function ask(
  url: string,
  method: string,
  path: string,
  body?: string,
): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  if (!reply.ok) throw new Error(`${method} ${path}: HTTP ${reply.status} ${await reply.text()}`);
  return Object(await reply.json());
}
