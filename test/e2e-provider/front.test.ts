// A real Keycloak behind something that changes addresses: tokens of another issuer, and a token endpoint that has moved.
import { expect, inject, onTestFinished, test } from 'vitest';
import { startFront } from './front.ts';
import { openRealm } from './realm.ts';
import { expectNoBlame, OFTEN, openStory } from './story.ts';

async function behindFront() {
  const front = await startFront(inject('keycloak'));
  onTestFinished(() => void front.stop());
  const realm = await openRealm({ url: front.url });
  return { front, realm, story: await openStory(realm, { usage: OFTEN }) };
}

test('tokens of another issuer: one session more, and no other within the hour, however often it is started and asked', async () => {
  const { front, realm, story } = await behindFront();
  let program = story.start();
  await story.untilWell();
  front.switches.tokenHost = 'elsewhere.example.org';
  await story.until('tokens of no use', ({ codes }) => codes.includes('tokens_unusable'));
  const sessions = async () => (await realm.counts()).LOGIN ?? 0;
  expect(await sessions()).toBe(2);
  expect(story.health()).toMatchObject({ loginsToday: 2, words: expect.stringContaining('"iss"') });
  const asked = front.seen.length;
  const polls = () => program.output.split('"poll').length;
  const before = polls();
  await story.until('three polls more', () => polls() > before + 2);
  await program.end('SIGTERM');
  program = story.start();
  await story.until('two polls of the next one', () => polls() > 2);
  const { code, output } = await story.command('check', '--live');
  expect([code, output]).toEqual([5, expect.stringContaining('waits until')]);
  expect(front.seen.length).toBe(asked);
  expect(await sessions()).toBe(2);
  expectNoBlame(story, program.output);
});

test('a token endpoint that has moved: found again at once, by JSON that the realm is not there', async () => {
  const { front, realm, story } = await behindFront();
  front.switches.tokenIsAt = 'old';
  const program = story.start();
  await story.untilWell();
  front.switches.tokenIsAt = 'moved';
  const refreshed = () =>
    front.seen.filter((line) => line.startsWith('/realms/') && line.endsWith(' 200')).length;
  await story.until('two refreshes at the new address', () => refreshed() > 1);
  expect(front.seen.filter((line) => line.endsWith(' 404'))).toHaveLength(1);
  expect(story.health().state).toBe('ok');
  expect((await realm.counts()).LOGIN).toBe(1);
  expectNoBlame(story, program.output);
});
