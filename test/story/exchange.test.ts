// A heat meter is exchanged at its property: the series goes on under its name, and everything else tells of the meter that is there now.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daysOf } from '../../src/domain/period.ts';
import { look } from '../simulator/visitor.ts';
import { asked } from '../support/extras.ts';
import { booked, HEALTH, home, METER, PROPERTY, person, reading, STATE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { firstPoll, HOUR_MS, type Story } from '../support/story.ts';

const NEW_METER = '70999001';
const INFO = 'heat2mqtt/bridge/info';
const STATEMENT = STATE.replace('/state', '/statement');
const DEVICE = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
const THE_DAY_BEFORE = '2025-03-13T12:00:00Z';
const EXCHANGED_AT = Date.parse('2025-03-14T10:00:00Z');

async function quietDays(story: Story, days: number): Promise<void> {
  for (let left = days; left > 0; left -= 1) await story.nextPoll(24 * HOUR_MS);
}

/** The machine sleeps through so many days. */
const sleepFor = (story: Story, days: number): Promise<void> => story.nextPoll(days * 24 * HOUR_MS);

const registersAsked = ({ simulator }: Story) =>
  simulator.requests
    .filter(({ path, query }) => path.endsWith('/usage-events') && query.page === '1')
    .map(({ query }) => query.identifier);
const uniqueIds = (probe: Probe) =>
  Object.values(Object(probe.json(DEVICE)?.components)).map((one) => Object(one).unique_id);

/** What everything says of the meter that is there. */
const described = (probe: Probe) => [
  probe.json(STATE)?.meter_identifiers,
  look(probe.json(INFO), 'meters.0.identifiers'),
  look(probe.json(DEVICE), 'device.serial_number'),
];
const ALL_NEW = [[NEW_METER], [NEW_METER], NEW_METER];

test('an exchange: within days everything tells of the new meter, on the same topics with the same ids, also after a restart', async () => {
  const { story, probe, restart } = await firstPoll({ at: THE_DAY_BEFORE });
  const ids = uniqueIds(probe);
  expect(described(probe)).toEqual([[METER], [METER], METER]);
  const before = Number(probe.json(STATE)?.meter_reading);
  expect(before).toBeGreaterThan(1_000);
  story.simulator.exchangeMeter(PROPERTY, NEW_METER, { at: EXCHANGED_AT });
  await quietDays(story, 4);
  expect(described(probe)).toEqual(ALL_NEW);
  const { meter_reading, meter_reading_day, energy_total } = probe.json(STATE) ?? {};
  expect([meter_reading, meter_reading_day]).toEqual([expect.any(Number), '2025-03-17']);
  expect(meter_reading).toBeLessThan(200);
  expect(energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(uniqueIds(probe)).toEqual(ids);
  expect(probe.heard.filter(({ payload }) => payload === '')).toEqual([]);
  expect(
    probe.heard.filter(({ topic }) => topic.includes(`_${NEW_METER}`) || topic.includes(`/${NEW_METER}`)),
  ).toEqual([]);
  expect(probe.json(HEALTH)?.state).toBe('ok');

  // One more question about the old meter at each day of the week after, whose last reading may be booked late.
  expect(registersAsked(story).slice(-2)).toEqual([NEW_METER, METER]);
  await sleepFor(story, 10);
  await quietDays(story, 2);
  expect(registersAsked(story).slice(-2)).toEqual([NEW_METER, NEW_METER]);
  await restart();
  await story.rest();
  expect(described(probe)).toEqual(ALL_NEW);
});

/** The differences between register and days, each day around the exchange, until its month is complete. */
async function comparedUntilApril(story: Story, probe: Probe): Promise<unknown[]> {
  const told: unknown[] = [];
  for (const days of [...Array<number>(8).fill(1), 12, 1, 1]) {
    await sleepFor(story, days);
    const { register_difference, register_difference_from } = probe.json(STATE) ?? {};
    told.push(register_difference);
    if (register_difference !== null && String(described(probe)[0]) === NEW_METER)
      expect(String(register_difference_from) >= '2025-03-14').toBe(true);
  }
  return told;
}

test('the register is never compared across an exchange, and the statement of its month has both registers and the sentence, those before and after it one meter each', async () => {
  const { story, probe } = await firstPoll({ at: THE_DAY_BEFORE });
  story.simulator.exchangeMeter(PROPERTY, NEW_METER, { at: EXCHANGED_AT, register: 3 });
  const differences = await comparedUntilApril(story, probe);
  expect(differences.filter((difference) => difference !== 0 && difference !== null)).toEqual([]);
  expect(probe.json(STATE)).toMatchObject({ register_difference: 0, register_difference_to: '2025-04-04' });
  const statement = probe.json(STATEMENT) ?? {};
  const { register_first: first, register_last: last, exchanges } = statement as never;
  expect(statement).toMatchObject({ month: '2025-03', meter: METER, meter_identifiers: [NEW_METER] });
  expect(exchanges).toEqual([
    {
      last: { meter_identifier: METER, kwh: expect.any(Number), at: expect.stringMatching(/^2025-03-14T00/) },
      first: {
        meter_identifier: NEW_METER,
        kwh: expect.any(Number),
        at: expect.stringMatching(/^2025-03-15T00/),
      },
    },
  ]);
  const [{ last: old, first: own }] = exchanges as [{ last: { kwh: number }; first: { kwh: number } }];
  const [begin, end] = [Object(first).value.kwh, Object(last).value.kwh];
  expect(begin).toBeLessThan(old.kwh);
  expect(own.kwh).toBeLessThan(100);
  expect(end).toBeGreaterThan(own.kwh);
  const text = (await story.type('statement 2025-03')).out;
  expect(text).toContain(`Meter ${NEW_METER}`);
  expect(text).toContain(`${NEW_METER} is in the place of ${METER}`);
  const february = JSON.parse((await story.type('statement 2025-02 --format json')).out);
  expect(february).toMatchObject({ meter_identifiers: [METER], exchanges: [] });
  await sleepFor(story, 28);
  expect(probe.json(STATEMENT)).toMatchObject({
    month: '2025-04',
    meter_identifiers: [NEW_METER],
    exchanges: [],
    register_first: { reason: null },
    register_last: { reason: null },
  });
});

test('a register that falls under the same number, as where the number is that of the place', async () => {
  const events = daysOf({ from: '2025-01-01', to: '2025-03-10' }).map((day, at) => {
    const register = day < '2025-02-15' ? 17_160 + 10 * at : 10 * at - 447;
    return reading(day, 10, 1.9, { register });
  });
  const { story } = await firstPoll({ accounts: [person('me', [home(METER, { events })])] });
  const { exchanges } = JSON.parse((await story.type('statement 2025-02 --format json')).out);
  const at = (day: string) => `2025-02-${day}T00:30:00+00:00`;
  expect(exchanges).toEqual([
    {
      last: { kwh: 17_600, at: at('14'), meter_identifier: METER },
      first: { kwh: 3, at: at('15'), meter_identifier: METER },
    },
  ]);
  expect((await story.type('statement 2025-02')).out).toMatch(
    /The register has fallen.*17,600\.0 kWh on 14 February 2025.*3\.0 kWh on 15 February 2025/s,
  );
});

test('a refusal that makes the account discover again finds the same series', async () => {
  const { story, probe, switches } = await firstPoll();
  story.simulator.exchangeMeter(PROPERTY, NEW_METER);
  switches.fault('/api/v1/reports', { kind: 'reply', status: 403, body: {} }, { times: 1 });
  await story.nextPoll(24 * HOUR_MS);
  expect(described(probe)).toEqual(ALL_NEW);
  expect(probe.heard.filter(({ payload }) => payload === '')).toEqual([]);
});

/** The document as versions up to 0.1 wrote it. */
async function asBefore(story: Story, name: string, change: (value: Record<string, unknown>) => void) {
  const path = join(story.stateDir, `accounts/home/${name}.json`);
  const { check: _, ...document } = JSON.parse(await readFile(path, 'utf8'));
  change(document.value);
  await writeFile(path, JSON.stringify(document));
}

test('a household whose meter was exchanged under an earlier version heals with its first poll', async () => {
  const { story, probe, daemon } = await firstPoll();
  await story.stop(daemon);
  await asBefore(story, 'context', (value) => {
    for (const property of value.properties as Record<string, unknown>[]) delete property.currentIdentifiers;
  });
  await asBefore(story, 'extras', (value) => {
    for (const { found } of Object.values(value.registers as Record<string, Record<string, never>>))
      for (const reading of [found, ...(Object(found).readings as object[])]) delete Object(reading).meter;
  });
  story.simulator.exchangeMeter(PROPERTY, NEW_METER, { at: Date.parse('2025-03-11T10:00:00Z') });
  // That version has looked in vain since: it kept the meter that it knew.
  const journal = join(story.stateDir, 'journal.json');
  const { accounts, check: _, ...rest } = JSON.parse(await readFile(journal, 'utf8'));
  accounts.home.discoveredAt = Date.parse('2025-03-16T12:00:00Z');
  await writeFile(journal, JSON.stringify({ ...rest, accounts }));
  probe.forget();
  story.clock.advance(7 * 24 * HOUR_MS);
  await story.start();
  await probe.until(STATE, ({ meter_identifiers }) => String(meter_identifiers) === NEW_METER);
  expect(
    await probe.until(STATE, ({ meter_reading_day }) => meter_reading_day === '2025-03-17'),
  ).toMatchObject({
    register_difference: 0,
  });
  expect(described(probe)).toEqual(ALL_NEW);
  expect(asked(story, 'usage-events')).toBe(3);
  await sleepFor(story, 18);
  expect(probe.json(STATEMENT)?.exchanges).toMatchObject([
    { last: { meter_identifier: METER }, first: { meter_identifier: NEW_METER } },
  ]);
});
