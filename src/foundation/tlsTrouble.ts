// The reason why an encrypted connection did not come about, in words and with what to do: the same for issuer, API and
// broker.
import { type Failure, type FailureOptions, failure } from './failure.ts';

/** The place to which a connection goes, in keys of the configuration. */
export interface TlsPlace extends Pick<FailureOptions, 'exit' | 'retry'> {
  /** The other side in words, such as `the broker`. */
  readonly who: string;
  /** The code is this with `_not_trusted` or `_unreachable` behind it. */
  readonly code: string;
  /** The key of the address. */
  readonly address: string;
  /** The key of the file with authorities, and whether it is given. `null`: there is no such key. */
  readonly authorities: {
    readonly key: string;
    readonly isGiven: boolean;
    /** The file's authorities count alone, and not besides the public ones. */
    readonly alone: boolean;
  } | null;
  /** The keys of a certificate of our own. `null`: there are none. */
  readonly ownCertificate: string | null;
  /** It follows the advice. */
  readonly assurance?: string;
}

/** A text has `{address}` for the key of the address, and `{today}` for the day by the clock of this machine. */
type Hint = string | ((place: TlsPlace) => string);
/** The words go on after "The certificate of the broker", or after "The broker". */
type TroubleRow = readonly [words: string, hint: Hint];

const SHOWN_BY = '`openssl s_client -showcerts -connect HOST:PORT` shows what it is signed by';

function unknownAuthority({ authorities }: TlsPlace): string {
  if (authorities === null)
    return 'Name a file with the certificate of the authority that signed it in the environment variable NODE_EXTRA_CA_CERTS.';
  const { key, isGiven, alone } = authorities;
  if (!isGiven)
    return `Put the certificate of the authority that signed it (PEM) into a file, and name that in ${key}.`;
  const remove = alone ? `, or remove ${key} if it is a public authority` : '';
  return `The file in ${key} was read, and holds other authorities: add the certificate of this one${remove}. ${SHOWN_BY}.`;
}

/** The two cannot be told apart: of a chain that is not whole only its first certificate is seen. */
function incompleteChain(place: TlsPlace): string {
  const { authorities } = place;
  const atTheServer =
    'the server has to show its whole chain (such as fullchain.pem), and not its own certificate alone';
  if (authorities === null) return `Either ${atTheServer}, or: ${unknownAuthority(place)}`;
  const { key, isGiven } = authorities;
  if (isGiven)
    return `The file in ${key} was read, and holds neither the authority that signed it nor the intermediate one: ${atTheServer}; or add what is missing to that file. ${SHOWN_BY}.`;
  return `If the authority is one of your own, name a file with its certificate (PEM) in ${key}. If it is a public one, ${atTheServer}.`;
}

function onlyIntermediate({ authorities }: TlsPlace): string {
  if (authorities?.isGiven)
    return `The file in ${authorities.key} holds an intermediate certificate: add the one that signed that, up to the root, which has signed itself.`;
  return 'Add the certificate of the root, which has signed itself, to the authorities that this machine trusts.';
}

function otherKey({ authorities }: TlsPlace): string {
  if (authorities?.isGiven)
    return `The authority in the file of ${authorities.key} has been made anew since: put its present certificate there, in place of the old one.`;
  return 'It has to be issued anew.';
}

const ANEW = 'It has to be issued anew, for a server, by an authority that may do so.';
const UNKNOWN: TroubleRow = ['is signed by an unknown authority', unknownAuthority];

/** The keys are Node's codes for what OpenSSL finds wrong with a certificate. */
const CERTIFICATE_FAULTS: Readonly<Record<string, TroubleRow>> = {
  CERT_HAS_EXPIRED: [
    'has expired',
    'It has to be renewed, or that of the authority that signed it. First look at the clock of this machine, which says {today}: if that is wrong, set it (NTP).',
  ],
  CERT_NOT_YET_VALID: [
    'is not valid yet',
    'Most likely the clock of this machine is wrong, which says {today}: set it (NTP). If it is right, the certificate has to be issued anew.',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'is for another name',
    'Write a name that the certificate has into {address}, or have it issued for the one that is there.',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is signed by an unknown authority, itself', unknownAuthority],
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'comes without the intermediate certificate, or is signed by an unknown authority',
    incompleteChain,
  ],
  UNABLE_TO_GET_ISSUER_CERT: ['is signed by an authority whose own authority is unknown', onlyIntermediate],
  CERT_SIGNATURE_FAILURE: ['is signed by another key than that of its authority', otherKey],
  CERT_REVOKED: ['has been revoked', ANEW],
  INVALID_CA: ['is signed by a certificate that is not one of an authority', ANEW],
  INVALID_PURPOSE: ['is not one for a server', ANEW],
};
const UNVERIFIABLE: TroubleRow = ['cannot be verified', ANEW];
const OTHER_CERTIFICATE_FAULTS =
  /^(PATH_LENGTH_EXCEEDED|CERT_(CHAIN_TOO_LONG|UNTRUSTED|REJECTED)|UNABLE_TO_DEC(RYPT_CERT_SIGNATURE|ODE_ISSUER_PUBLIC_KEY)|ERROR_IN_CERT_NOT_(BEFORE|AFTER)_FIELD|HOSTNAME_MISMATCH|UNSPECIFIED)$/;

