// A household of two accounts as 125eec11 has left it, of which the second has the ledger of a meter that the first has too, and one whose
// password is refused: the present program goes on with them as if it had always been there. How they were recorded:
// scripts/upgrade-recording.sh.
import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readRetainedHistory } from '../../src/domain/recovery.ts';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { look } from '../simulator/visitor.ts';
import { EVENT, HEALTH, METER, USAGE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import {
  ANNS,
  BOBS,
  HOUSEHOLD,
  openRecording,
  PORTS,
  REFUSED,
  SECTIONS,
  SHARED,
} from '../support/recorded.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, openStory, type Story } from '../support/story.ts';

const { first, second } = HOUSEHOLD;
const METERS = [ANNS, SHARED, BOBS];
const topicOf = (meter: string, what: string) => `heat2mqtt/meter/${meter}/${what}`;

/** The daemon of today on what is left, ten minutes later. */
async function goOn(
  what: 'household' | 'refused',
  people: readonly AccountOptions[],
  accounts: readonly object[],
) {
  const recording = await openRecording(what);
  const story = await openStory({
    at: new Date(Date.parse(recording.keptAt) + 10 * MINUTE_MS).toISOString(),
    accounts: people,
    port: PORTS[what],
    hasRealMarks: true,
  });
  const { simulator } = story;
  simulator.switches.token.trustsOthers = true;
  await cp(`${recording.folder}/kept`, story.stateDir, { recursive: true });
  const probe = await story.listen();
  for (const [topic, payload] of recording.retained) await probe.publish(topic, payload, { retain: true });
  probe.forget();
  const config = { accounts, ...SECTIONS, constituencies: {} };
  const daemon = await story.start(config);
  return { ...recording, story, simulator, probe, config, daemon };
}
const household = () => goOn('household', HOUSEHOLD.people, [first, second]);

/** kWh since the origin: a reading of the first hours of a day closes the day before. */
function truth({ simulator }: Story, property: number): number {
  const [, ...days] = [...simulator.truth(property).values()];
  return days.reduce((sum, { kwh }) => sum + Math.round(kwh * 1e6), 0) / 1e6;
}

/** What Home Assistant hangs an entity's history and its statistics on. */
const entitiesOf = (document: Record<string, unknown> | undefined) =>
  Object.entries(Object(document?.components)).map(([key, component]) => {
    const { platform, unique_id, default_entity_id, device_class, state_class, unit_of_measurement } =
      Object(component);
    return { key, platform, unique_id, default_entity_id, device_class, state_class, unit_of_measurement };
  });

/** The first day that was asked for, of each usage question. */
const usageAsked = ({ simulator }: Story, from: number) =>
  simulator.requests
    .slice(from)
    .filter(({ route }) => route === USAGE)
    .map(({ body }) => {
      const text = JSON.stringify(body);
      const property = METERS.find((one) => text.includes(String(one.property)))?.property;
      return { property, since: /"gte":"([^"]{10})/.exec(text)?.[1] ?? '' };
    });

/** What was read and counted: what is made of it may become better. */
const FACTS =
  'energy_total cost_total origin day energy_day cost_day energy_week cost_week energy_month cost_month energy_year cost_year energy_last_month cost_last_month reading_at missing_days meter_identifiers meter_reading meter_reading_at register_difference';
const STATED = 'month revision energy cost month_before register_first register_last account meter';
const BILLED =
  'auth_state balance_due credit_balance invoice_amount invoice_due invoice_status invoice_issued logins_today requests_today';

function expectSame(keys: string, was: Record<string, unknown>, is: Record<string, unknown> = {}): void {
  for (const key of keys.split(' ')) expect([key, is[key]]).toEqual([key, was[key]]);
}

const withdrawn = (probe: Probe) =>
  probe.heard.filter(({ payload }) => payload === '').map(({ topic }) => topic);

