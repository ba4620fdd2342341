// A provider whose ids are numbers beyond 2^53, which JavaScript rounds: they are text for us, from discovery to the published totals.
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { booked, home, PROPERTY, person, quiet } from '../support/homes.ts';
import { listening } from '../support/listening.ts';
import type { Stack } from '../support/stack.ts';
import { openStory } from '../support/story.ts';

/** Of the same digits to begin with: rounded, all would be one. */
const large = (id: number | string) => `9007199254740993${id}`;
const METER = large(1);
const IDENTITIES = /(?<=_|^)(id|identifier)$/;

/** Stands before the provider's API: there ids have six digits. */
async function withLargeIds(stack: Stack, api: string): Promise<string> {
  const small = (text: string) => text.replaceAll(new RegExp(large('(\\d{6})'), 'g'), '$1');
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { method = 'GET', url = '/', headers } = request;
    const answer = await fetch(api + small(url), {
      method,
      headers: { authorization: headers.authorization ?? '', 'content-type': 'application/json' },
      body: method === 'POST' ? small(body) : null,
    });
    const marked = JSON.stringify(await answer.json(), (key, value) => {
      if (!IDENTITIES.test(key) || typeof value === 'object') return value;
      return `§${String(value).length === 6 ? large(value) : value}§`;
    });
    const raw = marked.replaceAll(/"§(\d+)§"/g, '$1').replaceAll('§', '');
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(raw);
  });
  const port = await listening(server);
  stack.defer(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${port}`;
}

test('customers, properties, meters and invoices keep their ids to the last digit, and totals are theirs', async () => {
  const invoices = [
    { id: 700_001, status: 'invoice', total_amount: 1 },
    { id: 700_002, status: 'invoice', total_amount: 2 },
  ];
  const homes = [home(METER), home(large(2), quiet({ seed: 5 }), PROPERTY + 1)];
  const story = await openStory({ accounts: [{ ...person('me', homes), customerId: 410_900, invoices }] });
  const probe = await story.listen();
  const { api } = story.simulator.urls;
  await story.start({ provider: { api_url: await withLargeIds(story.stack, api) } });
  await story.polled(1);
  for (const [meter, property] of [
    [METER, PROPERTY],
    [large(2), PROPERTY + 1],
  ] as const) {
    const state = await probe.until(`heat2mqtt/meter/${meter}/state`, (one) => one.meter_reading !== null);
    expect(state.energy_total).toBeCloseTo(booked(story.simulator, property).kwh, 3);
    expect(state.meter_identifiers).toEqual([meter]);
  }
  const list = await probe.until('heat2mqtt/account/home/invoices');
  expect(list.invoices).toMatchObject([{ id: large(700_002) }, { id: large(700_001) }]);
  expect(story.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
});
