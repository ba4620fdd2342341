// What is known of meters, accounts and health at this moment, as the messages are written from it.

import type { Account } from '../../accounts/account.ts';
import { InvoiceChecks } from '../../accounts/invoiceChecks.ts';
import type { Meter } from '../../accounts/meter.ts';
import { type AuthStatus, type HealthRecord, needsAPerson, type Reason } from '../../domain/health.ts';
import { newestOf } from '../../domain/invoice.ts';
import { seriesName } from '../../domain/reading.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import type { AccountView, BridgeView, MeterView } from '../../publication/views.ts';
import type { Context, Trouble } from '../context.ts';
import type { Poller } from '../polling/poller.ts';
import type { Schedule } from '../polling/schedule.ts';
import type { Statistics } from './statistics.ts';

// Above this, a list on bridge/health names no more: with thousands of accounts it would be megabytes at each change.
const MOST_NAMED = 50;

export class Snapshot {
  /** Faults of the daemon itself, such as a port that is taken. */
  readonly ownReasons: Reason[] = [];
  readonly #accounts: readonly Account[];
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #poller: Pick<Poller, 'troubles' | 'refusal'>;
  readonly #schedule: Pick<Schedule, 'nextPollAt'>;
  readonly #statistics: Statistics | null;
  readonly #context: Context;
  readonly #startedAt: number;
  readonly #checks: InvoiceChecks;

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
    this.#checks = new InvoiceChecks(context.zone);
  }

  /** Of meters whose history is complete. `ids`: of these accounts only. */
  meters(ids?: readonly string[]): MeterView[] {
    return this.#metersOf(ids).flatMap((meter) => meter.view() ?? []);
  }

  /** The newest reading of each of these meters. */
  readings(ids?: readonly string[]): Pick<MeterView, 'meter' | 'readingAt' | 'late'>[] {
    return this.#metersOf(ids).flatMap((meter) => meter.reading() ?? []);
  }

  accounts(ids?: readonly string[]): AccountView[] {
    const { zone, clock } = this.#context;
    const now = clock.now();
    return this.#among(ids).map((account) => {
      const { id, upstream, history, extras } = account;
      const { requests, logins } = history.today();
      const { balance, credit, invoices } = extras.known;
      return {
        account: id,
        auth: upstream.session.status(),
        zone,
        today: zone.dayAt(now),
        currency: extras.currency,
        balance: balance.found,
        credit: credit.found,
        invoices: invoices.found,
        newestInvoice: newestOf(invoices.found?.all ?? [], now),
        checks: this.#checks.of(account),
        nextBill: this.#checks.next(account, zone.dayAt(now)),
        requestsToday: requests,
        loginsToday: logins,
      };
    });
  }

  bridge(): BridgeView {
    const { config, zone } = this.#context;
    return {
      startedAt: this.#startedAt,
      schedule: this.#accounts.length > 0 ? config.usage.schedule : null,
      zone,
      health: this.health(),
      meters: this.#metersOf()
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
      progress: this.#metersOf()
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
    return this.#accounts.every(({ meters }) => meters?.every(({ ledger }) => ledger.complete) ?? false);
  }

  #among(ids?: readonly string[]): readonly Account[] {
    return ids?.flatMap((id) => this.#byId.get(id) ?? []) ?? this.#accounts;
  }

  #metersOf(ids?: readonly string[]): readonly Meter[] {
    return this.#among(ids).flatMap(({ meters }) => meters ?? []);
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
      ...(this.#statistics?.reasons() ?? []),
      ...this.#metersOf().flatMap((meter) => this.#reasonsOf(meter)),
      ...this.#accounts.flatMap((account) => duplicatesOf(account)),
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

  #reasonsOf(meter: Meter): Reason[] {
    const { zone, config } = this.#context;
    const about = { account: meter.account, meter: meter.name };
    const found: Reason[] = [];
    if (meter.ledger.quarantined.size > 0) {
      const days = [...meter.ledger.quarantined.keys()].sort().join(', ');
      found.push({
        code: 'implausible_reading',
        message: `The provider's amounts for ${days} are implausible and not counted yet.`,
        hint: 'They count once the provider reports the same amounts again.',
        ...about,
      });
    }
    if (meter.isContradicted) {
      const isSame = meter.store.readingCloses === 'same_day';
      const [taken, counted] = isSame
        ? ['the first hours', 'that day']
        : ['the second half', 'the day before'];
      const request = JSON.stringify({ from: meter.ledger.origin });
      found.push({
        code: 'reading_closes_doubtful',
        message: `Readings are taken in ${taken} of a day now, and counted for ${counted}: every day may be one day off.`,
        hint: `Send the request backfill with ${request}: the bridge then decides again and reads all days again. Or set usage.reading_closes.`,
        ...about,
      });
    }
    const reading = meter.reading();
    if (reading?.late && reading.readingAt !== null) {
      found.push({
        code: 'data_late',
        message: `The newest reading was taken ${zone.iso(reading.readingAt)}, more than ${config.usage.late_after_hours} hours ago.`,
        hint: 'The provider has nothing newer. Nothing is lost: late days fill in by themselves.',
        ...about,
      });
    }
    return found;
  }

  /** Signed in again, though the poll that follows has not come to its end. */
  #isOver({ account, fault }: Trouble): boolean {
    const wasRefused = fault instanceof Failure && fault.exitCode === EXIT.credentials;
    return wasRefused && this.#byId.get(account)?.upstream.session.status().state === 'ok';
  }

  /** Of many accounts only those that are not well, the worst first: each has its own topic too. */
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

function duplicatesOf(account: Account): Reason[] {
  return account.sharedMeters().map(({ account: owner, readBy, property }) => ({
    code: 'duplicate_meter',
    message: `The accounts ${owner} and ${account.id} have the same meter. It is read once, by ${readBy}.`,
    hint: 'Take one of the two out of the configuration. Until then the first one that is signed in reads the meter.',
    account: account.id,
    meter: seriesName(property),
  }));
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
