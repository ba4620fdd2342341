// The journal of all accounts: one document, and a page for whatever an account may be called.
import { expect, test } from 'vitest';
import { openJournal } from '../../src/daemon/accounts/pollHistory.ts';
import { zone } from '../../src/domain/period.ts';
import { place } from '../store/directory.ts';
import { handClock } from '../support/clock.ts';

test.each(['home', 'constructor'])('the page of "%s" is there again after a restart', async (id) => {
  const { open, log } = await place();
  const start = async () =>
    (await openJournal(await open(), zone('Europe/Dublin'), handClock('2026-03-10T12:00:00Z'), log)).page(id);
  const page = await start();
  page.countRequest();
  page.notePoll(null);
  page.save();
  await page.saved();
  const again = await start();
  expect([again.today(), again.lastPollAt]).toEqual([
    { requests: 1, logins: 0 },
    Date.parse('2026-03-10T12:00:00Z'),
  ]);
});
