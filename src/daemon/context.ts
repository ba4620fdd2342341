// What every part of the daemon works with, and what the parts tell one another.
import { EventEmitter } from 'node:events';
import type { Config } from '../config/schema.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Change } from '../domain/ledger.ts';
import type { Zone } from '../domain/period.ts';
import type { TariffChange } from '../domain/tariff/tariff.ts';
import type { Clock } from '../foundation/clock.ts';
import type { ConcurrencyLimit } from '../foundation/limits.ts';
import type { Log, Scrubber } from '../foundation/log.ts';
import type { Message } from '../mqtt/message.ts';
import type { Topics } from '../publication/topics.ts';
import type { StateStore } from '../store/stateStore.ts';
import type { Counters } from './monitor/metrics.ts';
import type { OutdoorTemperatures } from './publishing/outdoorTemperatures.ts';

export interface Context {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
  /** Draws from [0, 1). */
  readonly random: () => number;
  readonly state: StateStore;
  readonly zone: Zone;
  readonly topics: Topics;
  readonly counters: Counters;
  readonly signals: Signals;
  readonly outdoor: OutdoorTemperatures;
  /** `usage.concurrency`: shared by everything that asks the provider. */
  readonly limit: ConcurrencyLimit;
}

/** A change of a meter that is worth an event. */
export interface MeterEvent {
  readonly meter: string;
  readonly change: Change | TariffChange;
}

/** What came of the poll of one account. Properties that could be read are read, whatever happens to the others. */
export interface AccountOutcome {
  readonly account: string;
  readonly events: readonly MeterEvent[];
  /** The first thing that went wrong, or `null`. */
  readonly fault: unknown;
}

/** An account whose last poll failed. */
export interface Trouble {
  readonly account: string;
  readonly fault: unknown;
  readonly failuresInARow: number;
  /** Epoch milliseconds of the next try; `null` when waiting would not help. */
  readonly retryAt: number | null;
}

/** A request that was understood, and is not done now. */
export interface SkippedRequest {
  readonly request: string;
  readonly reason: 'cool_down' | 'retry_after' | 'rate_limit';
  /** From when on it would be done; epoch milliseconds. */
  readonly until: number;
}

export class Signals extends EventEmitter<{
  /** The session, the meters or the extras of an account may have changed. */
  accountChanged: [account: string];
  /** Something that is told on the topics of the bridge may have changed. */
  bridgeChanged: [];
  /** The connection to the broker has come or gone. */
  brokerChanged: [];
  /** Something is published that is not retained. */
  passing: [message: Message];
  /** Invoices that were not known before, oldest first. */
  newInvoices: [account: string, invoices: readonly Invoice[]];
  /** One account has been polled; `before`: what troubled it until now. */
  polled: [outcome: AccountOutcome, before: Trouble | undefined];
  requestSkipped: [skipped: SkippedRequest];
  /** All accounts of a poll have been asked. */
  pollEnded: [];
}> {}
