// What a poll is an event of: a failure, a sign-in that only a person can help, and the end of both, once.
import { expect, test } from 'vitest';
import type { Account, AccountOutcome } from '../../src/accounts/account.ts';
import { eventsOfPoll, eventsOfStates } from '../../src/accounts/composition.ts';
import { zone } from '../../src/domain/period.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { Topics } from '../../src/publication/topics.ts';
import type { MeterView } from '../../src/publication/views.ts';
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

/** The newest day that was judged, and since when its use is unusual in which direction. */
type Judged = readonly [day: string, since?: string, direction?: 'high' | 'low'];
const viewOf = (late: boolean, [day, since, direction]: Judged) => {
  const newest = { day, energy: 9, expected: 3, low: 1, high: 5, by: 'days' };
  const unusual = since === undefined ? null : { since, direction, reason: null };
  return { meter: 'm', late, readingAt: null, use: { newest, unusual } } as unknown as MeterView;
};

test.each<[string, readonly (readonly [late: boolean, judged: Judged])[], readonly string[]]>([
  ['known at first sight', [[true, ['2026-03-09', '2026-03-08', 'high']]], []],
  [
    'that became late',
    [
      [false, ['2026-03-09']],
      [true, ['2026-03-09']],
      [true, ['2026-03-09']],
    ],
    ['late'],
  ],
  [
    'that was late, and is again',
    [
      [true, ['2026-03-09']],
      [false, ['2026-03-09']],
      [true, ['2026-03-09']],
    ],
    ['late'],
  ],
  [
    'whose use became unusual, once',
    [
      [false, ['2026-03-08']],
      [false, ['2026-03-09', '2026-03-09', 'high']],
      [false, ['2026-03-10', '2026-03-09', 'high']],
    ],
    ['unusual_use'],
  ],
  [
    'whose days of before are judged otherwise by now',
    [
      [false, ['2026-03-09']],
      [false, ['2026-03-09', '2026-03-07', 'high']],
    ],
    [],
  ],
  [
    'whose newest day was taken back for a while',
    [
      [false, ['2026-03-09']],
      [false, ['2026-03-06']],
      [false, ['2026-03-09', '2026-03-08', 'low']],
    ],
    [],
  ],
])('a meter %s', (_, states, expected) => {
  const told = { needsPerson: false, late: {}, use: {} };
  const account = { id: 'home', told, extras: { takeNews: () => [] } } as unknown as Account;
  const messages = states.flatMap(([late, judged]) =>
    eventsOfStates(account, [viewOf(late, judged)], context),
  );
  expect(messages.map(({ payload }) => JSON.parse(payload).event_type)).toEqual(expected);
});
