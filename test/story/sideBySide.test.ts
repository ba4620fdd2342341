// Two processes on one state directory at the same moment: the daemon and a command. Neither costs the other its session.
import { expect, test } from 'vitest';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { openStory } from '../support/story.ts';
import { environmentOf, typed } from '../support/typed.ts';

const HOUR_MS = 3_600_000;
const AHEAD_MS = 60_000;

/** The commands know no clock but that of the machine: the story begins an hour ago, and can go on from today. */
async function openEarlier(earlierMs = HOUR_MS) {
  const at = Date.now() - earlierMs;
  const story = await openStory({ at: new Date(at).toISOString() });
  const { simulator, stateDir } = story;
  Object.assign(simulator.switches.token, {
    accessSeconds: 300,
    refreshSeconds: 36_000,
    lockAfterWrongPasswords: 3,
  });
  const probe = await story.listen();
  /** Lets the daemon's clock go on until the command has ended. */
  async function type(...words: string[]): Promise<number> {
    let isOver = false;
    const told: string[] = [];
    const note = (text: string) => void told.push(text);
    const env = { ...environmentOf(simulator.urls, ME, stateDir), HEAT2MQTT_MQTT_URL: 'mqtt://127.0.0.1:9' };
    const running = typed(words, { env, out: note, err: note }).finally(() => {
      isOver = true;
    });
    while (!isOver) await story.pass(100, 100);
    return (await running).exitCode;
  }
  return {
    story,
    probe,
    type,
    counters: simulator.counters,
    usage: { history_since: new Date(at - 10 * 86_400_000).toISOString().slice(0, 10) },
  };
}

test.each([
  ['usage', 0],
  // No broker is there.
  ['check --live', 6],
])(
  '%s and a poll with an access token that has expired: no token twice, no login',
  async (words, exitCode) => {
    const { story, probe, type, counters, usage } = await openEarlier();
    await story.start({ usage });
    await story.polled(1);
    for (let round = 1; round <= 2; round += 1) {
      const command = type(...words.split(' '));
      story.clock.advance(round === 1 ? HOUR_MS + AHEAD_MS : 300_000);
      story.tick();
      expect(await command).toBe(exitCode);
      await story.pass(20_000);
    }
    await story.nextPoll(300_000);
    expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
    expect(counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
    expect(counters.refreshGrants).toMatchObject({ asked: counters.refreshGrants.ok, maxInFlight: 1 });
    expect(story.logged('session ended by the issuer')).toEqual([]);
  },
);

test.each([
  ['check --live', 1, 6],
  // It signs in whether there is a session or not.
  ['login', 2, 0],
])('%s and the very first poll: no two logins at a time', async (words, mostLogins, exitCode) => {
  const { story, probe, type, counters, usage } = await openEarlier(-AHEAD_MS);
  const command = type(...words.split(' '));
  await story.start({ usage });
  expect(await command).toBe(exitCode);
  await story.polled(1);
  await probe.until(STATE);
  const { asked, ok } = counters.passwordGrants;
  expect(ok).toBe(asked);
  expect(asked).toBeLessThanOrEqual(mostLogins);
  expect(counters.maxInFlight['grant password']).toBe(1);
  expect(counters.refreshGrants).toMatchObject({ asked: counters.refreshGrants.ok });
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
});
