// A real search engine, and the readings that it knows.
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
export async function fillEngine(url: string, property: number, readings: readonly Reading[]): Promise<void> {
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
  const reply = await ask(url, 'POST', `/${INDEX}/_bulk?refresh=true`, `${lines.join('\n')}\n`);
  if (reply.errors !== false) throw new Error('the engine did not take every reading');
}

export async function createIndex(url: string): Promise<void> {
  const settings = { number_of_shards: 2, number_of_replicas: 0 };
  await ask(url, 'PUT', `/${INDEX}`, JSON.stringify({ settings, mappings: MAPPING }));
}

async function ask(
  url: string,
  method: string,
  path: string,
  body: string,
): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url + path, { method, headers, body });
  if (!reply.ok) throw new Error(`${method} ${path}: HTTP ${reply.status} ${await reply.text()}`);
  return Object(await reply.json());
}