/** Alerts of TLS have their numbers from here on among the reasons of OpenSSL. */
const ALERT = 1000;
/** The reasons are numbers in the message of an error of OpenSSL: their names there differ between versions. */
const PROTOCOL_FAULTS: readonly (readonly [reasons: readonly number[], ...row: TroubleRow])[] = [
  [
    [294],
    'ended the connection before it was encrypted',
    'If this lasts, check the port in {address}: most likely it is one without TLS. Its own log may tell.',
  ],
  [
    [156, 198, 252, 267, 443],
    'speaks no TLS on this port',
    'Check the port in {address}, and its scheme: what answers there is not encrypted, or something else.',
  ],
  [
    [191, 258, 266, 396, ALERT + 70],
    'speaks only versions of TLS that are too old to be safe',
    'TLS 1.2 or newer has to be switched on there.',
  ],
  [
    [193, 338, ALERT + 40, ALERT + 71],
    'and this program find no encryption that both know',
    ({ ownCertificate }) =>
      `Its TLS may be too old, or it wants a certificate of ours${ownCertificate === null ? ', of which this program has none' : ` (${ownCertificate})`}. Its own log may tell.`,
  ],
  [
    [42, 43, 44, 45, 46, 48, 49, 116].map((alert) => ALERT + alert),
    'wants a certificate of ours, or does not accept it',
    ({ ownCertificate }) =>
      ownCertificate === null
        ? 'This program has none to show: the server has to do without.'
        : `Check ${ownCertificate}: whether its authority is known there, and whether it is valid still.`,
  ],
  [
    [394, 397, 398, 399],
    'uses a key that is too short to be safe',
    'It has to get a longer one, and a certificate for it.',
  ],
  [[ALERT + 112], 'knows no server of this name', 'Check the host name in {address}.'],
];
const FAILED: TroubleRow = [
  'and this program could not agree on an encrypted connection',
  'Its own log may tell why.',
];
const EARLY_END = '0A000126';

const OF_OPENSSL = /\berror:(0A[0-9A-F]{6}):SSL routines:/i;
const REASON_BITS = 0x7fffff;
/** Node's own words, for want of a code. */
const WITHOUT_TLS = 'before secure TLS connection was established';

/** An error of a connection that is not encrypted yet. A server that knows no TLS may reset it, which by itself says nothing about TLS. */
export function beforeTls(err: Error): Error {
  const { code } = err as NodeJS.ErrnoException;
  if (code !== 'ECONNRESET' || err.message.includes(WITHOUT_TLS)) return err;
  return Object.assign(new Error(`reset ${WITHOUT_TLS}`), { code });
}

/**
 * `now`: milliseconds since the Unix epoch. Nothing of the certificate is repeated. `null`: the error is about something else than
 * TLS.
 */
export function tlsTrouble(err: unknown, place: TlsPlace, now: number): Failure | null {
  if (!(err instanceof Error)) return null;
  const { who, exit, retry, address, assurance = '' } = place;
  const { code = '' } = err as NodeJS.ErrnoException;
  const describe = (kind: string, subject: string, [words, hint]: TroubleRow, mark: string) =>
    failure(`${place.code}_${kind}`, `${subject} ${words} (${mark}).`, {
      exit,
      retry,
      hint: (typeof hint === 'string' ? hint : hint(place))
        .replace('{address}', address)
        .replace('{today}', new Date(now).toISOString().slice(0, 10))
        .concat(assurance),
      cause: err,
    });
  const fault = faultOfCertificate(code);
  if (fault) return describe('not_trusted', `The certificate of ${who}`, fault, code);
  const [, number] = OF_OPENSSL.exec(err.message) ?? [];
  if (number === undefined && !err.message.includes(WITHOUT_TLS)) return null;
  const reason = Number.parseInt(number ?? EARLY_END, 16) & REASON_BITS;
  const [, ...row] = PROTOCOL_FAULTS.find(([reasons]) => reasons.includes(reason)) ?? [[], ...FAILED];
  const subject = who.replace(/^./, (first) => first.toUpperCase());
  return describe('unreachable', subject, row, number === undefined ? code : `TLS error ${number}`);
}

function faultOfCertificate(code: string): TroubleRow | undefined {
  if (OTHER_CERTIFICATE_FAULTS.test(code)) return UNVERIFIABLE;
  return Object.hasOwn(CERTIFICATE_FAULTS, code) ? CERTIFICATE_FAULTS[code] : undefined;
}
