// The bridge itself: what is known of it at this moment, its meters and its health.
import type { Account } from '../../accounts/account.ts';
import { duplicateReasons, meterReasons } from '../../accounts/reasons.ts';
import { NO_REFRESH_TOKEN } from '../../auth/refusals.ts';
import { type AuthStatus, needsAPerson, type Reason } from '../../domain/health.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import type { BaseTopicWatch } from '../../mqtt/baseTopicWatch.ts';
import { type Health, healthOf } from '../../publication/messages.ts';
import type { BridgeView } from '../../publication/views.ts';
import { type Context, metersOf } from '../context.ts';
import type { Statistics } from '../homeAssistant/statistics.ts';
import type { Household } from '../polling/household.ts';
import type { Witnesses } from '../witnesses.ts';

interface BridgeStatusParts {
  readonly household: Household;
  readonly statistics: Statistics | null;
  readonly witnesses: Pick<Witnesses, 'reasons'>;
  readonly baseTopic: Pick<BaseTopicWatch, 'instance' | 'reasons'>;
}

// A list on bridge/health names no more: with thousands of accounts it would be megabytes at each change.
const MOST_NAMED = 50;

export class BridgeStatus {
  readonly #parts: BridgeStatusParts;
  readonly #context: Context;
  readonly #startedAt: number;
  /** Faults of the daemon itself, such as a port that is taken. */
  readonly ownReasons: Reason[] = [];

  constructor(parts: BridgeStatusParts, context: Context) {
    this.#parts = parts;
    this.#context = context;
    this.#startedAt = context.clock.now();
  }

  health(): Health {
    const { household, statistics } = this.#parts;
    const { accounts, zone } = this.#context;
    const instant = (at: number | null) => (at === null ? null : zone.iso(at));
    const records = accounts.map(({ journal }) => journal.record);
    const today = accounts.map(({ journal }) => journal.today());
    const progress = metersOf(this.#context).flatMap((meter) => meter.progress() ?? []);
    const auth = authWorthNaming(accounts).map(([id, status]) => [id, authRecord(status, instant)]);
    const isSomeAccountWell = accounts.some(
      ({ id, upstream }) => household.faultOf(id) === null && !needsAPerson(upstream.session.status().state),
    );
    const facts = {
      reasons: atMost(this.#reasons()),
      auth: Object.fromEntries(auth),
      progress: progress.slice(0, MOST_NAMED),
      statistics: statistics?.status() ?? null,
      last_poll_at: instant(newest(records.map(({ lastPollAt }) => lastPollAt))),
      last_success_at: instant(newest(records.map(({ lastSuccessAt }) => lastSuccessAt))),
      next_poll_at: instant(household.nextPollAt()),
      poll_now_at: instant(household.refusal()?.until ?? null),
      failures_in_a_row: Math.max(0, ...records.map(({ failures }) => failures)),
      requests_today: today.reduce((sum, { requests }) => sum + requests, 0),
      logins_today: today.reduce((sum, { logins }) => sum + logins, 0),
    };
    return healthOf(facts, isSomeAccountWell);
  }

  bridge(): BridgeView {
    const { accounts, config, zone } = this.#context;
    return {
      startedAt: this.#startedAt,
      instance: this.#parts.baseTopic.instance,
      schedule: accounts.length > 0 ? config.usage.schedule : null,
      zone,
      meters: metersOf(this.#context)
        .filter(({ isComplete }) => isComplete)
        .map(({ account, name, friendlyName, property, book: { readingCloses } }) => ({
          meter: name,
          friendlyName,
          account,
          identifiers: property.meterIdentifiers,
          readingCloses,
        })),
    };
  }

  /** All meters are known, and shown: whatever else was announced once is gone for good. */
  isComplete(): boolean {
    const { accounts } = this.#context;
    return accounts.every(({ meters }) => meters?.every(({ isComplete }) => isComplete) ?? false);
  }

  #reasons(): Reason[] {
    const { household, statistics, witnesses, baseTopic } = this.#parts;
    const { accounts, state, link } = this.#context;
    return [
      ...this.ownReasons,
      ...(state.fault === null ? [] : [safeWords(state.fault)]),
      ...accounts.flatMap((account) => troubleReasons(account, household.faultOf(account.id))),
      ...accounts
        .filter(({ upstream }) => upstream.session.lacksRefreshToken)
        .map(({ id }) => ({ ...NO_REFRESH_TOKEN, account: id })),
      ...(statistics?.reasons() ?? []),
      ...metersOf(this.#context).flatMap((meter) => meterReasons(meter, this.#context)),
      ...accounts.flatMap((account) => duplicateReasons(account)),
      ...accounts.flatMap(({ extras }) => extras.reasons()),
      ...witnesses.reasons(),
      ...link.refusals().map(safeWords),
      ...baseTopic.reasons(),
    ];
  }
}

/** The fault of the account's last poll, and what a refresh has met since then. */
function troubleReasons({ id, upstream: { session } }: Account, fault: unknown): Reason[] {
  const wasRefused = fault instanceof Failure && fault.exitCode === EXIT.credentials;
  // Signed in again, though the poll that follows has not come to its end.
  const isOver = wasRefused && session.status().state === 'ok';
  const polled = fault === null ? null : safeWords(fault);
  const refreshed = session.fault === null ? null : safeWords(session.fault);
  const words = [isOver ? null : polled, refreshed?.code === polled?.code ? null : refreshed];
  return words.flatMap((each) => (each === null ? [] : [{ ...each, account: id }]));
}

/** Not all of many accounts are named, only those that are not well, the worst first: each has its own topic too. */
function authWorthNaming(accounts: readonly Account[]): (readonly [string, AuthStatus])[] {
  const statuses = accounts.map(({ id, upstream }) => [id, upstream.session.status()] as const);
  if (statuses.length <= MOST_NAMED) return statuses;
  const rank = ({ state }: AuthStatus) => (needsAPerson(state) ? 0 : 1);
  return statuses
    .filter(([, { state }]) => state !== 'ok')
    .sort(([, one], [, other]) => rank(one) - rank(other))
    .slice(0, MOST_NAMED);
}

const authRecord = (
  { state, nextAttemptAt, accessExpiresAt, refreshExpiresAt }: AuthStatus,
  instant: (at: number | null) => string | null,
) => ({
  state,
  next_attempt_at: instant(nextAttemptAt),
  access_expires_at: instant(accessExpiresAt),
  refresh_expires_at: instant(refreshExpiresAt),
});

function atMost(reasons: readonly Reason[]): readonly Reason[] {
  if (reasons.length <= MOST_NAMED) return reasons;
  const message = `${reasons.length - MOST_NAMED} more reasons are not listed here.`;
  return [...reasons.slice(0, MOST_NAMED), { code: 'more_reasons', message }];
}

const newest = (times: readonly (number | null)[]): number | null =>
  times.reduce((one, other) => (one === null || (other !== null && other > one) ? other : one), null);
