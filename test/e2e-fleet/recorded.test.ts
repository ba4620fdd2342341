// A fleet as 125eec11 has left it, its database and its broker: the present program goes on with it, also beside processes of that version and
// before they come back. How it was recorded: scripts/upgrade-recording.sh.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { startMosquitto } from '../e2e/mosquitto.ts';
import { ENTRY, outcome, run } from '../e2e/program.ts';
import { hear } from '../recording/keeping.ts';
import { USAGE } from '../support/homes.ts';
import { oldBuild } from '../support/oldBuild.ts';
import {
  ANNS,
  BOBS,
  CASS,
  FLEET,
  LASTING_TOKENS,
  openRecording,
  PORTS,
  RECORDED,
  SECTIONS,
  SHARED,
} from '../support/recorded.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { startPostgres } from './postgres.ts';

const METERS = [ANNS, SHARED, BOBS, CASS];
const IDS = FLEET.logins.map(({ id }) => id);
const DAY_MS = 86_400_000;
/** The longest window that is read again, counted from the newest reading. */
const LONGEST_WINDOW_DAYS = 100;
const stateOf = (meter: string) => `heat2mqtt/meter/${meter}/state`;
const deviceOf = (meter: string) => `homeassistant/device/heat2mqtt_meter_${meter}/config`;
const idsOf = (document: Record<string, unknown>) =>
  Object.values(Object(document.components)).map((one) => Object(one).unique_id);

/** `schedule`: none of the recorded ones comes while a test runs. */
async function openPlace({ accessSeconds = LASTING_TOKENS.accessSeconds, schedule = '23 4 * * *' } = {}) {
  const recording = await openRecording('fleet');
  const stack = openStack();
  const folder = await stack.folder();
  const [broker, postgres] = await Promise.all([startMosquitto(), startPostgres()]);
  stack.use(broker);
  stack.use(postgres);
  await postgres.restore(await readFile(join(recording.folder, 'database.sql'), 'utf8'));
  const simulator = stack.use(
    await startSimulator({ clock: systemClock, accounts: FLEET.people, port: PORTS.fleet }),
  );
  Object.assign(simulator.switches.token, { ...LASTING_TOKENS, accessSeconds, trustsOthers: true });
  const client = await connectAsync(broker.url);
  for (const [topic, payload] of recording.retained)
    await client.publishAsync(topic, payload, { qos: 1, retain: true });
  await client.endAsync();
  const ear = stack.use(await hear(broker.url));
  const { issuer, api } = simulator.urls;
  const path = join(folder, 'config.yaml');
  const config = {
    version: 1,
    provider: { issuer, api_url: api, client_id: 'self-care' },
    ...SECTIONS,
    usage: { ...SECTIONS.usage, schedule, allow_fast_schedule: true },
    mqtt: { url: broker.url },
    fleet: {
      database_url: postgres.urlAs('heat2mqtt'),
      key_file: join(recording.folder, 'key'),
      claim_seconds: 10,
    },
    http: false,
    state_dir: join(folder, 'state'),
  };
  await writeFile(path, JSON.stringify(config));

  return {
    ...recording,
    simulator,
    ear,
    postgres,
    process: (entry = ENTRY) => stack.use(run(['run', '--config', path], { entry })),
    async command(...words: string[]): Promise<void> {
      const { code, output, errors } = await outcome([...words, '--config', path]);
      expect([code, output + errors]).toEqual([0, expect.anything()]);
    },
    /** Resolves once each account was polled so often since then, and well. */
    async polled(times: number, since: number): Promise<void> {
      const polls = async () =>
        postgres.query<{ account: string; polls: number }>(
          `SELECT account, (SELECT count(*) FROM jsonb_path_query(json::jsonb, '$.accounts.*.polls[*]') p
            WHERE (p ->> 0)::bigint >= $1 AND p ->> 1 IS NULL)::int AS polls
          FROM heat2mqtt.document WHERE name = 'journal'`,
          [since],
        );
      await waitFor('polls of each account', async () => {
        const counted = await polls();
        return counted.length === IDS.length && counted.every((one) => one.polls >= times);
      });
      await waitFor('the end of all runs', async () => {
        const busy = await postgres.query(
          'SELECT id FROM heat2mqtt.account WHERE wanted > 0 OR due_at <= now()',
        );
        return busy.length === 0;
      });
    },
    series: () => postgres.query('SELECT name, account FROM heat2mqtt.series ORDER BY name'),
    /** kWh of all days of each meter, as SQL tells them. */
    sums: () =>
      postgres.query(
        'SELECT meter, sum(energy_kwh)::float8 AS kwh FROM heat2mqtt_views.reading GROUP BY meter ORDER BY meter',
      ),
  };
}

