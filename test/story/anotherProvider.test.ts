// Another provider: days from a CSV file, without a sign-in, through the same daemon onto the same topics.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toMicro } from '../../src/domain/amount.ts';
import { readCsv } from '../../src/domain/csv.ts';
import { intervalStart } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';
import type { OpenProvider } from '../../src/provider/provider.ts';
import { HEALTH, METER, STATE } from '../support/homes.ts';
import { openStory } from '../support/story.ts';

/** `day,kwh,cost`, one line for each day. */
const fromCsv =
  (file: () => string): OpenProvider =>
  () => ({
    async discover() {
      const house = { subscriptionId: null, balanceGroupId: null, meterIdentifiers: [METER] };
      const properties = [{ propertyCustomerId: 'house', ...house }];
      return { personCustomerId: 'me', billingProfileIds: [], siteCodes: [], properties };
    },
    async usage({ span, interval }) {
      const text = await readFile(file(), 'utf8');
      const periods = new Map<string, Bucket>();
      for (const { cells } of readCsv(text)) {
        const [at = '', kwh, cost] = cells;
        if (at < span.from || at >= span.to) continue;
        const day = intervalStart(interval, at);
        const before = periods.get(day) ?? { energy: 0, cost: 0 };
        const energy = (before.energy ?? 0) + toMicro(Number(kwh));
        periods.set(day, { day, energy, cost: (before.cost ?? 0) + toMicro(Number(cost)) });
      }
      return [...periods.values()];
    },
  });

test('a provider that reads a file ends up on the same topics, without a sign-in', async () => {
  let file = '';
  const story = await openStory({ openProvider: fromCsv(() => file) });
  file = join(await story.stack.folder(), 'days.csv');
  await writeFile(file, '2025-03-07,11.5,1.9\n2025-03-08,12.25,2\n2025-03-09,0.25,0.71\n');
  const probe = await story.listen();
  await story.start();
  await story.polled(1);

  const meter = `heat2mqtt/meter/${METER}`;
  expect(probe.json(STATE)).toMatchObject({
    energy_total: 24,
    cost_total: 4.61,
    day: '2025-03-09',
    energy_day: 0.25,
    meter_reading: null,
  });
  expect(probe.json(`${meter}/history`)).toMatchObject({
    days: [
      ['2025-03-07', 11.5, 1.9],
      ['2025-03-08', 12.25, 2],
      ['2025-03-09', 0.25, 0.71],
    ],
  });
  const standing = new Set(probe.heard.map(({ topic }) => topic));
  for (const interval of ['day', 'week', 'month']) expect(standing).toContain(`${meter}/usage/${interval}`);
  expect(standing).toContain(`homeassistant/device/heat2mqtt_meter_${METER}/config`);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [], logins_today: 0, requests_today: 0 });
  expect(story.simulator.requests).toEqual([]);
});
