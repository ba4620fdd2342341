// Refusals of a broker as Failures, in words with what to do: of a connection, a message, a subscription; and why a connection has ended.
import { codeOf, EXIT, Failure, IN_A_CONTAINER, type Retry } from '../foundation/failure.ts';
import type { Subscription } from './message.ts';
import {
  BAD_LOGIN,
  BROKER_LOG,
  FIRST_REFUSAL,
  NO_ANSWER,
  NOT_AUTHORIZED,
  PACKET_TOO_LARGE,
  type Reason,
  reasonOf,
  UNSUPPORTED_VERSION,
} from './reasonCodes.ts';

export class BrokerFailure extends Failure {
  constructor(code: string, message: string, hint = BROKER_LOG, retry: Retry = 'soon', cause?: unknown) {
    super(code, message, { exit: EXIT.broker, retry, hint, cause });
  }
}

/** The broker was reached, and has said why it takes no connection. */
export class ConnectRefused extends BrokerFailure {
  readonly reasonCode: number | undefined;

  /** `caution`: a sentence on an odd password. */
  constructor({ what, hint, code }: Reason, caution: string | null) {
    // Brokers say "not authorized" of a wrong password, too.
    const isLogin = code === BAD_LOGIN || code === NOT_AUTHORIZED;
    const message = isLogin
      ? 'The broker refused the user name or password.'
      : `The broker refused the connection: ${what}.`;
    super('broker_refused', message, caution === null ? hint : `${hint} ${caution}`);
    this.reasonCode = code;
  }
}

export class SpeaksNoMqtt5 extends BrokerFailure {
  constructor() {
    super(
      'broker_speaks_no_mqtt5',
      'The broker does not take MQTT 5.',
      'Set mqtt.protocol to auto.',
      'never',
    );
  }
}

const WRONG_PLACE =
  "Check that mqtt.url has the broker's port, and mqtts where it wants TLS; the broker's log may tell more.";
const NOT_REACHED = `Check mqtt.url (a port with TLS, mostly 8883, wants mqtts://), and that the broker runs. ${IN_A_CONTAINER}`;

/** It takes the connection, and does not answer to CONNECT: it may just start, or not know the version. */
export class BrokerSilent extends BrokerFailure {
  constructor(fault: Error | undefined) {
    const message = 'What is at mqtt.url takes the connection and gives no answer.';
    super('broker_unreachable', message, WRONG_PLACE, 'soon', fault);
  }
}

/** `answer`: the code of the CONNACK; `undefined`: none came. `fault`: the last error before the connection was closed. */
export function whyNotConnected(
  answer: number | undefined,
  fault: Error | undefined,
  version: 4 | 5,
  caution: string | null = null,
): Failure {
  if (answer) {
    const reason = reasonOf(answer);
    const isOlder = version === 5 && reason.code === UNSUPPORTED_VERSION;
    return isOlder ? new SpeaksNoMqtt5() : new ConnectRefused(reason, caution);
  }
  // These are words of mqtt.js.
  if (fault?.message.startsWith('connack timeout') ?? true) return new BrokerSilent(fault);
  const unreachable = (message: string, hint: string) =>
    new BrokerFailure('broker_unreachable', message, hint, 'soon', fault);
  const what = whatBroke(fault);
  // The network and TLS have codes for what goes wrong there; whatever else goes wrong was said by what has been reached.
  if (codeOf(fault) !== null) return unreachable(`The broker cannot be reached (${what}).`, NOT_REACHED);
  return unreachable(`What is at mqtt.url does not answer as a broker does (${what}).`, WRONG_PLACE);
}

const LONGEST_WORDS = 80;

/** The code of an error, or the beginning of its message. */
function whatBroke(fault: Error | undefined): string {
  if (fault === undefined) return 'closed by the broker';
  return codeOf(fault) ?? fault.message.slice(0, LONGEST_WORDS);
}

/**
 * Why a connection has ended. `farewell`: the reason code of a DISCONNECT, which tells more than the socket error that follows. `fault`:
 * the last error before the connection was closed.
 */
export const endOf = (farewell: number, fault: Error | undefined): Reason =>
  farewell < FIRST_REFUSAL ? { what: whatBroke(fault) } : reasonOf(farewell);

/** The broker has said why it ended the connection, and another one may end so, too. `null`: that is not so. */
export function connectionCut({ code, about, what, hint }: Reason): Failure | null {
  if (code === undefined || about === 'moment') return null;
  return new BrokerFailure('broker_cut', `The broker has ended the connection: ${what}.`, hint);
}

export const notAcknowledged = ({ what, hint }: Reason): Failure =>
  new BrokerFailure('not_acknowledged', `The broker has not acknowledged what was sent (${what}).`, hint);

/** The broker's own reason is added if it has told one. */
function endsConnection(when: string, otherwise: string, { code, what, hint }: Reason): Reason {
  const verb = what === NO_ANSWER ? 'gives no answer' : 'ends the connection';
  const words = `it ${verb} when that is ${when}`;
  return code === undefined ? { what: words, hint: otherwise } : { what: `${words}: ${what}`, hint };
}

const RIGHT_TO_WRITE = 'Give its user the right to write there.';
const WRITE_OR_SIZE = "The broker's log may tell why: the right to write there, or a limit of size.";

/** An answer about one message: the connection stays. To send it again is of no use, unless its `retry` is `later`. */
export function publishRefused(topic: string, { what, hint, code, about }: Reason): Failure {
  const isFinal = code === undefined || about === 'message';
  const message = `The broker refuses ${topic}: ${what}.`;
  return new BrokerFailure('publish_refused', message, hint, isFinal ? 'never' : 'later');
}

/** `code`: of a PUBACK. */
export const notTaken = (code: number): Reason =>
  code === NOT_AUTHORIZED ? { what: 'not authorized', hint: RIGHT_TO_WRITE } : reasonOf(code);

export const tooLarge = (limit: number): Reason => ({
  what: `larger than the ${limit} bytes that it takes`,
  hint: reasonOf(PACKET_TOO_LARGE).hint,
});

export const endedOver = (end: Reason): Reason => endsConnection('sent', WRITE_OR_SIZE, end);

const RIGHT_TO_READ = 'Give its user the right to read there (to subscribe).';

/** The broker does not let us hear a topic: everything else goes on. */
export class SubscribeRefused extends BrokerFailure {
  readonly filter: string;

  constructor({ filter, lost }: Subscription, { what, hint }: Reason) {
    const loss = lost === undefined ? '' : ` Lost with it: ${lost}.`;
    const message = `The broker refuses the subscription to ${filter}: ${what}.${loss}`;
    super('subscribe_refused', message, hint, 'later');
    this.filter = filter;
  }

  /** `code`: of a SUBACK; MQTT 3.1.1 has only one. */
  static byCode(subscription: Subscription, code: number, version: 4 | 5): SubscribeRefused {
    const what = version === 4 ? 'it does not say why' : 'not authorized';
    const isRight = version === 4 || code === NOT_AUTHORIZED;
    return new SubscribeRefused(subscription, isRight ? { what, hint: RIGHT_TO_READ } : reasonOf(code));
  }

  static byEnd(subscription: Subscription, end: Reason): SubscribeRefused {
    return new SubscribeRefused(subscription, endsConnection('asked for', RIGHT_TO_READ, end));
  }
}
