// The meter itself as a witness: what it says stands beside the provider's days, and changes nothing else.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../src/cli/settings.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import { witnessDocument } from '../../src/store/documents.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { HEALTH, METER, PROPERTY, STATE } from '../support/homes.ts';
import { DUBLIN } from '../support/household.ts';
import { firstPoll, HOUR_MS, MINUTE_MS } from '../support/story.ts';

const TOPIC = 'wmbusmeters/58496405';
const WITNESS = { meters: { [METER]: { witness: { topic: TOPIC } } } };
const DISCOVERY = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
const OWN_KEYS = /^witness($|_)|^(flow|return)_temperature$|^volume_total$/;

type Home = Awaited<ReturnType<typeof firstPoll>>;

/** A home whose meter publishes its register, and stands at what the provider has booked. */
async function heardHome(config: Readonly<Record<string, unknown>> = WITNESS) {
  const home = await firstPoll({ config });
  const { story, probe, simulator } = home;
  let change = 0;
  /** What it shows at that moment: days are used up evenly. */
  function register(at: number): number {
    const today = DUBLIN.dayAt(at);
    const days = [...simulator.truth(PROPERTY)];
    const before = days.filter(([day]) => day < today).reduce((sum, [, { kwh }]) => sum + kwh, 0);
    const share = (at - DUBLIN.startOf(today)) / (24 * HOUR_MS);
    return Number((5000 + before + share * 10 + change).toFixed(3));
  }
  async function say(fields: object = {}, retain = false) {
    const at = story.clock.now();
    const telegram = {
      ...{ _: 'telegram', media: 'heat', meter: 'sharky774', name: 'flat', id: '58496405' },
      timestamp: new Date(at).toISOString(),
      total_energy_consumption_kwh: register(at),
      ...fields,
    };
    await probe.publish(TOPIC, JSON.stringify(telegram), { retain });
    await story.rest();
  }
  return {
    ...home,
    say,
    register,
    changeBy: (kwh: number) => {
      change += kwh;
    },
    /** Time passes, with a telegram right after each midnight and at the end. */
    async goOnUntil(at: string) {
      for (;;) {
        const now = story.clock.now();
        const midnight = DUBLIN.startOf(addDays(DUBLIN.dayAt(now), 1)) + MINUTE_MS;
        const next = Math.min(midnight, Date.parse(at));
        if (next === now) return;
        await story.pass(next - now, 4 * HOUR_MS);
        await say();
      }
    },
    state: () => probe.json(STATE) ?? {},
  };
}

const reasonsOf = ({ probe }: Pick<Home, 'probe'>) =>
  (Object(probe.json(HEALTH)).reasons as { code: string; message: string }[]).filter(
    ({ code }) => code === 'witness_refused',
  );

test('what the meter itself says stands beside the days of the provider', async () => {
  const home = await heardHome();
  const { say, state, goOnUntil, changeBy, probe, story } = home;
  await say();
  expect(state()).toMatchObject({ witness_today: null, witness_difference: null, witness_day: null });
  expect(state().witness_register).toBe(home.register(story.clock.now()));
  expect(state()).not.toHaveProperty('flow_temperature');
  await goOnUntil('2025-03-12T13:00:00Z');
  changeBy(14);
  await goOnUntil('2025-03-14T00:30:00Z');
  await story.pass(MINUTE_MS, MINUTE_MS);
  await say({ flow_temperature_c: 61.5, total_volume_m3: 301.42 });
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  const newest = String(state().day) as Day;
  const used = story.simulator.truth(PROPERTY).get(newest)?.kwh ?? 0;
  expect(state()).toMatchObject({
    witness_at: '2025-03-14T00:31:00+00:00',
    witness_day: Number(used.toFixed(3)),
    witness_difference: 14,
    witness_difference_from: '2025-03-11',
    witness_difference_to: newest,
    witness_difference_days_missing: 0,
    witness_differing_days: ['2025-03-12'],
    flow_temperature: 61.5,
    volume_total: 301.42,
  });
  expect(state().witness_today).toBeCloseTo((10 * 30) / 1440, 3);
  const { components } = Object(probe.json(DISCOVERY));
  expect(Object.keys(components).filter((key) => OWN_KEYS.test(key))).toEqual([
    'witness_register',
    'witness_at',
    'witness_today',
    'witness_day',
    'witness_difference',
    'flow_temperature',
    'volume_total',
  ]);
});