test('totals, histories, statements, entities and owners are those of before, without a question', async () => {
  const { story, simulator, probe, retained, json } = await household();
  await story.rest();
  expect(simulator.requests).toEqual([]);
  for (const { meter } of METERS) {
    expectSame(FACTS, json(topicOf(meter, 'state')), probe.json(topicOf(meter, 'state')));
    const history = (payload = '') => readRetainedHistory(Buffer.from(payload));
    const topic = topicOf(meter, 'history');
    expect(history(probe.last(topic)?.payload)).toEqual(history(retained.get(topic)));
    expectSame(STATED, json(topicOf(meter, 'statement')), probe.json(topicOf(meter, 'statement')));
  }
  for (const account of ['first', 'second']) {
    const topic = `heat2mqtt/account/${account}/state`;
    expectSame(BILLED, json(topic), probe.json(topic));
  }
  const documents = [...retained.keys()].filter((topic) => topic.endsWith('/config'));
  expect(documents).toHaveLength(6);
  for (const topic of documents) {
    expect(probe.json(topic)?.device).toMatchObject({ identifiers: Object(json(topic).device).identifiers });
    expect(entitiesOf(probe.json(topic))).toEqual(expect.arrayContaining(entitiesOf(json(topic))));
  }
  expect(look(probe.json('heat2mqtt/bridge/info'), 'meters')).toMatchObject([
    { meter: ANNS.meter, account: 'first' },
    { meter: SHARED.meter, account: 'second' },
    { meter: BOBS.meter, account: 'second' },
  ]);
  const { logins_today, reasons } = probe.json(HEALTH) ?? {};
  expect([logins_today, reasons]).toEqual([
    2,
    [expect.objectContaining({ code: 'duplicate_meter', account: 'first', meter: SHARED.meter })],
  ]);
  expect(withdrawn(probe)).toEqual([]);
  expect((await pathsBelow(story.stateDir)).filter((file) => /damaged|newer/.test(file))).toEqual([]);
});

test('sessions go on by a refresh each', async () => {
  const { story, simulator } = await household();
  const { passwordGrants, refreshGrants } = simulator.counters;
  await story.pass(30 * MINUTE_MS, MINUTE_MS);
  expect(refreshGrants).toMatchObject({ asked: 2, ok: 2 });
  await story.pass(5 * HOUR_MS, 5 * MINUTE_MS);
  expect(refreshGrants.ok).toBe(refreshGrants.asked);
  expect(passwordGrants.asked).toBe(0);
});

test('polls go on: a question for each meter about its newest days, extras the next day, and new days as events', async () => {
  const { story, simulator, probe } = await household();
  const before = simulator.requests.length;
  await story.nextPoll(4 * HOUR_MS);
  const asked = usageAsked(story, before);
  expect(asked.map(({ property }) => property).sort()).toEqual(METERS.map(({ property }) => property));
  for (const { since } of asked) expect(since >= '2025-10-25').toBe(true);
  const extras = () =>
    simulator.requests.filter(({ path }) => /usage-events|invoices|bill|credit/.test(path));
  expect(extras()).toEqual([]);
  expect(probe.heard.filter(({ topic }) => topic.endsWith('/event') && topic.includes('/meter/'))).toEqual(
    [],
  );
  await story.nextPoll(DAY_MS);
  for (const { meter, property } of METERS) {
    expect(probe.json(topicOf(meter, 'state'))?.energy_total).toBeCloseTo(truth(story, property), 3);
    const told = probe.all(EVENT.replace(METER, meter)).filter(({ event_type }) => event_type === 'new_day');
    expect(told.map(({ day }) => day)).toEqual(['2025-11-14']);
  }
  expect(extras().length).toBeGreaterThan(0);
  expect(usageAsked(story, before).every(({ since }) => since >= '2025-10-25')).toBe(true);
  expect(withdrawn(probe)).toEqual([]);
});

test('what an account has left on the broker is cleared when it is taken out, and the meter that both had stays', async () => {
  const { story, probe, retained, config, daemon } = await household();
  await story.stop(daemon);
  probe.forget();
  await story.start({ ...config, accounts: [second] });
  const isGone = (topic: string) => /account.first/.test(topic) || topic.includes(ANNS.meter);
  const gone = [...retained.keys()].filter(isGone);
  expect(gone).toHaveLength(10);
  await probe.untilCleared(gone);
  await story.rest();
  expect(withdrawn(probe).filter((topic) => !isGone(topic))).toEqual([]);
  const kept = [...retained.keys()].filter((topic) => !isGone(topic) && !topic.includes('constituencies'));
  expect(kept.filter((topic) => !probe.last(topic)?.payload)).toEqual([]);
});

test('a refused password is tried when its hour is over, by nothing before, and then not again for six', async () => {
  const { story, simulator, probe } = await goOn('refused', REFUSED.people, [REFUSED.account]);
  const { passwordGrants } = simulator.counters;
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({
    auth_state: 'bad_credentials_or_locked',
  });
  await story.tick();
  await story.pass(49 * MINUTE_MS, MINUTE_MS);
  expect(passwordGrants.asked).toBe(0);
  await story.pass(HOUR_MS, MINUTE_MS);
  expect(passwordGrants).toMatchObject({ asked: 1, ok: 0 });
  await story.pass(4 * HOUR_MS, 5 * MINUTE_MS);
  await story.tick();
  await story.pass(30 * MINUTE_MS, MINUTE_MS);
  expect(passwordGrants.asked).toBe(1);
  await story.pass(HOUR_MS, MINUTE_MS);
  expect(passwordGrants.asked).toBe(2);
});
