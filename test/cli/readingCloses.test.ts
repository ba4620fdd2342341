// usage and check --live with usage.reading_closes: auto: what they ask, and what they say of the days.
import { beforeEach, expect, test } from 'vitest';
import { type Day, zone } from '../../src/domain/period.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { look } from '../simulator/visitor.ts';
import { home, METER, person, USAGE } from '../support/homes.ts';
import { openProviderFor, typed } from '../support/typed.ts';

const DAY_MS = 86_400_000;
const DUBLIN = zone('Europe/Dublin');
let events: ExplicitEvent[];
let simulator: Simulator;
let own: Record<string, string>;

const ME = () => person('me', [home(METER, { events })]);

beforeEach(async () => {
  events = [];
  ({ simulator, env: own } = await openProviderFor(ME()));
});

/** One reading on each of the newest days, `after` so many milliseconds from midnight UTC, of 1 kWh and more. */
function readDaily(after: number, days = 20): void {
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  for (let ago = days; ago > 0; ago -= 1)
    events.push({ at: midnight - ago * DAY_MS + after, kwh: 1 + ago / 10, eur: 1 });
}

const type = (words: string, env: Record<string, string> = {}, isTerminal = false) =>
  typed(words.split(' '), {
    isTerminal,
    env: {
      ...own,
      HEAT2MQTT_USAGE_READING_CLOSES: 'auto',
      // Nobody listens there; the other lines of check are not looked at.
      HEAT2MQTT_MQTT_URL: 'mqtt://127.0.0.1:9',
      ...env,
    },
  });
const intervals = () =>
  simulator.requests
    .filter(({ route }) => route === USAGE)
    .map(({ body }) => look(body, 'aggs.resources.aggs.readings.aggs.intervals.date_histogram.interval'));

test('usage finds out, counts each reading for the day before, and says so', async () => {
  readDaily(30_000);
  const newest = events.at(-1)?.at ?? 0;
  const { out } = await type('usage --format json');
  expect(intervals()).toEqual(['hour', 'day']);
  const rows = JSON.parse(out) as { start: Day; energy_kwh: number | null; reading_closes: string }[];
  const read = rows.filter(({ energy_kwh }) => energy_kwh !== null);
  expect(read.at(-1)).toMatchObject({
    start: DUBLIN.dayAt(newest - DAY_MS),
    energy_kwh: 1.1,
    reading_closes: 'previous_day',
  });
  const { out: table } = await type('usage', {}, true);
  expect(table).toContain(
    'Each reading counts for the day before it is taken (seen from the times of the newest readings).\n',
  );
});

test('usage says what is configured, and what it cannot know', async () => {
  const { out } = await type('usage', {}, true);
  expect(out).toContain(
    'Each reading counts for the day on which it is taken (assumed, as long as there are no readings to tell).\n',
  );
  const { out: configured } = await type('usage', { HEAT2MQTT_USAGE_READING_CLOSES: 'previous_day' }, true);
  expect(configured).toContain('Each reading counts for the day before it is taken (as configured).\n');
});

test('check --live: one usage question, which tells days and hours', async () => {
  readDaily(30_000);
  const { out } = await type('check --live', { HEAT2MQTT_METERS_70555002_NAME: 'Nobody' });
  expect(out).toContain(
    `1 heat meter(s): ${METER}, 20 day(s) with readings in 28, each reading counts for the day before it is taken (seen from the times of the newest readings)\n`,
  );
  expect(out).toContain(`ok     meters: no account has 70555002, named in meters; there is ${METER}\n`);
  expect(intervals()).toEqual(['hour']);
});

test('check --live asks for days where it is settled, and names a meter that two accounts have', async () => {
  readDaily(12 * 3_600_000);
  const { HEAT2MQTT_USERNAME: username = '', HEAT2MQTT_PASSWORD: password = '' } = own;
  const { out } = await typed(['check', '--live'], {
    env: Object.fromEntries(
      Object.entries({
        ...own,
        HEAT2MQTT_ACCOUNTS_0_ID: 'one',
        HEAT2MQTT_ACCOUNTS_0_USERNAME: username,
        HEAT2MQTT_ACCOUNTS_0_PASSWORD: password,
        HEAT2MQTT_ACCOUNTS_1_ID: 'two',
        HEAT2MQTT_ACCOUNTS_1_USERNAME: username,
        HEAT2MQTT_ACCOUNTS_1_PASSWORD: password,
        HEAT2MQTT_MQTT_URL: 'mqtt://127.0.0.1:9',
      }).filter(([key]) => !['HEAT2MQTT_USERNAME', 'HEAT2MQTT_PASSWORD'].includes(key)),
    ),
  });
  const lines = out.split('\n').filter((line) => line.includes('provider for'));
  expect(lines[0]).toMatch(
    /1 heat meter\(s\): \d+, \d+ day\(s\) with readings in 14, each reading counts for the day on which it is taken \(as configured\)$/,
  );
  expect(lines[1]).toContain(
    `1 heat meter(s): ${METER} (also of the account one: a meter is read once, by one of them)`,
  );
  expect(intervals()).toEqual(['day', 'day']);
});
