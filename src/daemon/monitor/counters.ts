// Counts since the start of the process, for the metrics.
import { Failure } from '../../foundation/failure.ts';
import type { AccountOutcome } from '../accounts/account.ts';

export interface Tally {
  polls: number;
  readonly pollFailures: Record<string, number>;
  requests: number;
  requestSeconds: number;
  requestsUnanswered: number;
  logins: number;
  refreshes: number;
}

export function openTally(): Tally {
  return {
    polls: 0,
    pollFailures: {},
    requests: 0,
    requestSeconds: 0,
    requestsUnanswered: 0,
    logins: 0,
    refreshes: 0,
  };
}

export function tallyRequest(tally: Tally, seen: { readonly ms: number; readonly ok: boolean }): void {
  tally.requests += 1;
  tally.requestSeconds += seen.ms / 1000;
  if (!seen.ok) tally.requestsUnanswered += 1;
}

export function tallyPoll(tally: Tally, { fault }: AccountOutcome): void {
  tally.polls += 1;
  if (fault === null) return;
  const code = fault instanceof Failure ? fault.code : 'unexpected';
  tally.pollFailures[code] = (tally.pollFailures[code] ?? 0) + 1;
}
