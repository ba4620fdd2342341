// What a poll is an event of: a failure, a sign-in that only a person can help, and the end of both, once.
import { expect, test } from 'vitest';
import type { Account, AccountOutcome } from '../../src/accounts/account.ts';
import { eventsOfPoll } from '../../src/accounts/composition.ts';
import { zone } from '../../src/domain/period.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { Topics } from '../../src/publication/topics.ts';
import { handClock } from '../support/clock.ts';

const context = {
  ...{ clock: handClock('2026-03-10T12:00:00Z'), topics: new Topics('heat2mqtt') },
  ...{ zone: zone('Europe/Dublin'), config: {} as never },
};
const FAULT = failure('busy', 'Busy.', { exit: EXIT.provider, retry: 'later' });

test.each([
  ['a good poll after a good one', { fault: null, wasFailing: false, needed: false, state: 'ok' }, []],
  ['a failed one', { fault: FAULT, wasFailing: true, needed: false, state: 'ok' }, ['poll_failed']],
  [
    'a refused login',
    { fault: FAULT, wasFailing: false, needed: false, state: 'login_needed' },
    ['auth_needed'],
  ],
  ['a good one afterwards', { fault: null, wasFailing: true, needed: false, state: 'ok' }, ['recovered']],
  [
    'and after a refusal between two polls',
    { fault: null, wasFailing: false, needed: true, state: 'ok' },
    ['recovered'],
  ],
  [
    'by an access token that serves on',
    { fault: null, wasFailing: false, needed: true, state: 'needs_user_action' },
    [],
  ],
])('%s', (_, { fault, wasFailing, needed, state }, expected) => {
  const told = { needsPerson: needed, late: {}, use: {} };
  const status = () => ({ state });
  const account = { id: 'home', told, upstream: { session: { status } } } as unknown as Account;
  const outcome = { account: 'home', events: [], fault, unread: [] } as AccountOutcome;
  const messages = eventsOfPoll(account, outcome, wasFailing, context);
  expect(messages.map(({ payload }) => JSON.parse(payload).event_type)).toEqual(expected);
});
