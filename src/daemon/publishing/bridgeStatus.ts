// The bridge itself: what is known of it at this moment, its meters and its health, and everything that is retained of it.
import type { Account } from '../../accounts/account.ts';
import { duplicateReasons, isIncomplete, meterReasons } from '../../accounts/composition.ts';
import { NO_REFRESH_TOKEN } from '../../auth/refusals.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { type AuthStatus, type HealthRecord, needsAPerson, type Reason } from '../../domain/health.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import { healthMessage, infoMessage, stateMessage } from '../../publication/bridgeMessages.ts';
import { bridgeDocument, type DiscoveryOptions } from '../../publication/discovery.ts';
import type { Retained } from '../../publication/retainedDiff.ts';
import type { Topics } from '../../publication/topics.ts';
import type { BridgeView } from '../../publication/views.ts';
import type { Context, Trouble } from '../context.ts';
import type { Statistics } from '../homeAssistant/statistics.ts';
import type { Poller } from '../polling/poller.ts';
import type { Schedule } from '../polling/schedule.ts';

interface Parts {
  readonly accounts: readonly Account[];
  readonly poller: Pick<Poller, 'troubles' | 'refusal'>;
  readonly schedule: Pick<Schedule, 'nextPollAt'>;
  readonly statistics: Statistics | null;
}

export type BridgeStatus = ReturnType<typeof openBridgeStatus>;

// Above this, a list on bridge/health names no more: with thousands of accounts it would be megabytes at each change.
const MOST_NAMED = 50;

export function openBridgeStatus({ accounts, poller, schedule, statistics }: Parts, context: Context) {
  const { config, zone, clock, state } = context;
  const startedAt = clock.now();
  const sessions = new Map(accounts.map(({ id, upstream }) => [id, upstream.session]));
  /** Faults of the daemon itself, such as a port that is taken. */
  const ownReasons: Reason[] = [];
  const meters = () => accounts.flatMap((account) => account.meters ?? []);

  function reasons(): Reason[] {
    const { troubles } = poller;
    /** Signed in again, though the poll that follows has not come to its end. */
    const isOver = ({ account, fault }: Trouble) => {
      const wasRefused = fault instanceof Failure && fault.exitCode === EXIT.credentials;
      return wasRefused && sessions.get(account)?.status().state === 'ok';
    };
    const isTold = (account: string, { code }: Failure) =>
      troubles.some((trouble) => trouble.account === account && safeWords(trouble.fault).code === code);
    const refusals = [...sessions].flatMap(([account, { fault }]) =>
      // What a refresh between two polls met, unless the last poll met the same.
      fault === null || isTold(account, fault) ? [] : [{ ...safeWords(fault), account }],
    );
    const withoutRefresh = [...sessions].filter(([, session]) => session.lacksRefreshToken);
    return [
      ...ownReasons,
      ...(state.fault === null ? [] : [safeWords(state.fault)]),
      ...troubles
        .filter((trouble) => !isOver(trouble))
        .map(({ account, fault }) => ({ ...safeWords(fault), account })),
      ...refusals,
      ...withoutRefresh.map(([account]) => ({ ...NO_REFRESH_TOKEN, account })),
      ...(statistics?.reasons() ?? []),
      ...meters().flatMap((meter) => meterReasons(meter, context)),
      ...accounts.flatMap((account) => duplicateReasons(account, accounts)),
      ...accounts.flatMap(({ extras }) => extras.reasons()),
    ];
  }

  function isSomeAccountWell(): boolean {
    const troubled = new Set(poller.troubles.map(({ account }) => account));
    return [...sessions].some(([id, session]) => !troubled.has(id) && !needsAPerson(session.status().state));
  }

  /** With many accounts only those that are not well, the worst first: each has its own topic too. */
  function authWorthNaming(): (readonly [string, AuthStatus])[] {
    const all = [...sessions].map(([id, session]) => [id, session.status()] as const);
    if (all.length <= MOST_NAMED) return all;
    const rank = ({ state }: AuthStatus) => (needsAPerson(state) ? 0 : 1);
    return all
      .filter(([, { state }]) => state !== 'ok')
      .sort(([, one], [, other]) => rank(one) - rank(other))
      .slice(0, MOST_NAMED);
  }

  function health(): HealthRecord {
    const records = accounts.map(({ history }) => history.record);
    const today = accounts.map(({ history }) => history.today());
    const progress = meters().flatMap((meter) => {
      const read = meter.progress();
      return read === null ? [] : [{ account: meter.account, meter: meter.name, ...read }];
    });
    return {
      isSomeAccountWell: isSomeAccountWell(),
      auth: Object.fromEntries(authWorthNaming()),
      reasons: atMost(reasons()),
      progress: progress.slice(0, MOST_NAMED),
      statistics: statistics?.status() ?? null,
      lastPollAt: newest(records.map(({ lastPollAt }) => lastPollAt)),
      lastSuccessAt: newest(records.map(({ lastSuccessAt }) => lastSuccessAt)),
      nextPollAt: schedule.nextPollAt(),
      pollNowAt: poller.refusal()?.until ?? null,
      failuresInARow: Math.max(0, ...poller.troubles.map(({ failuresInARow }) => failuresInARow)),
      requestsToday: today.reduce((sum, { requests }) => sum + requests, 0),
      loginsToday: today.reduce((sum, { logins }) => sum + logins, 0),
    };
  }

  return {
    ownReasons,
    health,
    bridge: (): BridgeView => ({
      startedAt,
      schedule: accounts.length > 0 ? config.usage.schedule : null,
      zone,
      health: health(),
      meters: meters()
        .filter(({ isComplete }) => isComplete)
        .map(({ account, name, friendlyName, property, store: { readingCloses } }) => ({
          meter: name,
          friendlyName,
          account,
          identifiers: property.meterIdentifiers,
          readingCloses,
        })),
    }),
    /** All meters are known and complete: whatever else was announced once is gone for good. */
    isComplete: (): boolean => !accounts.some(isIncomplete),
  };
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

/** The owner of these topics; the others are accounts, whose ids are never empty. */
export const BRIDGE = '';

export interface BridgeParts {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly topics: Topics;
  /** `null` where no device is announced. */
  readonly discovery: DiscoveryOptions | null;
}

export function composeBridge({ bridgeStatus, constituencies, topics, discovery }: BridgeParts): Retained[] {
  const view = bridgeStatus.bridge();
  const document = discovery && bridgeDocument(discovery);
  const online = stateMessage(topics, 'online');
  return [
    { topic: online.topic, write: () => online },
    ...(document ? [{ topic: document.topic, document }] : []),
    ...[
      infoMessage(topics, view),
      healthMessage(topics, view.health, view.zone),
      ...(constituencies?.messages() ?? []),
    ].map((message) => ({ topic: message.topic, sources: [message], write: () => message })),
  ];
}
