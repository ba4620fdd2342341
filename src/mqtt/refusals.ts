// Refusals of a broker as Failures: of a connection, a message, a subscription.
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import type { Subscription } from './message.ts';
import {
  asReasonCode,
  BAD_LOGIN,
  BROKER_LOG,
  type BrokerReason,
  type End,
  isPassing,
  NO_ANSWER,
  NO_SHARED_SUBSCRIPTIONS,
  NO_WILDCARDS,
  NOT_AUTHORIZED,
  PACKET_TOO_LARGE,
  PAYLOAD_FORMAT_INVALID,
  reasonOf,
  TOPIC_NAME_INVALID,
} from './reasonCodes.ts';

/** The broker was reached, and has said why it takes no connection. */
export class ConnectRefused extends Failure {
  /** The code of MQTT 5, also where 3.1.1 says the same. */
  readonly reasonCode: number;

  constructor(code: number) {
    const reasonCode = asReasonCode(code);
    const { what, hint } = reasonOf(code);
    // Brokers say "not authorized" of a wrong password, too.
    const isLogin = reasonCode === BAD_LOGIN || reasonCode === NOT_AUTHORIZED;
    const message = isLogin
      ? 'The broker refused the user name or password.'
      : `The broker refused the connection: ${what}.`;
    super('broker_refused', message, { exit: EXIT.broker, retry: 'soon', hint });
    this.reasonCode = reasonCode;
  }
}

/** With the broker's own reason, where it has told one. */
function endsConnection(when: string, otherwise: string, { code, why, hint }: End): BrokerReason {
  const verb = why === NO_ANSWER ? 'gives no answer' : 'ends the connection';
  const words = `it ${verb} when that is ${when}`;
  if (code === undefined) return { what: words, hint: otherwise };
  return { what: `${words}: ${why}`, hint: hint ?? otherwise };
}

const FINAL_REFUSALS = new Set([
  NOT_AUTHORIZED,
  TOPIC_NAME_INVALID,
  PACKET_TOO_LARGE,
  PAYLOAD_FORMAT_INVALID,
]);

/** An answer about one message: the connection stays. */
export class PublishRefused extends Failure {
  /** Sending the same message again is of no use. */
  readonly isFinal: boolean;

  constructor(topic: string, { what, hint }: BrokerReason, isFinal = true) {
    super('publish_refused', `The broker refuses ${topic}: ${what}.`, {
      exit: EXIT.broker,
      retry: isFinal ? 'never' : 'later',
      hint,
    });
    this.isFinal = isFinal;
  }

  static byCode(topic: string, code: number): PublishRefused {
    if (code === NOT_AUTHORIZED)
      return new PublishRefused(topic, {
        what: 'not authorized',
        hint: 'Give its user the right to write there.',
      });
    return new PublishRefused(topic, reasonOf(code), FINAL_REFUSALS.has(code));
  }

  static tooLarge(topic: string, limit: number): PublishRefused {
    return new PublishRefused(topic, {
      what: `larger than the ${limit} bytes that it takes`,
      hint: reasonOf(PACKET_TOO_LARGE).hint,
    });
  }

  static byEnd(topic: string, end: End): PublishRefused {
    const log = "The broker's log may tell why: the right to write there, or a limit of size.";
    return new PublishRefused(topic, endsConnection('sent', log, end));
  }
}

const RIGHT_TO_READ = 'Give its user the right to read there (to subscribe).';

/** The broker does not let us hear a topic: everything else goes on. */
export class SubscribeRefused extends Failure {
  readonly filter: string;

  constructor({ filter, lost }: Subscription, { what, hint }: BrokerReason) {
    const loss = lost === undefined ? '' : ` Lost with it: ${lost}.`;
    super('subscribe_refused', `The broker refuses the subscription to ${filter}: ${what}.${loss}`, {
      exit: EXIT.broker,
      retry: 'later',
      hint,
    });
    this.filter = filter;
  }

  /** `code`: of a SUBACK; MQTT 3.1.1 has only one. */
  static byCode(subscription: Subscription, code: number, version: 4 | 5): SubscribeRefused {
    if (version === 4)
      return new SubscribeRefused(subscription, { what: 'it does not say why', hint: RIGHT_TO_READ });
    if (code === NOT_AUTHORIZED)
      return new SubscribeRefused(subscription, { what: 'not authorized', hint: RIGHT_TO_READ });
    return new SubscribeRefused(subscription, reasonOf(code));
  }

  static byEnd(subscription: Subscription, end: End): SubscribeRefused {
    return new SubscribeRefused(subscription, endsConnection('asked for', RIGHT_TO_READ, end));
  }
}

/** The reason code that such a subscription would meet; `null`: it may be sent. */
export function refusedUnasked(
  filter: string,
  limits: { readonly takesWildcards: boolean; readonly sharesSubscriptions: boolean },
): number | null {
  if (!limits.sharesSubscriptions && filter.startsWith('$share/')) return NO_SHARED_SUBSCRIPTIONS;
  if (!limits.takesWildcards && /[+#]/.test(filter)) return NO_WILDCARDS;
  return null;
}

/** `why`: in a few words. */
export const notAcknowledged = (why: string, hint = BROKER_LOG): Failure =>
  failure('not_acknowledged', `The broker has not acknowledged what was sent (${why}).`, {
    exit: EXIT.broker,
    retry: 'soon',
    hint,
  });

/** The broker has said why it ended the connection, and another one may end so, too. `null`: that is not so. */
export function connectionCut({ code, why, hint = BROKER_LOG }: End): Failure | null {
  if (code === undefined || isPassing(code)) return null;
  return failure('broker_cut', `The broker has ended the connection: ${why}.`, {
    exit: EXIT.broker,
    retry: 'soon',
    hint,
  });
}
