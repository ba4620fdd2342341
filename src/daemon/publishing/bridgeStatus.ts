// The bridge itself: what is known of it at this moment, its meters and its health.
import type { Account } from '../../accounts/account.ts';
import { duplicateReasons, meterReasons } from '../../accounts/composition.ts';
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

interface Parts {
  readonly household: Household;
  readonly statistics: Statistics | null;
  readonly witnesses: Pick<Witnesses, 'reasons'>;
  readonly baseTopic: Pick<BaseTopicWatch, 'instance' | 'reasons'>;
}

export type BridgeStatus = ReturnType<typeof openBridgeStatus>;

// Above this, a list on bridge/health names no more: with thousands of accounts it would be megabytes at each change.
const MOST_NAMED = 50;

export function openBridgeStatus({ household, statistics, baseTopic, witnesses }: Parts, context: Context) {
  const { accounts, config, zone, clock, state, link } = context;
  const startedAt = clock.now();
  /** Faults of the daemon itself, such as a port that is taken. */
  const ownReasons: Reason[] = [];

  /** What the last poll of an account met, and what a refresh since then. */
  function troubleReasons({ id, upstream: { session } }: Account): Reason[] {
    const fault = household.faultOf(id);
    const wasRefused = fault instanceof Failure && fault.exitCode === EXIT.credentials;
    // Signed in again, though the poll that follows has not come to its end.
    const isOver = wasRefused && session.status().state === 'ok';
    const polled = fault === null ? null : safeWords(fault);
    const refreshed = session.fault === null ? null : safeWords(session.fault);
    const told = [isOver ? null : polled, refreshed?.code === polled?.code ? null : refreshed];
    return told.flatMap((words) => (words === null ? [] : [{ ...words, account: id }]));
  }

  const reasons = (): Reason[] => [
    ...ownReasons,
    ...(state.fault === null ? [] : [safeWords(state.fault)]),
    ...accounts.flatMap(troubleReasons),
    ...accounts
      .filter(({ upstream }) => upstream.session.lacksRefreshToken)
      .map(({ id }) => ({ ...NO_REFRESH_TOKEN, account: id })),
    ...(statistics?.reasons() ?? []),
    ...metersOf(context).flatMap((meter) => meterReasons(meter, context)),
    ...accounts.flatMap((account) => duplicateReasons(account)),
    ...accounts.flatMap(({ extras }) => extras.reasons()),
    ...witnesses.reasons(),
    ...link.refusals().map(safeWords),
    ...baseTopic.reasons(),
  ];

  /** With many accounts only those that are not well, the worst first: each has its own topic too. */
  function authWorthNaming(): (readonly [string, AuthStatus])[] {
    const all = accounts.map(({ id, upstream }) => [id, upstream.session.status()] as const);
    if (all.length <= MOST_NAMED) return all;
    const rank = ({ state }: AuthStatus) => (needsAPerson(state) ? 0 : 1);
    return all
      .filter(([, { state }]) => state !== 'ok')
      .sort(([, one], [, other]) => rank(one) - rank(other))
      .slice(0, MOST_NAMED);
  }

  const instant = (at: number | null) => (at === null ? null : zone.iso(at));
  const authOf = ({ state, nextAttemptAt, accessExpiresAt, refreshExpiresAt }: AuthStatus) => ({
    state,
    next_attempt_at: instant(nextAttemptAt),
    access_expires_at: instant(accessExpiresAt),
    refresh_expires_at: instant(refreshExpiresAt),
  });

  function health(): Health {
    const records = accounts.map(({ history }) => history.record);
    const today = accounts.map(({ history }) => history.today());
    const progress = metersOf(context).flatMap((meter) => meter.progress() ?? []);
    const failures = accounts.map(({ history }) => history.record.failures);
    const isSomeAccountWell = accounts.some(
      ({ id, upstream }) => household.faultOf(id) === null && !needsAPerson(upstream.session.status().state),
    );
    const known = {
      reasons: atMost(reasons()),
      auth: Object.fromEntries(authWorthNaming().map(([id, status]) => [id, authOf(status)])),
      progress: progress.slice(0, MOST_NAMED),
      statistics: statistics?.status() ?? null,
      last_poll_at: instant(newest(records.map(({ lastPollAt }) => lastPollAt))),
      last_success_at: instant(newest(records.map(({ lastSuccessAt }) => lastSuccessAt))),
      next_poll_at: instant(household.nextPollAt()),
      poll_now_at: instant(household.refusal()?.until ?? null),
      failures_in_a_row: Math.max(0, ...failures),
      requests_today: today.reduce((sum, { requests }) => sum + requests, 0),
      logins_today: today.reduce((sum, { logins }) => sum + logins, 0),
    };
    return healthOf(known, isSomeAccountWell);
  }

  return {
    ownReasons,
    health,
    bridge: (): BridgeView => ({
      startedAt,
      instance: baseTopic.instance,
      schedule: accounts.length > 0 ? config.usage.schedule : null,
      zone,
      meters: metersOf(context)
        .filter(({ isComplete }) => isComplete)
        .map(({ account, name, friendlyName, property, store: { readingCloses } }) => ({
          meter: name,
          friendlyName,
          account,
          identifiers: property.meterIdentifiers,
          readingCloses,
        })),
    }),
    /** All meters are known, and shown: whatever else was announced once is gone for good. */
    isComplete: (): boolean =>
      accounts.every(({ meters }) => meters?.every(({ isComplete }) => isComplete) ?? false),
  };
}

function atMost(reasons: readonly Reason[]): readonly Reason[] {
  if (reasons.length <= MOST_NAMED) return reasons;
  const left = reasons.length - MOST_NAMED;
  const rest = { code: 'more_reasons', message: `${left} more reasons are not listed here.` };
  return [...reasons.slice(0, MOST_NAMED), rest];
}

const newest = (times: readonly (number | null)[]): number | null =>
  times.reduce((one, other) => (one === null || (other !== null && other > one) ? other : one), null);
