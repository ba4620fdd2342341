// Canaries in every path that secrets and private data take: none of them is in anything that the program writes.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS, type Fault, inSums, oauth } from '../../src/simulator/faults.ts';
import { ABOUT_THEM, CANARY, expectSilence, formsOf, THEM } from '../support/canaries.ts';
import { HEALTH, STATE } from '../support/homes.ts';
import { untilAtRest, untilTrue } from '../support/rest.ts';
import { HOUR_MS, openStory } from '../support/story.ts';
import { openStream } from '../web/stream.ts';

const PERSONAL_CLAIMS = {
  name: CANARY.name,
  address: { formatted: CANARY.address },
  phone_number: CANARY.phone,
};

/** Everything about them, as HTML, as JSON in JSON, as plain text, with the keys themselves private. */
const QUOTED = `${ABOUT_THEM}, ${CANARY.password}, ${CANARY.opaqueToken}, ${CANARY.customerId}`;
const html = (status: number): Fault => ({
  kind: 'reply',
  status,
  body: `<html><title>${QUOTED}</title><p>Dear ${QUOTED}</p></html>`,
  headers: { 'content-type': 'text/html' },
});
const told = (
  status: number,
  body: unknown = { code: status, message: QUOTED, [CANARY.email]: QUOTED },
): Fault => ({
  kind: 'reply',
  status,
  body,
});

async function openStoryOfCanaries() {
  const story = await openStory({ accounts: [THEM] });
  Object.assign(story.simulator.switches.token.claims, PERSONAL_CLAIMS);
  const probe = await story.listen();
  const more: string[] = [];
  async function noteTokens(): Promise<void> {
    const text = await readFile(join(story.stateDir, 'accounts/home/tokens.json'), 'utf8').catch(() => '{}');
    for (const found of text.matchAll(/"(?:access|refresh)Token":"([^"]+)"/g)) more.push(found[1] ?? '');
  }
  return {
    story,
    probe,
    start: (over: Record<string, unknown> = {}) =>
      story.start({
        mqtt: { username: 'bridge', password: CANARY.brokerPassword },
        ...over,
      }),
    noteTokens,
    /** All that was said: topics and payloads, the log at its loudest, the page and the metrics. */
    async listenAll(httpPort: number | null) {
      await noteTokens();
      const metrics = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text();
      const page = story.stack.use(await openStream(`http://127.0.0.1:${httpPort}`, {}, untilAtRest));
      await page.ready();
      expect(page.messages().length).toBeGreaterThan(1);
      const onPage = [...page.events.map((event) => JSON.stringify(event)), ...leavesOf(page.events)];
      for (const path of ['session', 'sign-in', 'ledger.csv?meter=70418235'])
        onPage.push(await (await fetch(`http://127.0.0.1:${httpPort}/${path}`)).text());
      const heard = probe.heard.flatMap(({ topic, payload }) => [topic, payload]);
      const log = story.log.flatMap((line) => [JSON.stringify(line), ...leavesOf(line)]);
      expect(log.length + heard.length).toBeGreaterThan(20);
      const shapes = await readFile(join(story.stateDir, 'replies.json'), 'utf8').catch(() => '');
      expectSilence([...log, ...heard, ...onPage, metrics, shapes], more);
    },
  };
}

/** The texts within a line, as they were before JSON escaped them. */
const leavesOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...leavesOf(inner)]);
};

test('the check finds each canary in each form', () => {
  for (const secret of Object.values(CANARY).map(String)) {
    for (const form of formsOf(secret)) {
      expect(() => expectSilence([`before ${form} after`])).toThrow();
      if (form.length > 12) {
        const carried = Buffer.from(`user:${secret}!`).toString('base64');
        expect(() => expectSilence([carried])).toThrow();
      }
    }
  }
  expect(() => expectSilence(['Bearer eyJhbGciOiJub25lIn0.e30'])).toThrow();
});

