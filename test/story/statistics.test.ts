// Late data at its true hour: every day of the ledger is in Home Assistant's statistics, whatever the provider does.
import { expect, test } from 'vitest';
import { HEALTH, home, METER, person, quiet, reading, STATE } from '../support/homes.ts';
import { COST, ENERGY, HISTORY, openStatisticsStory } from '../support/statisticsStory.ts';

const at = (text: string) => Date.parse(text);
const midnight = (day: string) => `${day}T00:00:00.000Z`;
const BACKFILL = 'heat2mqtt/bridge/request/backfill';
const RESPONSE = 'heat2mqtt/bridge/response/backfill';

test('days land on their dates, as a pair for the Energy dashboard; late and corrected ones are sent with what follows, and nothing twice', async () => {
  const corrections = [{ from: at('2025-03-12T14:00:00Z'), kwh: 4.001, eur: 2.5 }];
  const late = reading('2025-03-10', 8, 2, { bookedAt: at('2025-03-12T06:00:00Z') });
  const { story, ha, probe, settled, pollAt } = await openStatisticsStory([
    reading('2025-03-07', 10, 2.5),
    reading('2025-03-08', 10, 2.5, { corrections }),
    reading('2025-03-09', 10, 2.5),
    late,
    reading('2025-03-11', 9, 2.25),
  ]);
  const daemon = await settled();
  expect(ha.rows(ENERGY)).toEqual([
    [midnight('2025-03-07'), 10, 10],
    [midnight('2025-03-08'), 10, 20],
    [midnight('2025-03-09'), 10, 30],
  ]);
  expect(ha.rows(COST).map(([, , sum]) => sum)).toEqual([2.5, 5, 7.5]);
  await pollAt('2025-03-10T16:00:00Z');
  expect(ha.imports()).toEqual([3, 3]);
  await pollAt('2025-03-11T12:00:00Z');
  expect(ha.rows(ENERGY).at(-1)).toEqual([midnight('2025-03-11'), 9, 39]);
  await pollAt('2025-03-12T12:00:00Z');
  expect(ha.imports()).toEqual([3, 3, 1, 1, 2, 2]);
  await pollAt('2025-03-12T16:00:00Z');
  expect(ha.rows(ENERGY).slice(1)).toEqual([
    [midnight('2025-03-08'), 4.001, 14.001],
    [midnight('2025-03-09'), 10, 24.001],
    [midnight('2025-03-10'), 8, 32.001],
    [midnight('2025-03-11'), 9, 41.001],
  ]);
  await probe.until(STATE, ({ energy_total }) => energy_total === 41.001);
  // The cost has not changed.
  expect(ha.imports()).toEqual([3, 3, 1, 1, 2, 2, 4]);
  await story.stop(daemon);
  await settled();
  expect(ha.imports()).toHaveLength(7);
});

test('with hours: even the days are spread over their hours, and back at midnight their sums are what they were', async () => {
  const { story, ha, status, settled, pollAt } = await openStatisticsStory([
    ...HISTORY,
    // The reading after a missed day.
    reading('2025-03-11', 19.2, 4.8),
  ]);
  const even = { home_assistant: { url: ha.url, token: ha.switches.token, hours: 'even' } };
  let daemon = await settled();
  const midnights = ha.rows(ENERGY);
  await story.stop(daemon);
  daemon = await settled(even);
  expect(status()).toMatchObject({ state: 'ok', hours: 'even' });
  const hours = ha.rows(ENERGY);
  expect(hours).toHaveLength(72);
  expect(hours.slice(0, 2)).toEqual([
    ['2025-03-07T00:00:00.000Z', 0.417, 0.417],
    ['2025-03-07T01:00:00.000Z', 0.416, 0.833],
  ]);
  const atTheEndOfDays = (rows: typeof hours) =>
    rows.filter(([start]) => start.includes('T23')).map(([, , sum]) => sum);
  expect(atTheEndOfDays(hours)).toEqual(midnights.map(([, , sum]) => sum));
  await pollAt('2025-03-12T12:00:00Z');
  const spread = ha.rows(ENERGY).slice(72);
  expect(new Set(spread.map(([, state]) => state))).toEqual(new Set([0.4]));
  expect(spread).toHaveLength(48);
  expect(spread.at(-1)).toEqual(['2025-03-11T23:00:00.000Z', 0.4, 49.2]);
  await story.stop(daemon);
  await settled();
  const used = ha.rows(ENERGY).filter(([, state]) => state !== 0);
  expect(used).toEqual([...midnights, [midnight('2025-03-11'), 19.2, 49.2]]);
  expect(atTheEndOfDays(ha.rows(ENERGY))).toEqual([10, 20, 30, 30, 49.2]);
});

