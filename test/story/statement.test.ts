// The statement of a month: the same on its topic, on the page and from the command, and written again when a day is corrected.
import { expect, test } from 'vitest';
import { daysOf } from '../../src/domain/period.ts';
import { home, METER, person, reading } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const STATEMENT = `heat2mqtt/meter/${METER}/statement`;
const DAYS = daysOf({ from: '2025-01-01', to: '2025-03-10' }).map((day) => reading(day, 10, 1.9));
const CORRECTED = { ...reading('2025-02-27', 4, 0.5), bookedAt: Date.parse('2025-03-11T06:00:00Z') };
const CONFIG = { statement: { area_m2: 50, contacts: ['Energy advice: +353 1 555 0199'] }, language: 'de' };

test('topic, page and command say the same of the newest complete month, and a correction raises the revision', async () => {
  const accounts = [person('me', [home(METER, { events: [...DAYS, CORRECTED] })])];
  const { story, probe, daemon } = await firstPoll({ accounts, config: CONFIG });
  const type = (words: string) => story.type(words, CONFIG);
  // Written again once the extras have come.
  const first = await probe.until(STATEMENT, ({ due }) => Object(due).reason === null);
  expect(probe.last(STATEMENT)?.qos).toBe(1);
  expect(first).toMatchObject({
    month: '2025-02',
    revision: 0,
    energy: { value: 280, basis: { kind: 'readings', days: 28, of: 28 } },
    cost: { value: 53.2 },
    month_before: { month: '2025-01', energy: { value: 310 } },
    year_before: { energy: { value: null, reason: 'not_recorded' } },
    energy_per_m2: { value: 5.6 },
    weather_adjusted: { value: null, reason: 'needs_outdoor_temperature' },
  });
  expect(probe.json(`heat2mqtt/meter/${METER}/state`)).toMatchObject({ statement_month: '2025-02' });
  expect(JSON.parse((await type('statement --format json')).out)).toEqual(first);
  const get = (query: string) => fetch(`http://127.0.0.1:${daemon.httpPort}/statement${query}`);
  const page = await get(`?meter=${METER}&month=2025-02`);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toBe((await type('statement 2025-02 --format html')).out);
  expect((await type('statement')).out).toMatch(/Wärme im Februar 2025.*280,0 kWh.*53,20.€/s);

  probe.forget();
  await story.nextPoll(24 * HOUR_MS);
  expect(await probe.until(STATEMENT)).toMatchObject({
    revision: 1,
    energy: { value: 284 },
    days: { corrected: ['2025-02-27'] },
  });

  const refused = await get('?month=2025-03');
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining('allowed: 2025-01 to 2025-02'),
  ]);
  expect((await get('?meter=nothing')).status).toBe(404);
  await expect(type('statement 2026-13')).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('allowed: 2025-01 to 2025-02'),
  });
});
