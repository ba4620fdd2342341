// What is known of the bridge at this moment, as its messages are written from it: its meters, and its health.
import type { Account } from '../../accounts/account.ts';
import type { Meter } from '../../accounts/meter.ts';
import { duplicateReasons, isIncomplete, meterReasons } from '../../accounts/views.ts';
import { NO_REFRESH_TOKEN } from '../../auth/refusals.ts';
import { type AuthStatus, type HealthRecord, needsAPerson, type Reason } from '../../domain/health.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import type { BridgeView } from '../../publication/views.ts';
import type { Context, Trouble } from '../context.ts';
import type { Statistics } from '../homeAssistant/statistics.ts';
import type { Poller } from '../polling/poller.ts';
import type { Schedule } from '../polling/schedule.ts';

// Above this, a list on bridge/health names no more: with thousands of accounts it would be megabytes at each change.
const MOST_NAMED = 50;

export class BridgeStatus {
  /** Faults of the daemon itself, such as a port that is taken. */
  readonly ownReasons: Reason[] = [];
  readonly #accounts: readonly Account[];
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #poller: Pick<Poller, 'troubles' | 'refusal'>;
  readonly #schedule: Pick<Schedule, 'nextPollAt'>;
  readonly #statistics: Statistics | null;
  readonly #context: Context;
  readonly #startedAt: number;

  constructor(
    accounts: readonly Account[],
    poller: Pick<Poller, 'troubles' | 'refusal'>,
    schedule: Pick<Schedule, 'nextPollAt'>,
    statistics: Statistics | null,
    context: Context,
  ) {
    this.#accounts = accounts;
    this.#byId = new Map(accounts.map((account) => [account.id, account]));
    this.#poller = poller;
    this.#schedule = schedule;
    this.#statistics = statistics;
    this.#context = context;
    this.#startedAt = context.clock.now();
  }

  bridge(): BridgeView {
    const { config, zone } = this.#context;
    return {
      startedAt: this.#startedAt,
      schedule: this.#accounts.length > 0 ? config.usage.schedule : null,
      zone,
      health: this.health(),
      meters: this.#meters()
        .filter(({ isComplete }) => isComplete)
        .map(({ account, name, friendlyName, property, store: { readingCloses } }) => ({
          meter: name,
          friendlyName,
          account,
          identifiers: property.meterIdentifiers,
          readingCloses,
        })),
    };
  }

  health(): HealthRecord {
    const histories = this.#accounts.map(({ history }) => history.record);
    const today = this.#accounts.map(({ history }) => history.today());
    return {
      isSomeAccountWell: this.#isSomeAccountWell(),
      auth: Object.fromEntries(this.#authWorthNaming()),
      reasons: atMost(this.#reasons()),
      progress: this.#meters()
        .flatMap((meter) => {
          const progress = meter.progress();
          return progress === null ? [] : [{ account: meter.account, meter: meter.name, ...progress }];
        })
        .slice(0, MOST_NAMED),
      statistics: this.#statistics?.status() ?? null,
      lastPollAt: newest(histories.map(({ lastPollAt }) => lastPollAt)),
      lastSuccessAt: newest(histories.map(({ lastSuccessAt }) => lastSuccessAt)),
      nextPollAt: this.#schedule.nextPollAt(),
      pollNowAt: this.#poller.refusal()?.until ?? null,
      failuresInARow: Math.max(0, ...this.#poller.troubles.map(({ failuresInARow }) => failuresInARow)),
      requestsToday: today.reduce((sum, { requests }) => sum + requests, 0),
      loginsToday: today.reduce((sum, { logins }) => sum + logins, 0),
    };
  }

  /** All meters are known and complete: whatever else was announced once is gone for good. */
  isComplete(): boolean {
    return !this.#accounts.some(isIncomplete);
  }

  #meters(): readonly Meter[] {
    return this.#accounts.flatMap(({ meters }) => meters ?? []);
  }

  #reasons(): Reason[] {
    const { fault } = this.#context.state;
    return [
      ...this.ownReasons,
      ...(fault === null ? [] : [safeWords(fault)]),
      ...this.#poller.troubles
        .filter((trouble) => !this.#isOver(trouble))
        .map((trouble) => ({ ...safeWords(trouble.fault), account: trouble.account })),
      ...this.#accounts.flatMap(({ id, upstream }) => this.#refusalOf(id, upstream.session.fault)),
      ...this.#accounts.flatMap(({ id, upstream }) =>
        upstream.session.lacksRefreshToken ? [{ ...NO_REFRESH_TOKEN, account: id }] : [],
      ),
      ...(this.#statistics?.reasons() ?? []),
      ...this.#meters().flatMap((meter) => meterReasons(meter, this.#context)),
      ...this.#accounts.flatMap(duplicateReasons),
      ...this.#accounts.flatMap(({ extras }) => extras.reasons()),
    ];
  }

  #isSomeAccountWell(): boolean {
    const troubled = new Set(this.#poller.troubles.map(({ account }) => account));
    return this.#accounts.some(
      ({ id, upstream }) => !troubled.has(id) && !needsAPerson(upstream.session.status().state),
    );
  }

  /** What a refresh between two polls met, unless the last poll met the same. */
  #refusalOf(account: string, fault: Failure | null): Reason[] {
    const isKnown = this.#poller.troubles.some(
      (trouble) =>
        trouble.account === account && fault !== null && safeWords(trouble.fault).code === fault.code,
    );
    return fault === null || isKnown ? [] : [{ ...safeWords(fault), account }];
  }

  /** Signed in again, though the poll that follows has not come to its end. */
  #isOver({ account, fault }: Trouble): boolean {
    const wasRefused = fault instanceof Failure && fault.exitCode === EXIT.credentials;
    return wasRefused && this.#byId.get(account)?.upstream.session.status().state === 'ok';
  }

  /** With many accounts only those that are not well, the worst first: each has its own topic too. */
  #authWorthNaming(): (readonly [string, AuthStatus])[] {
    const all = this.#accounts.map(({ id, upstream }) => [id, upstream.session.status()] as const);
    if (all.length <= MOST_NAMED) return all;
    const rank = ({ state }: AuthStatus) => (needsAPerson(state) ? 0 : 1);
    return all
      .filter(([, { state }]) => state !== 'ok')
      .sort(([, one], [, other]) => rank(one) - rank(other))
      .slice(0, MOST_NAMED);
  }
}

function atMost(reasons: readonly Reason[]): readonly Reason[] {
  if (reasons.length <= MOST_NAMED) return reasons;
  const left = reasons.length - MOST_NAMED;
  const rest = { code: 'more_reasons', message: `${left} more reasons are not listed here.` };
  return [...reasons.slice(0, MOST_NAMED), rest];
}

function newest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.max(...known);
}
