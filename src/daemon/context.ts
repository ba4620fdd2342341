// The context of every part of the daemon, and the events between the parts.
import { EventEmitter } from 'node:events';
import type { Account } from '../accounts/account.ts';
import type { AccountContext } from '../accounts/context.ts';
import type { Meter } from '../accounts/meter.ts';
import type { Link } from '../mqtt/link.ts';
import type { Message } from '../mqtt/message.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';

export interface Context extends AccountContext {
  /** They have the order of the configuration. */
  readonly accounts: readonly Account[];
  readonly link: Link;
  readonly state: StateDirectory;
  readonly signals: Signals;
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
  /** No poll is under way any more, and none is due. */
  pollEnded: [];
  /** A refresh has ended in a login that only a person can help. */
  personNeeded: [account: string];
}> {}

/** All meters that are known. */
export const metersOf = ({ accounts }: Pick<Context, 'accounts'>): Meter[] =>
  accounts.flatMap(({ meters }) => meters ?? []);
