// Refusals of a broker as Failures, in words with what to do: of a connection, a message, a subscription; and why a connection has ended.
import { codeOf, EXIT, Failure, type Retry } from '../foundation/failure.ts';
import type { Subscription } from './message.ts';
import {
  ACCEPTED,
  asReasonCode,
  BAD_LOGIN,
  BROKER_LOG,
  type BrokerReason,
  type End,
  isPassing,
  NO_ANSWER,
  NOT_AUTHORIZED,
  PACKET_TOO_LARGE,
  PAYLOAD_FORMAT_INVALID,
  reasonOf,
  TOPIC_NAME_INVALID,
  UNSUPPORTED_VERSION,
} from './reasonCodes.ts';

export class BrokerFailure extends Failure {
  constructor(code: string, message: string, hint: string, retry: Retry = 'soon', cause?: unknown) {
    super(code, message, { exit: EXIT.broker, retry, hint, cause });
  }
}

/** The broker was reached, and has said why it takes no connection. */
export class ConnectRefused extends BrokerFailure {
  /** The code of MQTT 5, also where 3.1.1 says the same. */
  readonly reasonCode: number;

  /** `caution`: a sentence on an odd password. */
  constructor(answer: number, caution: string | null) {
    const reasonCode = asReasonCode(answer);
    const { what, hint } = reasonOf(answer);
    // Brokers say "not authorized" of a wrong password, too.
    const isLogin = reasonCode === BAD_LOGIN || reasonCode === NOT_AUTHORIZED;
    const message = isLogin
      ? 'The broker refused the user name or password.'
      : `The broker refused the connection: ${what}.`;
    super('broker_refused', message, caution === null ? hint : `${hint} ${caution}`);
    this.reasonCode = reasonCode;
  }
}

export const SPEAKS_NO_MQTT5 = 'broker_speaks_no_mqtt5';
const WRONG_PLACE =
  "Check that mqtt.url has the broker's port, and mqtts where it wants TLS; the broker's log may tell more.";
const NOT_REACHED =
  'Check mqtt.url (a port with TLS, mostly 8883, wants mqtts://), and that the broker runs.';

/** `answer`: the code of the CONNACK; `undefined`: none came. `fault`: the last error before the connection was closed. */
export function whyNotConnected(
  answer: number | undefined,
  fault: Error | undefined,
  version: 4 | 5,
  caution: string | null,
): Failure {
  // In words of mqtt.js.
  const isSilent = answer === undefined && (fault?.message.startsWith('connack timeout') ?? true);
  if (version === 5 && (isSilent || answer === UNSUPPORTED_VERSION || answer === 1))
    return new BrokerFailure(
      SPEAKS_NO_MQTT5,
      'The broker does not take MQTT 5.',
      'Set mqtt.protocol to auto.',
    );
  if (answer !== undefined && answer !== ACCEPTED) return new ConnectRefused(answer, caution);
  const unreachable = (message: string, hint: string) =>
    new BrokerFailure('broker_unreachable', message, hint, 'soon', fault);
  if (isSilent)
    return unreachable('What is at mqtt.url takes the connection and gives no answer.', WRONG_PLACE);
  const why = whatBroke(fault);
  // The network and TLS have codes for what goes wrong there; whatever else goes wrong was said by what has been reached.
  if (codeOf(fault) !== null) return unreachable(`The broker cannot be reached (${why}).`, NOT_REACHED);
  return unreachable(`What is at mqtt.url does not answer as a broker does (${why}).`, WRONG_PLACE);
}

export const LONGEST_WORDS = 80;

/** The code of an error, or the beginning of its message. */
function whatBroke(fault: Error | undefined): string {
  if (fault === undefined) return 'closed by the broker';
  // mqtt.js counts its own complaints as brokers count theirs.
  if ('code' in fault && typeof fault.code === 'number')
    return `what it sent is not understood: ${fault.code}`;
  return codeOf(fault) ?? fault.message.slice(0, LONGEST_WORDS);
}

/** `farewell`: the reason code of a DISCONNECT. `fault`: the last error before the connection was closed. */
export function endOf(farewell: number | undefined, fault: Error | undefined): End {
  if (farewell === undefined || farewell === ACCEPTED) return { why: whatBroke(fault) };
  const { what, hint } = reasonOf(farewell);
  return { why: what, hint, code: farewell };
}

/** The broker has said why it ended the connection, and another one may end so, too. `null`: that is not so. */
export function connectionCut({ code, why, hint = BROKER_LOG }: End): Failure | null {
  if (code === undefined || isPassing(code)) return null;
  return new BrokerFailure('broker_cut', `The broker has ended the connection: ${why}.`, hint);
}

/** `why`: in a few words. */
export const notAcknowledged = ({ why, hint = BROKER_LOG }: End): Failure =>
  new BrokerFailure('not_acknowledged', `The broker has not acknowledged what was sent (${why}).`, hint);

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
const RIGHT_TO_WRITE = 'Give its user the right to write there.';
const WRITE_OR_SIZE = "The broker's log may tell why: the right to write there, or a limit of size.";

/** An answer about one message: the connection stays. */
export class PublishRefused extends BrokerFailure {
  /** Sending the same message again is of no use. */
  readonly isFinal: boolean;

  constructor(topic: string, { what, hint }: BrokerReason, isFinal = true) {
    super('publish_refused', `The broker refuses ${topic}: ${what}.`, hint, isFinal ? 'never' : 'later');
    this.isFinal = isFinal;
  }

  static byCode(topic: string, code: number): PublishRefused {
    const reason =
      code === NOT_AUTHORIZED ? { what: 'not authorized', hint: RIGHT_TO_WRITE } : reasonOf(code);
    return new PublishRefused(topic, reason, FINAL_REFUSALS.has(code));
  }

  static tooLarge(topic: string, limit: number): PublishRefused {
    const { hint } = reasonOf(PACKET_TOO_LARGE);
    return new PublishRefused(topic, { what: `larger than the ${limit} bytes that it takes`, hint });
  }

  static byEnd(topic: string, end: End): PublishRefused {
    return new PublishRefused(topic, endsConnection('sent', WRITE_OR_SIZE, end));
  }
}

const RIGHT_TO_READ = 'Give its user the right to read there (to subscribe).';

/** The broker does not let us hear a topic: everything else goes on. */
export class SubscribeRefused extends BrokerFailure {
  readonly filter: string;

  constructor({ filter, lost }: Subscription, { what, hint }: BrokerReason) {
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

  static byEnd(subscription: Subscription, end: End): SubscribeRefused {
    return new SubscribeRefused(subscription, endsConnection('asked for', RIGHT_TO_READ, end));
  }
}
