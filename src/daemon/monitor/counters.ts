// Counts since the start of the process, for the metrics.
import { Failure } from '../../foundation/failure.ts';

export class Counters {
  polls = 0;
  readonly pollFailures: Record<string, number> = {};
  requests = 0;
  requestSeconds = 0;
  requestsUnanswered = 0;
  logins = 0;
  refreshes = 0;

  countRequest({ ms, ok }: { readonly ms: number; readonly ok: boolean }): void {
    this.requests += 1;
    this.requestSeconds += ms / 1000;
    if (!ok) this.requestsUnanswered += 1;
  }

  /** `fault`: what the poll of an account failed of, or `null`. */
  countPoll(fault: unknown): void {
    this.polls += 1;
    if (fault === null) return;
    const code = fault instanceof Failure ? fault.code : 'unexpected';
    this.pollFailures[code] = (this.pollFailures[code] ?? 0) + 1;
  }
}
