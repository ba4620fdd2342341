// The poll history of all accounts: one document, with a place for whatever an account may be called.
import { expect, test } from 'vitest';
import { openPollHistories } from '../../src/accounts/pollHistory.ts';
import { zone } from '../../src/domain/period.ts';
import { place } from '../store/directory.ts';
import { handClock } from '../support/clock.ts';

test.each(['home', 'constructor'])('the history of "%s" is there again after a restart', async (id) => {
  const { open } = await place();
  const start = async () => {
    const clock = handClock('2026-03-10T12:00:00Z');
    const historyOf = await openPollHistories({
      state: await open(),
      zone: zone('Europe/Dublin'),
      clock,
    });
    return historyOf(id);
  };
  const history = await start();
  history.countRequest();
  history.notePoll(null);
  history.save();
  await history.saved();
  const again = await start();
  expect([again.today(), again.record.lastPollAt]).toEqual([
    { requests: 1, logins: 0 },
    Date.parse('2026-03-10T12:00:00Z'),
  ]);
});
