// What a process of a fleet answers to requests, on the database's wire.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { fleetHandlers } from '../../src/fleet/answers.ts';
import { FleetCounts } from '../../src/fleet/health.ts';
import { Topics } from '../../src/publication/topics.ts';
import { sharedClock } from '../../src/store/database/database.ts';
import { load } from '../config/loading.ts';
import { openAccountRow } from '../support/accountRow.ts';

test('counts once in two seconds when a flood asks for the health of the fleet', async () => {
  const { database, clock, statements } = await openAccountRow();
  const own = sharedClock(clock);
  const counts = new FleetCounts({ database, fleet: { claim_seconds: 30 }, zone: zone('UTC'), clock: own });
  const { config } = await load('constituencies: {}');
  const { health } = fleetHandlers({
    counts,
    opened: { database },
    link: { publish: () => undefined, refusals: () => [] },
    context: { zone: zone('UTC'), config, clock: own, topics: new Topics('heat2mqtt') },
  });
  const counted = () => statements.filter(({ text }) => text.includes('AS "toldToWait"')).length;
  const flood = () => Promise.all(Array.from({ length: 100 }, () => health?.({}, () => undefined)));
  const answers = await flood();
  expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set(['ok']));
  clock.advance(1_999);
  await flood();
  expect(counted()).toBe(1);
  clock.advance(1);
  await flood();
  expect(counted()).toBe(2);
});
