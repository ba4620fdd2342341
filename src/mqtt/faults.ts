// Why a connection to a broker was not made, or has ended: in words, with what to do.
import { EXIT, type Failure, failure } from '../foundation/failure.ts';
import { ACCEPTED, asReasonCode, type End, reasonOf, UNSUPPORTED_VERSION } from './reasonCodes.ts';
import { ConnectRefused } from './refusals.ts';

/** `farewell`: the reason code of a DISCONNECT. `fault`: the last error before the connection was closed. */
export function endOf(farewell: number | undefined, fault: Error | undefined): End {
  if (farewell === undefined || farewell === ACCEPTED)
    return { why: fault ? whatBroke(fault) : 'closed by the broker' };
  const { what, hint } = reasonOf(farewell);
  return { why: what, hint, code: farewell };
}

export const SPEAKS_NO_MQTT5 = 'broker_speaks_no_mqtt5';

/** `answer`: the code of the CONNACK; `undefined`: none came. `fault`: the last error before the connection was closed. */
export function whyNotConnected(
  answer: number | undefined,
  fault: Error | undefined,
  version: 4 | 5,
): Failure {
  const refused = (code: string, message: string, hint: string) =>
    failure(code, message, { exit: EXIT.broker, retry: 'soon', hint, cause: fault });
  const isSilent = answer === undefined && (fault === undefined || isTimeout(fault));
  if (version === 5 && (isSilent || asReasonCode(answer ?? ACCEPTED) === UNSUPPORTED_VERSION))
    return refused(SPEAKS_NO_MQTT5, 'The broker does not take MQTT 5.', 'Set mqtt.protocol to auto.');
  if (answer !== undefined && answer !== ACCEPTED) return new ConnectRefused(answer);
  if (isSilent)
    return refused(
      'broker_unreachable',
      'What is at mqtt.url takes the connection and gives no answer.',
      WRONG_PLACE,
    );
  const why = fault ? whatBroke(fault) : 'closed';
  // The network and TLS have codes for what goes wrong there; whatever else goes wrong was said by what has been reached.
  if (typeof codeOf(fault) !== 'string')
    return refused(
      'broker_unreachable',
      `What is at mqtt.url does not answer as a broker does (${why}).`,
      WRONG_PLACE,
    );
  return refused(
    'broker_unreachable',
    `The broker cannot be reached (${why}).`,
    'Check mqtt.url (a port with TLS, mostly 8883, wants mqtts://), and that the broker runs.',
  );
}

const WRONG_PLACE =
  "Check that mqtt.url has the broker's port, and mqtts where it wants TLS; the broker's log may tell more.";

/** No CONNACK has come. */
const isTimeout = (fault: Error): boolean => fault.message.startsWith('connack timeout');

const codeOf = (fault: Error | undefined): unknown => (fault && 'code' in fault ? fault.code : undefined);

/** The code of an error, or the beginning of its message. */
function whatBroke(fault: Error): string {
  const code = codeOf(fault);
  // mqtt.js counts its own complaints as brokers count theirs.
  if (typeof code === 'number') return `what it sent is not understood: ${code}`;
  return code === undefined ? fault.message.slice(0, 80) : String(code);
}