test('a long history goes in batches, each read back, with progress; after a cut only what is missing is sent', async () => {
  const accounts = [person('me', [home(METER, quiet({ since: '2022-01-01' }))])];
  const { story, ha, probe, codes, start, until } = await openStatisticsStory([], accounts);
  Object.assign(ha.switches, { slow: true, cutAfterImports: 3 });
  await start({ usage: { history_since: '2022-01-01' } });
  await until('importing');
  ha.commit();
  await story.pass(5_000, 1_000);
  ha.switches.slow = false;
  ha.commit();
  await until('failing');
  expect(codes()).toEqual(['home_assistant_cut']);
  await story.pass(60_000, 5_000);
  await until('ok');
  const days = ha.rows(ENERGY).length;
  expect(days).toBeGreaterThan(1_150);
  // The third batch was stored although its answer was lost.
  expect(ha.imports()).toEqual([1_000, days - 1_000, 1_000, days - 1_000]);
  const heard = probe.on(HEALTH).map(({ payload }) => JSON.parse(payload).statistics);
  expect(heard).toContainEqual(
    expect.objectContaining({ state: 'importing', series: ENERGY, rows_stored: 1_000, rows_total: days }),
  );
  const msg = 'statistics stored and read back';
  expect(story.log).toContainEqual(
    expect.objectContaining({ series: ENERGY, stored: days, total: days, msg }),
  );
});

test('a row that was changed far back is put right within a day', async () => {
  const since = '2024-10-01';
  // No new day, which would have all rows compared anyway.
  const accounts = [person('me', [home(METER, quiet({ since, until: '2025-03-10' }))])];
  const { ha, settled, pollAt } = await openStatisticsStory([], accounts);
  await settled({ usage: { history_since: since } });
  const before = ha.rows(ENERGY);
  const [first = 0] = ha.series.get(ENERGY)?.keys() ?? [];
  ha.series.get(ENERGY)?.set(first, { state: 99, sum: 99 });
  await pollAt('2025-03-11T13:00:00Z');
  expect(ha.rows(ENERGY)).toEqual(before);
});

test('a backfill sends its days again and tells how far it is, what was sent, and why it was not', async () => {
  const { story, ha, probe, settled } = await openStatisticsStory();
  ha.switches.timezone = 'America/New_York';
  await settled();
  await probe.publish(BACKFILL, '{"from":"2025-03-08","to":"2025-03-08","transaction":7}');
  const answer = await probe.until(RESPONSE, ({ status }) => status === 'ok');
  expect(answer).toMatchObject({
    transaction: 7,
    data: {
      from: '2025-03-08',
      to: '2025-03-08',
      accounts: [{ account: 'home', changes: 0 }],
      statistics: [
        { series: ENERGY, rows: 2 },
        { series: COST, rows: 2 },
      ],
    },
  });
  expect(ha.imports()).toEqual([3, 3, 2, 2]);
  const told = probe.all(RESPONSE);
  expect(told[0]).toMatchObject({ status: 'progress', transaction: 7, data: { step: 'read' } });
  expect(told).toContainEqual({
    schema: 1,
    status: 'progress',
    transaction: 7,
    data: { step: 'statistics', series: ENERGY, stored: 2, total: 2 },
  });
  // The cooldown of requests.
  await story.pass(5 * 60_000, 60_000);
  probe.forget();
  ha.switches.isAdmin = false;
  await probe.publish(BACKFILL, '{"from":"2025-03-08"}');
  expect(await probe.until(RESPONSE, ({ status }) => status === 'error')).toMatchObject({
    error: { code: 'home_assistant_not_admin' },
    data: { from: '2025-03-08', to: '2025-03-10', accounts: [{ account: 'home', changes: 0 }] },
  });

  expect(story.log.filter(({ msg }) => String(msg).includes('another time zone'))).toHaveLength(1);
});
