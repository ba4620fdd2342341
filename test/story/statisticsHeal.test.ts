// Statistics heal: a cut in the middle, a restored backup, a deleted series, rows of another time, a slow recorder, a request.
import { expect, test } from 'vitest';
import { HEALTH, home, METER, person, quiet, reading } from '../support/homes.ts';
import { COST, ENERGY, HISTORY, openStatisticsStory } from '../support/statisticsStory.ts';

const LONG = [person('me', [home(METER, quiet({ since: '2022-01-01' }))])];
const SINCE_2022 = { usage: { history_since: '2022-01-01', jitter_seconds: 0 } };

test('a long history goes in batches, each read back, with progress on bridge/health and in the log; a row changed far back is found within a day', async () => {
  const { story, ha, probe, start, until, pollAt } = await openStatisticsStory([], LONG);
  ha.switches.slow = true;
  await start(SINCE_2022);
  await until('importing');
  ha.commit();
  await story.pass(5_000, 1_000);
  ha.switches.slow = false;
  ha.commit();
  await until('ok');
  const days = ha.rows(ENERGY).length;
  expect(days).toBeGreaterThan(1_150);
  expect(ha.imports()).toEqual([1_000, days - 1_000, 1_000, days - 1_000]);
  const heard = probe.on(HEALTH).map(({ payload }) => JSON.parse(payload).statistics);
  expect(heard).toContainEqual(
    expect.objectContaining({ state: 'importing', series: ENERGY, rows_stored: 1_000, rows_total: days }),
  );
  expect(story.log).toContainEqual(
    expect.objectContaining({
      series: COST,
      stored: days,
      total: days,
      msg: 'statistics stored and read back',
    }),
  );

  const before = ha.rows(ENERGY);
  const [first] = ha.series.get(ENERGY)?.keys() ?? [];
  ha.series.get(ENERGY)?.set(first ?? 0, { state: 99, sum: 99 });
  await pollAt('2025-03-11T13:00:00Z');
  expect(ha.rows(ENERGY).slice(0, 1_000)).toEqual(before.slice(0, 1_000));
});

test('a connection cut in the middle of an import: what is missing is sent, nothing else', async () => {
  const { story, ha, codes, start, until } = await openStatisticsStory([], LONG);
  ha.switches.cutAfterImports = 2;
  await start(SINCE_2022);
  await until('failing');
  expect(codes()).toEqual(['home_assistant_cut']);
  await story.pass(60_000, 5_000);
  await until('ok');
  const days = ha.rows(ENERGY).length;
  expect(ha.rows(COST)).toHaveLength(days);
  // The second batch was stored although its answer was lost.
  expect(ha.imports()).toEqual([1_000, days - 1_000, 1_000, days - 1_000]);
});

test('a recorder that takes its time is waited for; one that never stores is told', async () => {
  const { story, ha, codes, start, until } = await openStatisticsStory();
  ha.switches.slow = true;
  await start();
  await until('importing');
  await story.pass(30_000, 1_000);
  expect(ha.rows(ENERGY)).toEqual([]);
  expect(ha.imports()).toEqual([3]);
  ha.commit();
  await story.pass(10_000, 1_000);
  expect(ha.imports()).toEqual([3, 3]);
  await story.pass(130_000, 5_000);
  await until('failing');
  expect(codes()).toEqual(['home_assistant_not_stored']);
  ha.switches.slow = false;
  ha.commit();
  await story.pass(2 * 60_000, 5_000);
  await until('ok');
  expect(ha.rows(COST)).toHaveLength(3);
});

test('a series that was deleted is written again, and one restored from an older backup goes on', async () => {
  const { ha, settled, pollAt } = await openStatisticsStory([
    ...HISTORY,
    reading('2025-03-10', 5, 1),
    reading('2025-03-11', 6, 1),
  ]);
  await settled();
  await pollAt('2025-03-11T12:00:00Z');
  const [energy, cost] = [ha.rows(ENERGY), ha.rows(COST)];
  ha.series.delete(ENERGY);
  ha.metadata.delete(ENERGY);
  for (const start of [...(ha.series.get(COST)?.keys() ?? [])].slice(2)) ha.series.get(COST)?.delete(start);
  await pollAt('2025-03-11T16:00:00Z');
  expect(ha.rows(ENERGY)).toEqual(energy);
  expect(ha.rows(COST)).toEqual(cost);
  expect(ha.imports().slice(-2)).toEqual([5, 3]);
});

const BACKFILL = 'heat2mqtt/bridge/request/backfill';
const RESPONSE = 'heat2mqtt/bridge/response/backfill';

test('a backfill sends its days again and tells how far it is, what was sent, and why it was not', async () => {
  const { story, ha, probe, settled, until, mark } = await openStatisticsStory();
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

  // A Home Assistant that restarts is looked at, without waiting for a poll.
  ha.switches.isAdmin = true;
  ha.series.clear();
  ha.metadata.clear();
  mark();
  await probe.publish('homeassistant/status', 'online');
  await story.pass(10_000, 1_000);
  await until('ok');
  expect(ha.rows(ENERGY)).toHaveLength(3);
});
