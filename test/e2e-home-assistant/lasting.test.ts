// What lasts in Home Assistant and what does not: restarts, lost discovery documents, and entities and devices that are gone.
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { METER } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  type Announced,
  announced,
  complaints,
  devices,
  entities,
  isEnabled,
  registered,
  stateOf,
  untilShown,
} from './entities.ts';
import { openStory } from './story.ts';

const TOTAL = `sensor.heat2mqtt_${METER}_energy_total`;
const SLOW = { timeoutMs: 60_000 };
const idsOf = (all: readonly Announced[]) => all.map(({ body }) => String(body.default_entity_id)).sort();

test('Home Assistant restarts while the daemon is away: every entity is known, unavailable until it is back, and no other comes', async () => {
  const story = await openStory();
  const program = await story.start();
  const before = await story.enter();
  // With them comes the last of the entities.
  await story.probe.until('heat2mqtt/account/home/invoices', () => true);
  const known = await untilShown(story.probe, before);
  const ids = await registered(before);
  await program.end('SIGTERM');
  await story.homeAssistant.restart();
  const api = await story.enter();
  await waitFor('the total', async () => (await stateOf(api, TOTAL)) === 'unavailable', SLOW);
  await story.start();
  expect(await untilShown(story.probe, api)).toHaveLength(known.length);
  expect(await registered(api)).toEqual(ids);
  expect(complaints(story.homeAssistant.records())).toEqual([]);
});

test('the documents are deleted: entities and devices go, and come back when Home Assistant comes back', async () => {
  const story = await openStory();
  await story.start();
  const before = await story.enter();
  await untilShown(story.probe, before);
  const ids = await registered(before);
  const topics = new Set(announced(story.probe).map(({ topic }) => topic));
  story.probe.forget();
  for (const topic of topics) await story.probe.publish(topic, '', { retain: true });
  await waitFor('nothing left', async () => (await registered(before)).length === 0, SLOW);
  await waitFor('no device left', async () => Object.keys(await devices(before)).length === 0, SLOW);

  await story.homeAssistant.restart();
  const after = await story.enter();
  await untilShown(story.probe, after);
  expect(await registered(after)).toEqual(ids);
  expect(complaints(story.homeAssistant.records())).toEqual([]);
});

test('what the configuration has no longer leaves no ghost: neither entity nor device', async () => {
  const story = await openStory();
  const account = (id: string) => ({ accounts: [{ id, username: ME.username, password: ME.password }] });
  const first = await story.start(account('attic'));
  const api = await story.enter();
  await untilShown(story.probe, api);
  const ofList = (lines: readonly string[]) => lines.filter((line) => line.includes('constituencies'));
  expect(ofList(await registered(api))).toHaveLength(3);
  expect(await devices(api)).toHaveProperty('heat2mqtt_account_attic');

  await first.end('SIGTERM');
  await story.start({ ...account('cellar'), constituencies: undefined });
  await waitFor('the new account', async () => 'heat2mqtt_account_cellar' in (await devices(api)), SLOW);
  // Only once the history of the new account is whole.
  const isOfGone = ({ topic }: Announced) => topic.includes('attic');
  await waitFor('the withdrawal', async () => !announced(story.probe).some(isOfGone), SLOW);
  await untilShown(story.probe, api);
  const left = async () => (await registered(api)).map((line) => line.split(' ')[2]);
  await waitFor('no ghost', async () => (await left()).length === announced(story.probe).length, SLOW);
  const wanted = announced(story.probe);
  expect((await left()).sort()).toEqual(idsOf(wanted));
  // A device goes after the last of its entities.
  await waitFor('no device left', async () => !('heat2mqtt_account_attic' in (await devices(api))), SLOW);
  expect(Object.keys(await devices(api)).sort()).toEqual([
    'heat2mqtt_account_cellar',
    'heat2mqtt_bridge',
    `heat2mqtt_meter_${METER}`,
  ]);
  const states = (await entities(api)).map(({ id }) => id).filter((id) => id.includes('heat2mqtt'));
  expect(states.sort()).toEqual(idsOf(wanted.filter(isEnabled)));
  expect(complaints(story.homeAssistant.records())).toEqual([]);
});
