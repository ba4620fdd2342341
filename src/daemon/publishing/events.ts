// What is worth an event: new and corrected days, another tariff, late data, unusual use, failed polls and recoveries, a
// login that is needed, new invoices, a request that is skipped.

import type { Account, AccountOutcome } from '../../accounts/account.ts';
import { needsAPerson } from '../../domain/health.ts';
import type { UseJudgement } from '../../domain/insight/use/unusualUse.ts';
import type { Invoice } from '../../domain/invoice.ts';
import { safeWords } from '../../foundation/failure.ts';
import { RateLimit } from '../../foundation/limits.ts';
import type { Message } from '../../mqtt/message.ts';
import { billMessage } from '../../publication/account.ts';
import { changeMessage, lateMessage, unusualUseMessage } from '../../publication/meter.ts';
import type { MeterView } from '../../publication/views.ts';
import type { Context, SkippedRequest, Trouble } from '../context.ts';
import type { Snapshot } from './snapshot.ts';

const WHY_SKIPPED: Readonly<Record<SkippedRequest['reason'], string>> = {
  cool_down: 'the provider was asked less than five minutes ago',
  retry_after: 'the service has asked for a pause',
  rate_limit: 'too many questions were asked within five minutes',
};
type UseOfMeter = Pick<MeterView, 'meter' | 'use'>;

const MINUTE_MS = 60_000;
const MOST_SKIPPED_IN_A_MINUTE = 10;

export class Events {
  readonly #accounts: ReadonlyMap<string, Account>;
  readonly #snapshot: Snapshot;
  readonly #context: Context;
  readonly #wasLate = new Map<string, boolean>();
  /** Of each meter, when its use was looked at last. */
  readonly #judged = new Map<string, UseJudgement>();
  /** Accounts of which a refresh has told that they need a person, and no poll has told that this is over. */
  readonly #needed = new Set<string>();

  /** A flood of requests must not become a flood of events. */
  readonly #skippedLimit: RateLimit;

  constructor(accounts: readonly Account[], snapshot: Snapshot, context: Context) {
    this.#accounts = new Map(accounts.map((account) => [account.id, account]));
    this.#snapshot = snapshot;
    this.#context = context;
    this.#skippedLimit = new RateLimit(context.clock, MOST_SKIPPED_IN_A_MINUTE, MINUTE_MS);
  }

  /** A refresh between two polls has ended in a login that only a person can help. */
  ofRefresh(account: string, fault: unknown): Message[] {
    if (!this.#needsAPerson(account)) return [];
    this.#needed.add(account);
    return [this.#trouble(account, fault)];
  }

  /** `before`: what troubled the account before this poll. */
  ofPoll({ account, events, fault }: AccountOutcome, before: Trouble | undefined): Message[] {
    const { topics } = this.#context;
    const at = this.#now();
    const changes = events.map(({ meter, change }) => changeMessage(topics, meter, change, at));
    if (fault !== null) return [...changes, this.#trouble(account, fault)];
    if (!this.#needed.delete(account) && !before) return changes;
    const message = 'Readings arrive again.';
    const recovered = { event_type: 'recovered', at, code: 'recovered', message, account } as const;
    return [...changes, topics.message('bridge/event', [], recovered)];
  }

  /** Meters whose data has become late since the last call; the first call only takes note. */
  ofLateness(accounts: readonly string[]): Message[] {
    const { topics, zone } = this.#context;
    return this.#snapshot.readings(accounts).flatMap(({ meter, late, readingAt }) => {
      const becameLate = late === true && this.#wasLate.get(meter) === false;
      this.#wasLate.set(meter, late === true);
      if (!becameLate) return [];
      return [lateMessage(topics, meter, readingAt === null ? null : zone.iso(readingAt), this.#now())];
    });
  }

  /** Takes note of what was known when the meters were published for the first time: that is no news. */
  noteUse(meters: readonly UseOfMeter[]): void {
    for (const { meter, use } of meters) if (use && !this.#judged.has(meter)) this.#judged.set(meter, use);
  }

  /**
   * Meters whose use has become unusual by a day that was not judged at the last call. A day's arrival does not tell:
   * its weather may be known later.
   */
  ofUnusualUse(meters: readonly UseOfMeter[]): Message[] {
    this.noteUse(meters);
    return meters.flatMap(({ meter, use }) => {
      const before = this.#judged.get(meter);
      if (!use || !before) return [];
      this.#judged.set(meter, use.newest.day < before.newest.day ? { ...use, newest: before.newest } : use);
      const { unusual } = use;
      const isNew = unusual !== null && unusual.since > before.newest.day;
      if (!isNew || unusual.direction === before.unusual?.direction) return [];
      return [unusualUseMessage(this.#context.topics, meter, use.newest, unusual, this.#now())];
    });
  }

  /** `invoices`: oldest first. */
  ofInvoices(account: string, invoices: readonly Invoice[]): Message[] {
    const { topics } = this.#context;
    return this.#snapshot
      .accounts([account])
      .flatMap((view) => invoices.map((invoice) => billMessage(topics, view, invoice, this.#now())));
  }

  ofSkipped({ request, reason, until }: SkippedRequest): Message[] {
    if (!this.#skippedLimit.tryStart()) return [];
    const { topics, zone } = this.#context;
    // Rounded up to the minute.
    const time = zone.iso(until + MINUTE_MS - 1).slice(11, 16);
    const message = `Not done now, because ${WHY_SKIPPED[reason]}. It is possible again at ${time}.`;
    const told = { event_type: 'request_skipped', at: this.#now(), code: reason, message, request } as const;
    return [topics.message('bridge/event', [], { ...told, next_at: zone.iso(until) })];
  }

  #trouble(account: string, fault: unknown): Message {
    const { code, message } = safeWords(fault);
    const event_type = this.#needsAPerson(account) ? 'auth_needed' : 'poll_failed';
    const told = { event_type, at: this.#now(), code, message, account } as const;
    return this.#context.topics.message('bridge/event', [], told);
  }

  #needsAPerson(account: string): boolean {
    const session = this.#accounts.get(account)?.upstream.session.status();
    return session !== undefined && needsAPerson(session.state);
  }

  #now(): string {
    const { zone, clock } = this.#context;
    return zone.iso(clock.now());
  }
}