test('a person who asks is told what was heard, when, and which days its days are', async () => {
  const { story, say, register } = await heardHome();
  const witnessLine = async (config = WITNESS) => {
    const { out } = await story.type('check', config);
    return out.split('\n').find((line) => line.includes('witness of'));
  };
  expect(await witnessLine()).toContain(`nothing was heard in the last two days on ${TOPIC}`);
  await say();
  expect(await witnessLine()).toMatch(
    /kWh, heard at 2025-03-10T12:\d\d:\d\d\+00:00.*a week of days tells more/,
  );
  for (const [late, words] of [
    [0, 'known (reading_closes: same_day), 0 differ from the provider'],
    [1, "the provider's days are each one after its own"],
  ] as const) {
    const readings = Array.from({ length: 12 }, (_, n) => {
      const readAt = DUBLIN.startOf(addDays('2025-02-27', n)) + MINUTE_MS;
      return { energy: Math.round(register(DUBLIN.startOf(addDays('2025-02-27', n + late))) * 1e6), readAt };
    });
    const newest = {
      energy: Math.round(register(story.clock.now() + 48 * HOUR_MS) * 1e6),
      readAt: story.clock.now(),
    };
    const last = readings.at(-1) ?? newest;
    const state = new StateDirectory(story.stateDir, silentLog());
    const topic = `${TOPIC}/${late}`;
    await witnessDocument(state, METER, { topic }).write({
      newest,
      midnights: { ...last, readings },
      stillDays: 0,
      other: null,
    });
    expect(await witnessLine({ meters: { [METER]: { witness: { topic } } } })).toContain(words);
  }
});

test('with a witness and without one everything else is the same, byte for byte', async () => {
  const told: unknown[] = [];
  for (const config of [WITNESS, {}]) {
    const { goOnUntil, probe, story, simulator } = await heardHome(config);
    await goOnUntil('2025-03-12T13:00:00Z');
    const newest = new Map(probe.heard.map(({ topic, payload }) => [topic, payload]));
    for (const topic of [TOPIC, 'heat2mqtt/bridge/info']) newest.delete(topic);
    const without = (text: string) =>
      JSON.stringify(JSON.parse(text), (key, value) => (OWN_KEYS.test(key) ? undefined : value));
    told.push({
      topics: [...newest]
        .map(([topic, text]) => [
          topic,
          topic.endsWith('/state') && !text.startsWith('{') ? text : without(text),
        ])
        .sort(),
      requests: simulator.requests.map(({ method, path }) => [method, path]),
    });
    await story.rest();
  }
  expect(told[0]).toEqual(told[1]);
});

test('a telegram every 16 seconds is shown every five minutes, and written once an hour, after midnight and at the stop', async () => {
  const { story, probe, say, state, daemon } = await heardHome();
  const written = () => readFile(join(story.stateDir, `witness-${METER}.json`), 'utf8');
  const STEP_MS = 16_000;
  const updated = state().updated_at;
  await say();
  const first = await written();
  const before = probe.on(STATE).length;
  const files = new Set<string>();
  for (let passed = 0; passed < HOUR_MS - 2 * STEP_MS; passed += STEP_MS) {
    await story.pass(STEP_MS, STEP_MS);
    await say();
    files.add(await written());
  }
  expect(probe.on(STATE).length - before).toBeLessThanOrEqual(12);
  expect(probe.on(STATE).length - before).toBeGreaterThanOrEqual(10);
  expect([...files]).toEqual([first]);
  expect(state().updated_at).toBe(updated);

  await story.pass(2 * STEP_MS, STEP_MS);
  await say();
  const second = await written();
  expect(second).not.toBe(first);
  await story.pass(Date.parse('2025-03-11T00:00:05Z') - story.clock.now(), HOUR_MS);
  await say();
  const atMidnight = await written();
  expect(atMidnight).not.toBe(second);
  await story.pass(STEP_MS, STEP_MS);
  await say();
  expect(await written()).toBe(atMidnight);
  await story.stop(daemon);
  expect(await written()).not.toBe(atMidnight);
});

