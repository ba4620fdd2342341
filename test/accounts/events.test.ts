// What a poll is an event of: a failure, a sign-in that only a person can help, and the end of both, once.
import { expect, test } from 'vitest';
import type { Account, AccountOutcome } from '../../src/accounts/account.ts';
import { eventsOfPoll, eventsOfStates } from '../../src/accounts/events.ts';
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

/** `refusal`: the session's own fault. `expiresAt`: of the access token that the poll left behind. */
const after = {
  fault: null as unknown,
  refusal: null as unknown,
  wasFailing: false,
  needed: false,
  state: 'ok',
  expiresAt: 1,
};
const disabled = { ...after, needed: true, expiresAt: 0 };
test.each([
  ['a good poll after a good one', after, []],
  ['a failed one', { ...after, fault: FAULT, wasFailing: true }, ['poll_failed']],
  ['a refused login', { ...after, fault: FAULT, refusal: FAULT, state: 'login_needed' }, ['auth_needed']],
  [
    'of something else while a login is refused',
    { ...after, fault: FAULT, state: 'login_needed' },
    ['poll_failed'],
  ],
  ['a good one afterwards', { ...after, wasFailing: true }, ['recovered']],
  ['and after a refusal between two polls', { ...after, needed: true }, ['recovered']],
  ['by an access token that serves on', { ...disabled, state: 'needs_user_action' }, []],
  ['by one that serves on after a restart', disabled, []],
  ['by one that serves on while the issuer is away', { ...disabled, state: 'provider_down' }, []],
])(
  'tells the events of a poll when it is %s',
  (_, { fault, refusal, wasFailing, needed, state, expiresAt }, expected) => {
    const told = { needsPerson: needed, accessExpiresAt: 0, late: {}, use: {} };
    const status = () => ({ state, accessExpiresAt: expiresAt });
    const account = {
      id: 'home',
      told,
      upstream: { session: { status, fault: refusal } },
    } as unknown as Account;
    const outcome: AccountOutcome = { account: 'home', events: [], fault };
    const messages = eventsOfPoll(account, outcome, wasFailing, context);
    expect(messages.map(({ payload }) => JSON.parse(payload).event_type)).toEqual(expected);
  },
);

/** `day`: the newest that was judged; `since` when its use is unusual in which direction. */
function viewOf(day: string, since?: string, direction?: 'high' | 'low', late = false) {
  const newest = { day, energy: 9, expected: 3, low: 1, high: 5, by: 'days' };
  const unusual = since === undefined ? null : { since, direction, reason: null };
  return { meter: 'm', late, readingAt: null, use: { newest, unusual } } as unknown as MeterView;
}
const [FIRST, SECOND, THIRD] = ['2026-03-08', '2026-03-09', '2026-03-10'] as const;
const inTime = viewOf(SECOND);
const late = { ...inTime, late: true };

/** `null`: it is not there. */
test.each<[string, readonly (MeterView | null)[], readonly string[]]>([
  ['known at first sight', [viewOf(SECOND, FIRST, 'high', true)], []],
  ['that became late', [inTime, late, late], ['late']],
  ['that was late, and is again', [late, inTime, late], ['late']],
  [
    'whose use became unusual, once',
    [viewOf(FIRST), viewOf(SECOND, SECOND, 'high'), viewOf(THIRD, SECOND, 'high')],
    ['unusual_use'],
  ],
  [
    'whose days of before are judged otherwise by now',
    [viewOf(FIRST), viewOf(SECOND, '2026-03-07', 'high')],
    [],
  ],
  [
    'whose newest day was taken back for a while',
    [inTime, viewOf('2026-03-06'), viewOf(SECOND, FIRST, 'low')],
    [],
  ],
  [
    'that became late, and its use unusual, while it was gone',
    [viewOf(FIRST), null, viewOf(SECOND, SECOND, 'high', true)],
    ['late', 'unusual_use'],
  ],
])('tells of unusual use when that of a meter is %s', (_, states, expected) => {
  const told = { needsPerson: false, late: {}, use: {} };
  const account = { id: 'home', told, extras: { takeNews: () => [] } } as unknown as Account;
  const messages = states.flatMap((view) => eventsOfStates(account, view ? [view] : [], context));
  expect(messages.map(({ payload }) => JSON.parse(payload).event_type)).toEqual(expected);
});
