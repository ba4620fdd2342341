// The poll history of all accounts: one document, with a place for whatever an account may be called.
import { expect, test } from 'vitest';
import { openJournals } from '../../src/accounts/journal.ts';
import { openReplyShapes } from '../../src/accounts/replyShapes.ts';
import { zone } from '../../src/domain/period.ts';
import { place } from '../store/directory.ts';
import { handClock } from '../support/clock.ts';

const DAY_MS = 24 * 3_600_000;

/** `home`: where an earlier one has kept its history. */
async function openHome(id = 'home', home?: Awaited<ReturnType<typeof place>>) {
  const clock = handClock('2026-03-10T12:00:00Z');
  const { open } = home ?? (await place());
  const historyOf = await openJournals({ state: await open(), zone: zone('Europe/Dublin'), clock });
  return { clock, history: historyOf(id) };
}

test.each(['home', 'constructor'])('has the history of "%s" when the process has restarted', async (id) => {
  const home = await place();
  const { history } = await openHome(id, home);
  history.notePoll(null);
  history.save();
  history.countRequest();
  await history.saved();
  const { history: again } = await openHome(id, home);
  expect([again.today(), again.record.lastPollAt]).toEqual([
    { requests: 1, logins: 0 },
    Date.parse('2026-03-10T12:00:00Z'),
  ]);
});

test('begins to count anew when the local day is another, and keeps the newest twelve polls', async () => {
  const { clock, history } = await openHome();
  history.countLogin();
  history.countRequest();
  const succeededAt = clock.now();
  history.notePoll(null);
  clock.advance(DAY_MS);
  expect(history.today()).toEqual({ requests: 0, logins: 0 });
  for (let count = 0; count < 20; count += 1) history.notePoll({ code: `fault_${count}`, message: 'Down.' });
  const { polls, lastSuccessAt, failures, failingSince, lastError } = history.record;
  expect(lastSuccessAt).toBe(succeededAt);
  expect([failures, failingSince, lastError?.code]).toEqual([20, clock.now(), 'fault_19']);
  expect([polls.length, polls.at(-1)?.[1]]).toEqual([12, 'fault_19']);
});

test('tries again when a day has passed, or the clock was far ahead', async () => {
  const { clock, history } = await openHome();
  const tried = [history.tryOnceADay('searchedAt'), history.tryOnceADay('searchedAt')];
  clock.jump(-3 * DAY_MS);
  tried.push(history.tryOnceADay('searchedAt'), history.tryOnceADay('rediscoveredAt'));
  history.note({ searchedAt: null });
  tried.push(history.tryOnceADay('searchedAt'));
  expect(tried).toEqual([true, false, true, true, true]);
});

test('takes failures to have begun now when they began under a clock that was ahead', async () => {
  const { clock, history } = await openHome();
  const fails = () => history.notePoll({ code: 'down', message: 'Down.' });
  clock.jump(365 * DAY_MS);
  fails();
  clock.jump(-365 * DAY_MS);
  fails();
  const began = clock.now();
  clock.advance(DAY_MS);
  fails();
  expect(history.record.failingSince).toBe(began);
});

test('keeps the newest three shapes when a reply has had more', async () => {
  const { clock } = await openHome();
  const written: Parameters<Parameters<typeof openReplyShapes>[0]['write']>[0][] = [];
  const document = {
    read: async () => null,
    write: async (value: (typeof written)[number]) => written.push(value) > 0,
  };
  const note = await openReplyShapes(document, { clock });
  for (const json of [{ a: 1 }, { b: 1 }, { c: 1 }, { c: 2 }, { d: 1 }]) {
    note({ what: 'site', status: 200, json });
    clock.advance(DAY_MS);
  }
  const kept = written.at(-1)?.replies.site?.map(({ shape }) => shape.join());
  expect(kept).toEqual(['d: number', 'c: number', 'b: number'].map((line) => expect.stringContaining(line)));
});