test('after a restart today goes on from midnight, and what the broker has retained looks no fresher than it is', async () => {
  const { story, say, state, goOnUntil, restart, probe } = await heardHome();
  await goOnUntil('2025-03-11T13:00:00Z');
  await say({}, true);
  const { witness_today: before } = state();
  expect(before).not.toBeNull();
  await restart(WITNESS);
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(state()).toMatchObject({ witness_at: '2025-03-11T13:00:00+00:00', witness_today: before });
  await probe.publish(TOPIC, '', { retain: true });
});

test('keeps the registers of its midnights when a machine boots a month behind and its clock is set soon', async () => {
  const { story, say, goOnUntil, restart } = await heardHome();
  await goOnUntil('2025-03-12T13:00:00Z');
  const midnights = async () =>
    JSON.parse(await readFile(join(story.stateDir, `witness-${METER}.json`), 'utf8')).value.midnights;
  const before = await midnights();
  expect(before.readings).toHaveLength(2);
  const MONTH_MS = 30 * 24 * HOUR_MS;
  story.clock.jump(-MONTH_MS);
  const daemon = await restart(WITNESS);
  await say();
  await story.pass(20 * MINUTE_MS, MINUTE_MS);
  await say();
  story.clock.jump(MONTH_MS);
  await say();
  await story.stop(daemon);
  expect(await midnights()).toEqual(before);
});

test('a retained number alone is shown, and has no time', async () => {
  const { story, probe, state, restart } = await heardHome({});
  await probe.publish(TOPIC, '6891.2', { retain: true });
  await restart(WITNESS);
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(state()).toMatchObject({ witness_register: 6891.2, witness_at: null, witness_today: null });
  await probe.publish(TOPIC, '6893.2');
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(state()).toMatchObject({ witness_register: 6893.2, witness_at: expect.any(String) });
  await probe.publish(TOPIC, '', { retain: true });
});

test('a register that is silent for two days is not known any more', async () => {
  const { story, say, state } = await heardHome();
  await say({ return_temperature_c: 44 });
  await story.pass(47 * HOUR_MS, 4 * HOUR_MS);
  expect(state().witness_register).not.toBeNull();
  await story.pass(2 * HOUR_MS, HOUR_MS);
  expect(state()).toMatchObject({ witness_register: null, witness_at: null, return_temperature: null });
});

test('what is no register is told once, until there is one again', async () => {
  const home = await heardHome();
  const { story, say } = home;
  await say({ status: 'FLOW_ERROR' });
  expect(reasonsOf(home)).toEqual([
    expect.objectContaining({
      meter: METER,
      message: `What ${TOPIC} has for the meter ${METER} is not taken: the meter reports "FLOW_ERROR".`,
    }),
  ]);
  for (let times = 0; times < 30; times += 1) {
    await say({ status: 'FLOW_ERROR' });
    await story.pass(MINUTE_MS, MINUTE_MS);
  }
  expect(story.log.filter(({ msg }) => String(msg).startsWith('a register is not taken'))).toHaveLength(1);
  await say();
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(reasonsOf(home)).toEqual([]);
  // Telegrams without a register come between others.
  await say({ total_energy_consumption_kwh: undefined });
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(reasonsOf(home)).toEqual([]);
});

test('tells of a register that falls when it is that of no new meter', async () => {
  const home = await heardHome();
  const { story, say, state, register, changeBy } = home;
  await say();
  const before = register(story.clock.now());
  changeBy(-50);
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  await say();
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(reasonsOf(home)).toMatchObject([{ code: 'witness_refused', meter: METER }]);
  expect(state().witness_register).toBe(before);
});

test('a field, a unit and a topic of their own begin anew when they change', async () => {
  const { state, restart, probe, story, say, goOnUntil } = await heardHome();
  await goOnUntil('2025-03-11T13:00:00Z');
  await say();
  await restart({ meters: { [METER]: { witness: { topic: TOPIC, field: 'SENSOR.total', unit: 'MWh' } } } });
  await probe.publish(TOPIC, '{"SENSOR":{"total":6.8912}}');
  await story.pass(5 * MINUTE_MS, MINUTE_MS);
  expect(state()).toMatchObject({ witness_register: 6891.2, witness_today: null });
});
