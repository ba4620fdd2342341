// Why a connection to the broker failed, told from the last error of the attempt, with advice.
import { EXIT, Failure } from '../foundation/failure.ts';

/** The broker cannot be reached, refuses the login, or cannot be trusted. */
export class BrokerUnreachable extends Failure {
  readonly code: 'broker_unreachable' | 'broker_refused' | 'broker_not_trusted' | 'broker_speaks_no_mqtt5';
  readonly exitCode = EXIT.broker;

  constructor(code: BrokerUnreachable['code'], message: string, hint: string, cause: unknown) {
    super(message, { retry: 'soon', hint, cause });
    this.code = code;
  }
}

const CODES_OF_WRONG_VERSION = new Set<unknown>([1, 132]);
const CODES_OF_REFUSAL = new Set<unknown>([4, 5, 134, 135]);

const UNKNOWN_AUTHORITY = {
  what: 'is signed by an unknown authority',
  hint: 'Put the certificate of the authority that signed it into mqtt.ca_file.',
};
const OTHER_TIME = 'Renew it; if it should be valid, check the clock of this machine.';
/** What is wrong with the broker's certificate, by the code of the TLS error. */
const CERTIFICATE_FAULTS: Readonly<Record<string, { what: string; hint: string }>> = {
  CERT_HAS_EXPIRED: { what: 'has expired', hint: OTHER_TIME },
  CERT_NOT_YET_VALID: { what: 'is not valid yet', hint: OTHER_TIME },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'is for another name',
    hint: 'Put a name that the certificate has into mqtt.url, or renew the certificate with this name.',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
};

/** `fault`: the last error before the connection was closed. */
export function refusal(fault: Error | undefined, version: 5 | 4): BrokerUnreachable {
  const code: unknown = fault && 'code' in fault ? fault.code : undefined;
  const silent = fault === undefined || fault.message.startsWith('connack timeout');
  if (version === 5 && (silent || CODES_OF_WRONG_VERSION.has(code))) {
    return new BrokerUnreachable('broker_speaks_no_mqtt5', 'The broker does not take MQTT 5.', '', fault);
  }
  if (CODES_OF_REFUSAL.has(code)) {
    return new BrokerUnreachable(
      'broker_refused',
      'The broker refused the user name or password.',
      'Check mqtt.username and mqtt.password.',
      fault,
    );
  }
  const certificate = CERTIFICATE_FAULTS[String(code)];
  if (certificate) {
    const { what, hint } = certificate;
    const message = `The certificate of the broker ${what} (${String(code)}).`;
    return new BrokerUnreachable('broker_not_trusted', message, hint, fault);
  }
  const why = fault ? whatBroke(fault) : 'closed without a reason';
  return new BrokerUnreachable(
    'broker_unreachable',
    `The broker cannot be reached (${why}).`,
    'Check mqtt.url, that the broker runs, and for mqtts its certificate and mqtt.ca_file.',
    fault,
  );
}

/** The code of an error, or the beginning of its message. */
export const whatBroke = (fault: Error): string =>
  'code' in fault && fault.code !== undefined ? String(fault.code) : fault.message.slice(0, 80);
