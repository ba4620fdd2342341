// Outages of realm, client and user under a running daemon: no session is lost, nobody logs in, and no password is blamed.
import { expect, test } from 'vitest';
import { openRealm, type Realm } from './realm.ts';
import { expectNoBlame, OFTEN, openStory } from './story.ts';

interface Outage {
  readonly what: string;
  readonly begin: (realm: Realm) => Promise<void>;
  readonly end: (realm: Realm) => Promise<void>;
  readonly code: string;
}

const OUTAGES: readonly Outage[] = [
  {
    what: 'realm',
    begin: ({ set }) => set({ enabled: false }),
    end: ({ set }) => set({ enabled: true }),
    code: 'issuer_refused',
  },
  {
    what: 'client',
    begin: ({ setClient }) => setClient({ enabled: false }),
    end: ({ setClient }) => setClient({ enabled: true }),
    code: 'client_refused',
  },
  {
    what: 'user',
    begin: ({ setUser }) => setUser({ enabled: false }),
    end: ({ setUser }) => setUser({ enabled: true }),
    code: 'account_disabled',
  },
  {
    what: 'plain HTTP',
    begin: ({ set }) => set({ sslRequired: 'all' }),
    end: ({ set }) => set({ sslRequired: 'none' }),
    code: 'issuer_refused',
  },
];

test.each(OUTAGES)('$what refused twice, and allowed again', async ({ begin, end, code }) => {
  const realm = await openRealm();
  const story = await openStory(realm, { usage: OFTEN });
  const program = story.start();
  await story.untilWell();
  for (let time = 0; time < 2; time += 1) {
    await begin(realm);
    await story.until(code, ({ codes, auth }) => codes.includes(code) && auth !== 'ok');
    const { state, lastError } = story.health();
    expect(state).not.toBe('ok');
    expect(lastError).not.toBeNull();
    await end(realm);
    await story.untilWell();
  }
  await program.end('SIGTERM');

  const counts = await realm.counts();
  expect(counts).toMatchObject({ LOGIN: 1 });
  expect(counts).not.toHaveProperty('LOGIN_ERROR');
  const sessions = (await realm.happened()).flatMap(({ sessionId = [] }) => sessionId);
  expect(new Set(sessions).size).toBe(1);
  expectNoBlame(story, program.output);
});
