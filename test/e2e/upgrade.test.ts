// A household goes forward from 125eec11 to the built program and back, more than once: nobody logs in, nothing is read again, no topic and
// no entity goes. Needs the commit in the history of this clone (scripts/old-build.sh).
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { hear } from '../recording/keeping.ts';
import { USAGE } from '../support/homes.ts';
import { oldBuild } from '../support/oldBuild.ts';
import { ANNS, BOBS, HOUSEHOLD, RECORDED, SHARED } from '../support/recorded.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { startMosquitto } from './mosquitto.ts';
import { ENTRY, run } from './program.ts';

const { entry: OLD, why } = await oldBuild(RECORDED);
const METERS = [ANNS, SHARED, BOBS];
const NEW_METER = '70999001';
const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
const SINCE = daysAgo(200);
const ACCESS_SECONDS = 12;
const topicOf = (meter: string, what: string) => `heat2mqtt/meter/${meter}/${what}`;
const deviceOf = (meter: string) => `homeassistant/device/heat2mqtt_meter_${meter}/config`;

async function openPlace() {
  const stack = openStack();
  const folder = await stack.folder();
  const broker = stack.use(await startMosquitto());
  const { people, first, second } = HOUSEHOLD;
  const simulator = stack.use(await startSimulator({ clock: systemClock, accounts: people }));
  Object.assign(simulator.switches.token, { accessSeconds: ACCESS_SECONDS, refreshSeconds: 900 });
  const ear = stack.use(await hear(broker.url));
  const { issuer, api } = simulator.urls;

  /** The days from which each usage question asks. */
  const asked = () =>
    simulator.requests
      .filter(({ route }) => route === USAGE)
      .map(({ body }) => /"gte":"([^"]{10})/.exec(JSON.stringify(body))?.[1] ?? '');

  return {
    simulator,
    ear,
    asked,
    accounts: { first, second },
    /** The program until it has polled twice and refreshed each session, and until `isDone`. Resolves to what it has said. */
    async live(entry: string, accounts: readonly object[], isDone: () => unknown = () => true) {
      const path = join(folder, 'config.yaml');
      const config = {
        version: 1,
        provider: { issuer, api_url: api, client_id: 'self-care' },
        accounts,
        usage: {
          history_since: SINCE,
          jitter_seconds: 0,
          schedule: '*/5 * * * * *',
          allow_fast_schedule: true,
        },
        mqtt: { url: broker.url },
        http: false,
        state_dir: join(folder, 'kept'),
      };
      await writeFile(path, JSON.stringify(config));
      const { ok } = simulator.counters.refreshGrants;
      const child = stack.use(run(['run', '--config', path], { entry }));
      const diagnose = () => child.output.slice(-3_000);
      const polls = () => child.output.split('"polled"').length - 1;
      const isWell = () =>
        polls() >= 2 * accounts.length && simulator.counters.refreshGrants.ok >= ok + accounts.length;
      await waitFor('polls and refreshes', async () => isWell() && (await isDone()), { diagnose });
      const { code } = await child.end('SIGTERM');
      expect([code, child.output]).toEqual([0, expect.not.stringContaining('"level":"error"')]);
      return child.output;
    },
  };
}

if (OLD === null) test.skip(`forward and back: ${why}`, () => undefined);
else
  test('forward and back, twice: sessions, totals, owners, topics and entities stay, also after a meter was exchanged', async () => {
    const { simulator, ear, asked, live, accounts } = await openPlace();
    const both = [accounts.first, accounts.second];
    const { passwordGrants } = simulator.counters;
    await live(OLD, [accounts.second]);
    await live(OLD, both);
    expect(passwordGrants).toMatchObject({ asked: 2, ok: 2 });
    const topics = [...ear.newest.keys()].filter((topic) => /\/(state|history|usage|config)/.test(topic));
    const totals = () => METERS.map(({ meter }) => ear.json(topicOf(meter, 'state')).energy_total);
    const owners = () =>
      (ear.json('heat2mqtt/bridge/info').meters as { account: string }[]).map(({ account }) => account);
    const ids = () =>
      METERS.map(({ meter }) =>
        Object.values(Object(ear.json(deviceOf(meter)).components)).map((one) => Object(one).unique_id),
      );
    const before = { totals: totals(), owners: owners(), ids: ids(), questions: asked().length };
    expect(before.owners).toEqual(['first', 'second', 'second']);

    simulator.exchangeMeter(ANNS.property, NEW_METER, { at: Date.now() - 3 * DAY_MS });
    // The account looks for its properties again.
    const refused = { kind: 'reply', status: 403, body: {} } as const;
    simulator.switches.fault('/api/v1/reports', refused, {
      times: 1,
      when: ({ text }) => text.includes(String(ANNS.property)),
    });
    const isExchanged = () =>
      JSON.stringify(ear.json(topicOf(ANNS.meter, 'state')).meter_identifiers) === `["${NEW_METER}"]`;
    for (const [entry, isDone] of [
      [ENTRY, isExchanged],
      [OLD, () => true],
      [ENTRY, isExchanged],
      [OLD, () => true],
    ] as const) {
      await live(entry, both, isDone);
      expect([totals(), owners()]).toEqual([before.totals, before.owners]);
      expect(before.ids.map((own, at) => own.filter((id) => !ids()[at]?.includes(id)))).toEqual([[], [], []]);
      expect(ear.json('heat2mqtt/bridge/health').reasons).toMatchObject([
        { code: 'duplicate_meter', account: 'first' },
      ]);
    }
    // Neither a login, nor a topic that went, nor a question about more than the newest days.
    expect(passwordGrants).toMatchObject({ asked: 2, ok: 2 });
    expect(topics.filter((topic) => ear.newest.get(topic) === '')).toEqual([]);
    expect([...ear.newest].filter(([topic, payload]) => payload !== '' && topic.includes(NEW_METER))).toEqual(
      [],
    );
    expect(
      asked()
        .slice(before.questions)
        .filter((from) => from < daysAgo(20)),
    ).toEqual([]);
  });
