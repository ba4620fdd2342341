// What is worth an event: new and corrected days, another tariff, data grown late, polls that fail or recover, a login that is needed.
import { needsAPerson } from '../../domain/health.ts';
import type { Invoice } from '../../domain/invoice.ts';
import type { Zone } from '../../domain/period.ts';
import type { Clock } from '../../foundation/clock.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { Message } from '../../mqtt/message.ts';
import { billMessage } from '../../publication/account.ts';
import { bridgeEventMessage } from '../../publication/bridge.ts';
import { changeMessage, lateMessage, tariffMessage } from '../../publication/meter.ts';
import type { Topics } from '../../publication/topics.ts';
import type { AccountOutcome, AccountRuntime } from '../accounts/account.ts';
import type { Trouble } from '../polling/poll.ts';
import type { Truth } from './snapshot.ts';

export interface EventsParts {
  readonly accounts: readonly AccountRuntime[];
  readonly truth: Truth;
  readonly topics: Topics;
  readonly zone: Zone;
  readonly clock: Clock;
}

export interface Events {
  /** `before`: what troubled the account before this poll. */
  ofPoll(outcome: AccountOutcome, before: Trouble | undefined): Message[];
  /** Meters whose data has become late since the last call; the first call only takes note. */
  ofLateness(only: readonly string[]): Message[];
  /** New invoices of an account, oldest first. */
  ofBills(account: string, bills: readonly Invoice[]): Message[];
}

export function openEvents({ accounts, truth, topics, zone, clock }: EventsParts): Events {
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const lateBefore = new Map<string, boolean>();

  return {
    ofPoll({ account, events, fault }, before) {
      const at = zone.iso(clock.now());
      const changes = events.map(({ meter, change }) =>
        change.kind === 'tariff_changed'
          ? tariffMessage(topics, meter, change, at)
          : changeMessage(topics, meter, change, at),
      );
      if (fault === null) {
        const words = {
          type: 'recovered',
          code: 'recovered',
          message: 'The account is read again.',
        } as const;
        return before ? [...changes, bridgeEventMessage(topics, { ...words, account }, at)] : changes;
      }
      const { code, message } = safeWords(fault);
      const session = byId.get(account)?.upstream.session.status();
      const type = session && needsAPerson(session.state) ? 'auth_needed' : 'poll_failed';
      return [...changes, bridgeEventMessage(topics, { type, code, message, account }, at)];
    },
    ofLateness(only) {
      const at = zone.iso(clock.now());
      return truth.readings(only).flatMap(({ meter, late, readingAt }) => {
        const became = late === true && lateBefore.get(meter) === false;
        lateBefore.set(meter, late === true);
        return became
          ? [lateMessage(topics, meter, readingAt === null ? null : zone.iso(readingAt), at)]
          : [];
      });
    },
    ofBills(account, bills) {
      const at = zone.iso(clock.now());
      const currency = byId.get(account)?.extras.currency ?? '';
      return bills.map((invoice) => billMessage(topics, { account, invoice, currency, zone, at }));
    },
  };
}