test('a good day: discovery, polls, requests, refreshes, restarts', async () => {
  const { story, probe, start, listenAll, noteTokens } = await openStoryOfCanaries();
  const first = await start();
  await probe.until(STATE);
  await story.polled(1);
  await story.stop(first);
  const daemon = await start();
  await story.pass(6 * HOUR_MS, 5 * 60_000);
  await noteTokens();
  for (const what of ['refresh', 'backfill', 'health', 'constituencies', 'unknown']) {
    await probe.publish(`heat2mqtt/bridge/request/${what}`, '');
    await probe.publish(`heat2mqtt/bridge/request/${what}`, `no JSON ${'x'.repeat(100)}`);
  }
  await story.polled(2);
  expect(story.simulator.counters.refreshGrants.ok).toBeGreaterThan(3);
  await listenAll(daemon.httpPort);
});

const GRANT_ERRORS = [
  'invalid_grant',
  'unauthorized_client',
  'invalid_client',
  'invalid_scope',
  'server_error',
  QUOTED,
];
const ISSUER: readonly (readonly [string, string, Fault])[] = [
  ...[400, 401, 403, 429, 500].flatMap((status) => [
    ...GRANT_ERRORS.map(
      (error) => [`${status} ${error.slice(0, 20)}`, '/token', oauth(status, error, QUOTED)] as const,
    ),
    [`HTML with ${status}`, '/token', html(status)] as const,
  ]),
  ['a token reply of another shape', '/token', told(200, { access_token: 7, message: QUOTED })],
  ['a token that is no JWT', '/token', told(200, { access_token: CANARY.opaqueToken, token_type: 'Bearer' })],
  ['HTML for a discovery document', '/.well-known', html(200)],
  ['a discovery document of somebody else', '/.well-known', told(200, { issuer: `https://${QUOTED}` })],
  ['half a reply', '/token', { kind: 'truncated' }],
  ['a reply that breaks off', '/token', { kind: 'reset_mid_body' }],
];

test.each(ISSUER)('the issuer answers %s', async (_, place, fault) => {
  const { story, probe, start, listenAll } = await openStoryOfCanaries();
  story.simulator.switches.fault('/auth/', fault, { when: ({ path }) => path.includes(place) });
  const daemon = await start();
  await probe.until(HEALTH, ({ state }) => state !== 'ok');
  await story.polled(1);
  await listenAll(daemon.httpPort);
});

const SHAPES: readonly unknown[] = [
  QUOTED,
  { [CANARY.email]: QUOTED },
  { objects: [{ id: { [CANARY.name]: QUOTED } }], total_num: QUOTED },
  { id: null, name: CANARY.name, email: CANARY.email },
  { aggregations: { resources: { buckets: [{ key: QUOTED, readings: { intervals: { buckets: [] } } }] } } },
  { aggregations: { resources: { buckets: [{ key: 'Euro', [QUOTED]: 1 }] } } },
];
const API: readonly (readonly [string, Fault])[] = [
  ...[400, 401, 403, 404, 422, 429, 500, 503].flatMap((status) => [
    [`${status} in JSON`, told(status)] as const,
    [`${status} in HTML`, html(status)] as const,
  ]),
  ['200 in HTML', html(200)],
  ...SHAPES.map((body, at) => [`a shape of its own (${at})`, told(200, body)] as const),
  ['text for numbers', inSums(() => QUOTED)],
  ['a 401 for ever', FAULTS.unauthorized],
];

test.each(API)('the provider answers %s, before and after the first poll', async (_, fault) => {
  const { story, probe, start, listenAll } = await openStoryOfCanaries();
  const { remove } = story.simulator.switches.fault('/api/', fault);
  const daemon = await start();
  await probe.until(HEALTH, ({ state }) => state !== 'ok');
  await story.polled(1);
  remove();
  await story.pass(HOUR_MS, 5 * 60_000);
  story.simulator.switches.fault('/api/', fault);
  story.tick();
  await story.rest();
  await listenAll(daemon.httpPort);
});

test('a refused password, waited for, asked for again, and refused once more', async () => {
  const { story, probe, start, listenAll } = await openStoryOfCanaries();
  story.simulator.changePassword(CANARY.email, 'another');
  const daemon = await start();
  await probe.until(HEALTH, ({ state }) => state === 'failing');
  await story.pass(2 * HOUR_MS, 5 * 60_000);
  await probe.publish('heat2mqtt/bridge/request/refresh', '');
  await untilTrue('its answer', () => probe.last('heat2mqtt/bridge/response/refresh') !== undefined);
  expect(story.simulator.counters.passwordGrants.asked).toBeGreaterThan(1);
  await listenAll(daemon.httpPort);
});
