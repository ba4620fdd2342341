// A notification in Home Assistant when a person has to sign in, and its end, whatever stops, starts or is dismissed meanwhile.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home, METER, person, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { ENERGY, openStatisticsStory } from '../support/statisticsStory.ts';
import { HOUR_MS, MINUTE_MS } from '../support/story.ts';

const NOTICE = 'heat2mqtt/account/home/sign_in';

/** A daemon whose password file holds the wrong one. */
async function openRefused() {
  const open = await openStatisticsStory();
  const { story, ha, start } = open;
  const { username, password } = person('me', []);
  const file = join(story.stateDir, 'password');
  await writeFile(file, 'not the password\n');
  const config = { accounts: [{ id: 'home', username, password_file: file }] };
  const notices = () => [...ha.notifications.keys()];
  return {
    ...open,
    start: () => start(config),
    notices,
    told: () => untilTrue('the notice', () => notices().includes(NOTICE)),
    gone: () => untilTrue('its end', () => !notices().includes(NOTICE)),
    correct: () => writeFile(file, `${password}\n`),
    created: () => ha.asked.filter(({ service }) => service === 'create').length,
  };
}

test('told once, with what to do and no name; gone when the account is signed in again, and the statistics come', async () => {
  const { story, ha, probe, start, told, gone, correct, created } = await openRefused();
  ha.notifications.set('of another', {
    notification_id: 'of another',
    message: 'Your bin day',
    title: 'Bins',
  });
  await start();
  await told();
  const { title, message } = ha.notifications.get(NOTICE) ?? {};
  expect(title).toBe('Heat account home cannot sign in');
  expect(message).toMatch(
    /refused.*\n\nCheck username and password.*Poll now.*\n\nThe next try by itself is at \d\d:\d\d\.\n\nThis notice goes away by itself/,
  );
  expect(`${title}${message}`).not.toContain('example.org');
  await story.nextPoll(4 * HOUR_MS);
  await story.rest();
  // The second refusal has another time of the next try, and nothing else is new.
  const times = /\d\d:\d\d\./;
  expect(created()).toBe(2);
  const words = (text: unknown) => String(text).replace(times, '');
  expect(words(ha.notifications.get(NOTICE)?.message)).toBe(words(message));
  await correct();
  await story.pass(10_000);
  await probe.until(STATE);
  await gone();
  expect([...ha.notifications.keys()]).toEqual(['of another']);
  await untilTrue('statistics', () => ha.rows(ENERGY).length === 3);
});

test('dismissed, it is not told again, but to a Home Assistant that starts anew; over a restart it stays until the sign-in', async () => {
  const { story, ha, probe, start, told, gone, notices, correct } = await openRefused();
  const first = await start();
  await told();
  ha.notifications.clear();
  await story.nextPoll(4 * HOUR_MS);
  await story.rest();
  expect(notices()).toEqual([]);
  await probe.publish('homeassistant/status', 'online');
  await story.pass(3_000, 100);
  await told();

  await story.stop(first);
  const second = await start();
  await story.nextPoll();
  expect(notices()).toEqual([NOTICE]);
  await story.stop(second);
  await correct();
  await start();
  await gone();
});

test('a session that ends between two polls is told at once', async () => {
  const { story, ha, settled, probe } = await openStatisticsStory([], [person('me', [home(METER)])]);
  // Home Assistant refuses notices once: the statistics are written all the same.
  ha.switches.instead.set('persistent_notification/get', (socket, id) => {
    const error = { code: 'home_assistant_error', message: 'not now' };
    socket.send(JSON.stringify({ id, type: 'result', success: false, error }));
  });
  await settled();
  expect(story.logged('home assistant did not take the notices of sign-ins')).toHaveLength(1);
  // One that ends before its first refresh waits for the next poll.
  await story.pass(HOUR_MS / 2, 5 * MINUTE_MS);
  const { switches } = story.simulator;
  switches.token.accountStates.set(person('me', []).username, 'not_fully_set_up');
  story.simulator.endSessions();
  await story.pass(HOUR_MS, 5 * MINUTE_MS);
  await probe.until('heat2mqtt/bridge/event', ({ event_type }) => event_type === 'auth_needed');
  await untilTrue('the notice', () => ha.notifications.has(NOTICE));
  expect(ha.notifications.get(NOTICE)?.message).toContain('Sign in once in the provider');
});
