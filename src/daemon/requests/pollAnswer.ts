// The answer to a request that made a poll.
import { safeWords } from '../../foundation/failure.ts';
import type { Answer } from '../../mqtt/requests.ts';
import type { PollOutcome } from '../polling/poll.ts';

/** `ok` when at least one account could be read; throws the first fault when none could. */
export function answerOf(outcome: PollOutcome, more: Readonly<Record<string, unknown>> = {}): Answer {
  const faults = outcome.accounts.filter(({ fault }) => fault !== null);
  if (faults[0] && faults.length === outcome.accounts.length) throw faults[0].fault;
  return {
    status: 'ok',
    data: {
      ...more,
      accounts: outcome.accounts.map(({ account, events, fault }) => ({
        account,
        changes: events.length,
        ...(fault === null ? {} : { error: safeWords(fault) }),
      })),
    },
  };
}
