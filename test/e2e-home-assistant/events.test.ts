// What a person is told in Home Assistant: events with their attributes, a press that comes too early, and a sign-in that is needed.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import type { Fields } from '../support/fields.ts';
import { home, METER, PROPERTY, person, quiet, reading } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import type { Api } from './api.ts';
import { complaints, untilShown } from './entities.ts';
import { daysAgo, startWithStatistics, untilWritten } from './series.ts';
import { openStory } from './story.ts';

const SLOW = { timeoutMs: 60_000 };
const attributesOf = async (api: Api, id: string): Promise<Fields> =>
  Object(await api.get(`/api/states/${id}`)).attributes;
const press = (api: Api) =>
  api.post('/api/services/button/press', { entity_id: 'button.heat2mqtt_poll_now' });

async function untilEvent(api: Api, id: string, type: string): Promise<Fields> {
  let seen: Fields = {};
  const hasCome = async () => {
    seen = await attributesOf(api, id);
    return seen.event_type === type;
  };
  await waitFor(`${type} at ${id}`, hasCome, { ...SLOW, diagnose: () => seen });
  return seen;
}

test('a new day, and a press that comes too early', async () => {
  const events = [5, 4, 3].map((days) => reading(daysAgo(days), days, days / 4));
  const story = await openStory({ me: person('me', [home(METER, quiet({ events }), PROPERTY)]) });
  const { start, enter, probe, homeAssistant } = story;
  await start();
  const api = await enter();
  await untilShown(probe, api);
  expect(await attributesOf(api, 'button.heat2mqtt_poll_now')).toMatchObject({ next_possible_at: null });

  events.push(reading(daysAgo(2), 7.5, 1.25));
  await press(api);
  expect(await untilEvent(api, `event.heat2mqtt_${METER}_event`, 'new_day')).toMatchObject({
    event_types: ['new_day', 'corrected', 'late', 'tariff_changed', 'unusual_use'],
    day: daysAgo(2),
    energy_kwh: 7.5,
    cost_eur: 1.25,
  });
  await press(api);
  const { next_at } = await untilEvent(api, 'event.heat2mqtt_event', 'request_skipped');
  await waitFor('the next possible time', async () => {
    const { next_possible_at } = await attributesOf(api, 'button.heat2mqtt_poll_now');
    return next_possible_at === next_at && Date.parse(String(next_at)) > Date.now();
  });
  expect(complaints(homeAssistant.records())).toEqual([]);
});

test('a sign-in that needs a person: a notification, after a restart of Home Assistant too, until it is over', async () => {
  const story = await openStory({ sections: { persistent_notification: null } });
  const { enter, probe, simulator, homeAssistant, folder } = story;
  await startWithStatistics(story);
  await untilWritten(probe);
  const notice = async (api: Api): Promise<Fields | undefined> => {
    const standing = await api.ask('persistent_notification/get');
    const ours = (one: Fields) => one.notification_id === 'heat2mqtt/account/home/sign_in';
    return Array.isArray(standing) ? standing.find(ours) : undefined;
  };

  // Neither the token nor the session is good any more, and the password is another one.
  simulator.switches.token.keyId = 'replaced';
  simulator.endSessions();
  simulator.changePassword(ME.username, 'another password');
  const api = await enter();
  await untilShown(probe, api);
  await press(api);
  await untilEvent(api, 'event.heat2mqtt_event', 'auth_needed');
  await waitFor('the notification', async () => (await notice(api)) !== undefined, SLOW);
  expect(await notice(api)).toMatchObject({
    title: 'Heat account home cannot sign in',
    message: expect.stringContaining("signing in once on the provider's own page"),
  });

  await homeAssistant.restart();
  const anew = await enter();
  await waitFor('the notification again', async () => (await notice(anew)) !== undefined, SLOW);
  // As it was before the restart.
  await untilEvent(anew, 'event.heat2mqtt_event', 'auth_needed');
  await writeFile(join(folder, 'password'), 'another password\n');
  await waitFor('its end', async () => (await notice(anew)) === undefined, SLOW);
  await untilEvent(anew, 'event.heat2mqtt_event', 'recovered');
  expect(complaints(homeAssistant.records())).toEqual([]);
});
