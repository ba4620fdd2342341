// heat2mqtt uninstall: what a real daemon has left on its broker is gone, and nothing else is.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ClaimedDirectory } from '../../src/store/locks.ts';
import { ME, METER } from '../support/homes.ts';
import { logLines } from '../support/logLines.ts';
import { firstPoll, openStory } from '../support/story.ts';
import { type StrictBroker, startStrictBroker } from '../support/strictBroker.ts';

const OTHERS = [
  'heat2mqtt/notes',
  'heat2mqtt/meter/7',
  'heat2mqtt2/bridge/info',
  'homeassistant/device/heat2mqtt_bridge_lamp/config',
  'homeassistant/device/garbage/config',
];

/** A daemon that has published everything, and the command beside it. */
async function published(config: Readonly<Record<string, unknown>> = {}) {
  const home = await firstPoll({ config: { ...config, constituencies: {} } });
  const { story, probe } = home;
  await probe.publish('heat2mqtt/bridge/request/constituencies', '');
  await probe.until('heat2mqtt/bridge/response/constituencies');
  for (const topic of OTHERS)
    await probe.publish(topic, '{"availability_topic":"lamp/state"}', { retain: true });
  /** What somebody finds who subscribes now. */
  async function retained(): Promise<string[]> {
    const late = await story.listen();
    await story.rest();
    return late.heard.filter((one) => one.retained).map(({ topic }) => topic);
  }
  return { ...home, retained };
}

test('it asks once, clears all that is ours, and tells what is left', async () => {
  const { story, daemon, retained } = await published();
  await story.stop(daemon);
  const before = await retained();
  expect(before).toEqual(
    expect.arrayContaining([`heat2mqtt/meter/${METER}/history`, 'heat2mqtt/constituencies/dail/34']),
  );

  const asked: string[] = [];
  const answering = (answer: string | null) => ({
    ask: async (question: string) => {
      asked.push(question);
      return answer;
    },
  });
  for (const answer of ['', 'n', null]) {
    const { out, exitCode } = await story.type('uninstall', {}, answering(answer));
    expect(out).toContain('of them devices in Home Assistant: 3');
    expect([out.split('\n').at(-2), exitCode]).toEqual(['Nothing was changed.', 0]);
  }
  expect(await retained()).toEqual(before);

  // What an earlier base topic has left goes too.
  const renamed = { mqtt: { base_topic: 'heat' } };
  const { out, exitCode } = await story.type('uninstall', renamed, answering(' Yes '));
  expect(exitCode).toBe(0);
  expect(out).toMatch(/All \d+ are cleared\.\nWhat is left.*heat2mqtt logout.*tokens and readings/s);
  expect((await retained()).sort()).toEqual([...OTHERS].sort());
  expect(asked).toHaveLength(4);
  expect((await story.type('uninstall --yes')).out).toContain('Nothing of heat2mqtt is retained');
});

test('neither beside a running daemon, nor beside one that is away from the broker, nor without --yes', async () => {
  const { story, daemon, retained, probe } = await published();
  const before = await retained();
  await expect(story.type('uninstall --yes')).rejects.toMatchObject({ code: 'still_running', exitCode: 2 });
  expect(await retained()).toEqual(before);

  await story.stop(daemon);
  const claimed = await ClaimedDirectory.claim(story.stateDir, story.clock, logLines().log);
  await expect(story.type('uninstall --yes')).rejects.toMatchObject({ code: 'still_running', exitCode: 2 });
  await claimed.giveUp();
  await expect(story.type('uninstall')).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('--yes'),
  });
  expect(await retained()).toEqual(before);

  // Neither an online that a dead daemon has left behind nor a lost state directory is an obstacle.
  await probe.publish('heat2mqtt/bridge/state', 'online', { retain: true });
  const elsewhere = { state_dir: await story.stack.folder() };
  expect(await story.type('uninstall --yes', elsewhere)).toMatchObject({ exitCode: 0 });
  expect((await retained()).sort()).toEqual([...OTHERS].sort());
});

test('where it cannot be told whether a daemon runs, it is refused, and done when forced', async () => {
  const { story, daemon, retained } = await published();
  await story.stop(daemon);
  const before = await retained();
  const state_dir = join(await story.stack.folder(), 'file');
  await writeFile(state_dir, 'where the directory should be');
  await expect(story.type('uninstall --yes', { state_dir })).rejects.toMatchObject({
    code: 'may_be_running',
    exitCode: 2,
  });
  expect(await retained()).toEqual(before);
  // Only what it would write there fails.
  await expect(story.type('uninstall --yes --force', { state_dir })).rejects.toMatchObject({
    code: 'state_unwritable',
  });
  expect((await retained()).sort()).toEqual([...OTHERS].sort());
});

test('says that the connection has ended, and not that nothing is retained, when it does while it reads', async () => {
  const story = await openStory();
  const broker: StrictBroker = await startStrictBroker({
    subscribe() {
      setImmediate(() => broker.cut());
      return 1;
    },
  });
  const mqtt = { url: broker.url, protocol: '3.1.1' };
  await expect(story.type('uninstall --yes', { mqtt })).rejects.toMatchObject({
    code: 'not_acknowledged',
    exitCode: 6,
  });
});

test('a broker of our own keeps nothing; what is left elsewhere is named, with its files', async () => {
  const story = await openStory();
  const folder = await story.stack.folder();
  const [password, token] = ['heat-password', 'ha-token'].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  for (const path of [password, token])
    await writeFile(path, 'of the heat, 11 characters\n', { mode: 0o600 });
  const { out, exitCode } = await story.type('uninstall --yes', {
    accounts: [{ id: 'home', username: ME.username, password_file: password }],
    mqtt: { url: undefined, embedded: true },
    home_assistant: { url: 'ws://homeassistant.local:8123/api/websocket', token_file: token },
  });
  expect([out, exitCode]).toEqual([expect.stringContaining('nothing to clear'), 0]);
  for (const left of [
    `password of home: ${password}`,
    `token of Home Assistant: ${token}`,
    'energy-dashboard --remove',
    'the access token in Home Assistant',
    `the folder ${story.stateDir}`,
    'backups',
  ])
    expect(out).toContain(left);
});
