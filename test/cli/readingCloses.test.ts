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
const COUNTED = 'each reading counts for the day';
let events: ExplicitEvent[];
let simulator: Simulator;
let own: Record<string, string | undefined>;

beforeEach(async () => {
  events = [];
  ({ simulator, env: own } = await openProviderFor(person('me', [home(METER, { events })])));
});

/** One reading on each of the newest days, `after` so many milliseconds from midnight UTC, of 1 kWh and more. */
function readDaily(after: number, days = 20): void {
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  for (let ago = days; ago > 0; ago -= 1)
    events.push({ at: midnight - ago * DAY_MS + after, kwh: 1 + ago / 10, eur: 1 });
}

async function type(words: string, env: Record<string, string | undefined> = {}, isTerminal = false) {
  // Nobody listens at that broker; the other lines of check are not looked at.
  const usual = { HEAT2MQTT_USAGE_READING_CLOSES: 'auto', HEAT2MQTT_MQTT_URL: 'mqtt://127.0.0.1:9' };
  return (await typed(words.split(' '), { isTerminal, env: { ...own, ...usual, ...env } })).out;
}
const intervals = () =>
  simulator.requests
    .filter(({ route }) => route === USAGE)
    .map(({ body }) => look(body, 'aggs.resources.aggs.readings.aggs.intervals.date_histogram.interval'));

test('finds out that readings count for the day before, and says so', async () => {
  readDaily(30_000);
  const rows = JSON.parse(await type('usage --format json')) as { start: Day; energy_kwh: number | null }[];
  expect(intervals()).toEqual(['hour', 'day']);
  expect(rows.filter(({ energy_kwh }) => energy_kwh !== null).at(-1)).toMatchObject({
    start: DUBLIN.dayAt((events.at(-1)?.at ?? 0) - DAY_MS),
    energy_kwh: 1.1,
    reading_closes: 'previous_day',
  });
  expect(await type('usage', {}, true)).toContain(
    'Each reading counts for the day before it is taken (seen from the times of the newest readings).\n',
  );
});

test('says what is configured, and what it cannot know', async () => {
  expect(await type('usage', {}, true)).toContain(
    'Each reading counts for the day on which it is taken (assumed, as long as there are no readings to tell).\n',
  );
  const configured = { HEAT2MQTT_USAGE_READING_CLOSES: 'previous_day' };
  expect(await type('usage', configured, true)).toContain('the day before it is taken (as configured).\n');
});

test('asks one usage question with check --live, which tells days and hours', async () => {
  readDaily(30_000);
  const out = await type('check --live', { HEAT2MQTT_METERS_70555002_NAME: 'Nobody' });
  expect(out).toContain(
    `1 heat meter(s): ${METER}, 20 day(s) with readings in 28, ${COUNTED} before it is taken (seen from the times of the newest readings)\n`,
  );
  expect(out).toContain(`ok     meters: no account has 70555002, named in meters; there is ${METER}\n`);
  expect(intervals()).toEqual(['hour']);
});

test('says with check --live that the zone of the flat is not that of the configuration', async () => {
  readDaily(30_000);
  const out = await type('check --live', { HEAT2MQTT_USAGE_TIMEZONE: 'UTC' });
  expect(out).toContain("; The provider's site is in Europe/Dublin, usage.timezone is UTC.\n");
});

test('asks for days with check --live when it is settled, and names a meter that two accounts have', async () => {
  readDaily(12 * 3_600_000);
  const account = (n: number, id: string) => ({
    [`HEAT2MQTT_ACCOUNTS_${n}_ID`]: id,
    [`HEAT2MQTT_ACCOUNTS_${n}_USERNAME`]: own.HEAT2MQTT_USERNAME,
    [`HEAT2MQTT_ACCOUNTS_${n}_PASSWORD`]: own.HEAT2MQTT_PASSWORD,
  });
  const out = await type('check --live', {
    ...account(0, 'one'),
    ...account(1, 'two'),
    HEAT2MQTT_USERNAME: undefined,
    HEAT2MQTT_PASSWORD: undefined,
    HEAT2MQTT_USAGE_READING_CLOSES: 'same_day',
  });
  const lines = out.split('\n').filter((line) => line.includes('provider for'));
  expect(lines[0]).toMatch(
    new RegExp(
      `: \\d+, \\d+ day\\(s\\) with readings in 14, ${COUNTED} on which it is taken \\(as configured\\)$`,
    ),
  );
  expect(lines[1]).toContain(`: ${METER} (also of the account one: a meter is read once, by one of them)`);
  expect(intervals()).toEqual(['day', 'day']);
});
