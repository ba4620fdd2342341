// A process that is killed in the middle of a login: the attempt is on the disk, so that crashes do not lock the account.
import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { HEALTH, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { openStory } from '../support/story.ts';

const MINUTE_MS = 60_000;

/** Daemons that find the state directory as it was while a login was under way. */
async function openCrashes() {
  const story = await openStory();
  const { counters, switches } = story.simulator;
  const hang = () =>
    switches.fault('/auth/', { kind: 'hang' }, { when: ({ text }) => text.includes('grant_type=password') });
  const fault = hang();
  const daemon = await story.start();
  const grants = counters.passwordGrants;
  await untilTrue('the login', () => grants.asked === 1);
  let running = daemon;
  let folder = story.stateDir;
  return {
    story,
    grants,
    answer: () => fault.remove(),
    async crash() {
      const copy = await story.stack.folder();
      await cp(folder, copy, { recursive: true });
      await story.stop(running);
      folder = copy;
      const probe = await story.listen();
      running = await story.start({ state_dir: copy });
      return probe;
    },
  };
}

test('the next start waits for a minute, says why, and then tries once', async () => {
  const { story, grants, answer, crash } = await openCrashes();
  const probe = await crash();
  answer();
  // Also for the lock that nobody holds any more.
  await story.pass(15_000);
  const health = probe.json(HEALTH);
  expect(health).toMatchObject({
    state: 'degraded',
    auth: { home: { state: 'backoff' } },
    reasons: [{ code: 'login_unfinished', account: 'home', message: health?.last_error }],
  });
  const due = Date.parse(Object(health?.auth).home.next_attempt_at);
  await story.pass(due - story.clock.now() - 3_000);
  expect(grants.asked).toBe(1);
  await story.pass(10_000);
  expect(grants).toEqual({ asked: 2, ok: 1 });
  await probe.until(STATE);
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
});

test('three crashes are not three logins: the second one costs a quarter of an hour', async () => {
  const { story, grants, answer, crash } = await openCrashes();
  await crash();
  await story.pass(2 * MINUTE_MS);
  expect(grants.asked).toBe(2);
  const probe = await crash();
  await story.pass(10 * MINUTE_MS, 15_000);
  expect(grants.asked).toBe(2);
  expect(probe.json(HEALTH)).toMatchObject({ reasons: [{ code: 'login_unfinished' }] });
  await crash();
  await story.pass(2 * MINUTE_MS, 15_000);
  expect(grants.asked).toBe(2);
  answer();
  await story.pass(5 * MINUTE_MS, 15_000);
  expect(grants).toEqual({ asked: 3, ok: 1 });
});
