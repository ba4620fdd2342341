// What every part of the daemon works with, and what the parts tell one another.
import { EventEmitter } from 'node:events';
import type { AccountOutcome } from '../accounts/account.ts';
import type { AccountContext } from '../accounts/context.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Message } from '../mqtt/message.ts';

export interface Context extends AccountContext {
  readonly signals: Signals;
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