/** Nobody has logged in, nothing is gone, nothing was read that was known already, and all says the same. */
async function expectAsBefore(place: Awaited<ReturnType<typeof openPlace>>): Promise<void> {
  const { simulator, ear, json, retained } = place;
  expect(simulator.counters.passwordGrants.asked).toBe(0);
  expect(simulator.counters.refreshGrants.ok).toBe(simulator.counters.refreshGrants.asked);
  const gone = [...ear.newest].filter(([, payload]) => payload === '').map(([topic]) => topic);
  expect(gone).toEqual([]);
  for (const { meter } of METERS) {
    const [was, is] = [json(stateOf(meter)), ear.json(stateOf(meter))];
    for (const key of ['energy_total', 'cost_total', 'origin', 'day', 'missing_days', 'meter_identifiers'])
      expect([meter, key, is[key]]).toEqual([meter, key, was[key]]);
    expect(idsOf(ear.json(deviceOf(meter)))).toEqual(expect.arrayContaining(idsOf(json(deviceOf(meter)))));
  }
  const infoOf = (info: Record<string, unknown>) =>
    (info.meters as object[]).map((one) => Object(one).meter).sort();
  expect(infoOf(ear.json('heat2mqtt/bridge/info'))).toEqual(infoOf(json('heat2mqtt/bridge/info')));
  // What was recorded goes on where its readings end, however long that is ago.
  const newest = METERS.map(({ meter }) => Date.parse(String(json(stateOf(meter)).day)));
  const earliest = new Date(Math.min(...newest) - LONGEST_WINDOW_DAYS * DAY_MS).toISOString();
  const asked = simulator.requests
    .filter(({ route }) => route === USAGE)
    .map(({ body }) => /"gte":"([^"]+)/.exec(JSON.stringify(body))?.[1] ?? '');
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((from) => from < earliest)).toEqual([]);
  expect([...retained.keys()].filter((topic) => !ear.newest.has(topic))).toEqual([]);
}

test('sessions, totals, series and topics go on, and what an account has left is cleared with it', async () => {
  const place = await openPlace();
  const { postgres, ear, command, retained } = place;
  const before = { series: await place.series(), sums: await place.sums() };
  expect(before.series).toHaveLength(METERS.length);
  const began = Date.now();
  place.process();
  await command('accounts', 'resume', ...IDS);
  await place.polled(1, began);
  await expectAsBefore(place);
  expect({ series: await place.series(), sums: await place.sums() }).toEqual(before);
  const [wrong] = await postgres.query('SELECT id FROM heat2mqtt.account WHERE failures > 0 OR needs_user');
  expect(wrong).toBeUndefined();

  await command('accounts', 'remove', 'flat-c', '--yes');
  const isGone = (topic: string) => /account.flat-c/.test(topic) || topic.includes(CASS.meter);
  const gone = [...retained.keys()].filter(isGone);
  expect(gone).toHaveLength(10);
  await waitFor('its topics to be cleared', () => gone.every((topic) => ear.newest.get(topic) === ''));
  expect([...ear.newest].filter(([topic, payload]) => payload === '' && !isGone(topic))).toEqual([]);
});

const { entry: OLD, why } = await oldBuild(RECORDED);
if (OLD === null) test.skip(`beside processes of ${RECORDED}: ${why}`, () => undefined);
else
  test('old and new processes at once, then the old ones alone, then the new: no login, and the same totals', async () => {
    // Tokens that live for seconds: each version refreshes what the other one has stored.
    const place = await openPlace({ accessSeconds: 12, schedule: '*/6 * * * * *' });
    const sums = await place.sums();
    const { refreshGrants } = place.simulator.counters;
    await place.postgres.run('UPDATE heat2mqtt.account SET due_at = now(), poll_at = now()');
    for (const entries of [[OLD, ENTRY], [OLD], [ENTRY, OLD], [ENTRY]]) {
      const began = Date.now();
      const refreshed = refreshGrants.ok;
      const processes = entries.map((entry) => place.process(entry));
      await place.polled(3, began);
      await waitFor('refreshes', () => refreshGrants.ok >= refreshed + IDS.length);
      for (const process of processes) expect((await process.end('SIGTERM')).code).toBe(0);
      await expectAsBefore(place);
      expect(await place.sums()).toEqual(sums);
    }
  });
