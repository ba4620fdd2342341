// The way to the meters, kept on disk, that no longer leads there: found again once, and series follow their meter.
import { expect, test } from 'vitest';
import { booked, HEALTH, home, METER, PROPERTY, person, quiet, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const EVENT = `heat2mqtt/meter/${METER}/event`;
const DISCOVERY = 'GET /api/v1/customers/:id';

test('HTTP 403 and 404 for a known property: discovered again, read in the same poll; a restart takes the way that was found', async () => {
  const { story, probe, counters, switches, restart, state: before } = await firstPoll();
  let last = before;
  for (const [at, status] of [403, 404].entries()) {
    switches.api.retiredStatus = status;
    story.simulator.renumberProperty(at === 0 ? PROPERTY : 600_000 + at, 600_001 + at);
    await story.nextPoll(24 * HOUR_MS);
    const state = await probe.until(STATE, ({ day }) => day !== last.day);
    expect(state.energy_total).toBeCloseTo(booked(story.simulator, 600_001 + at).kwh, 3);
    expect(counters.requests[DISCOVERY]).toBe(2 + at);
    expect(probe.json(HEALTH)?.state).toBe('ok');
    last = state;
    probe.forget();
  }
  await restart();
  await story.nextPoll();
  expect(counters.requests[DISCOVERY]).toBe(3);
});

test('a refusal that discovery does not cure costs one discovery a day', async () => {
  const { story, probe, counters, switches } = await firstPoll();
  switches.fault('/api/v1/reports', { kind: 'reply', status: 403, body: {} });
  await story.nextPoll();
  expect(counters.requests[DISCOVERY]).toBe(2);
  await story.pass(6 * HOUR_MS, 300_000);
  expect(counters.requests[USAGE]).toBeGreaterThan(8);
  expect(counters.requests[DISCOVERY]).toBe(2);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'failing', reasons: [{ code: 'provider_refused' }] });
});

test('a refused property whose discovery fails takes no event from the meter that was read before it', async () => {
  const homes = [home(), home('70418300', quiet({ seed: 5 }), PROPERTY + 1)];
  const { story, probe, switches } = await firstPoll({ accounts: [person('me', homes)] });
  const isOfTheSecond = ({ body }: { body: unknown }) => JSON.stringify(body).includes(String(PROPERTY + 1));
  const refused = { kind: 'reply', status: 404, body: {} } as const;
  switches.fault('/api/v1/reports', refused, { when: isOfTheSecond });
  switches.fault('/api/v1/customers', { ...refused, status: 503 });
  story.clock.advance(24 * HOUR_MS);
  story.tick();
  const { day } = await probe.until(EVENT, ({ event_type }) => event_type === 'new_day');
  expect(day).toBe('2025-03-11');
  expect(probe.json(HEALTH)).toMatchObject({ reasons: [{ code: 'provider_unreachable' }] });
});

test('a property that is gone takes its topics with it: reduced, withdrawn, emptied', async () => {
  const { story, probe } = await firstPoll({ accounts: [person('me', [home(null)])] });
  const own = (name: string) => [
    `homeassistant/device/heat2mqtt_meter_${name}/config`,
    `heat2mqtt/meter/${name}/history`,
    `heat2mqtt/meter/${name}/state`,
    `heat2mqtt/meter/${name}/statement`,
    ...['day', 'week', 'month'].map((interval) => `heat2mqtt/meter/${name}/usage/${interval}`),
  ];
  await probe.until(`heat2mqtt/meter/${PROPERTY}/state`);
  story.simulator.renumberProperty(PROPERTY, 600_002);
  story.tick();
  await probe.until('heat2mqtt/meter/600002/state');
  await untilTrue('all that is new', () => own('600002').every((topic) => probe.last(topic)));
  await probe.untilCleared(own(String(PROPERTY)));
  const late = await story.listen();
  await late.until('heat2mqtt/meter/600002/state');
  // Once each: what the meter has besides may be found, and announced, meanwhile.
  const topics = () => new Set(late.heard.map(({ topic }) => topic));
  const standing = () => [...topics()].filter((topic) => topic.includes('meter'));
  // A broker brings what is retained piece by piece.
  await untilTrue('all that stands', () => standing().length >= own('600002').length);
  expect(standing().sort()).toEqual(own('600002').sort());
  const { meters } = (await late.until('heat2mqtt/bridge/info')) as { meters: unknown[] };
  expect(meters).toMatchObject([{ meter: '600002' }]);
});
