// Why an encrypted connection did not come about, in words and with what to do: the same for issuer, API and broker.

/** Where a connection goes, in keys of the configuration. */
export interface TlsPlace {
  /** The key of the address. */
  readonly address: string;
  /** The key of the file with authorities, and whether it is given. `null`: there is no such key. */
  readonly authorities: {
    readonly key: string;
    readonly isGiven: boolean;
    /** Those of the file count alone, and not besides the public ones. */
    readonly alone: boolean;
  } | null;
  /** The keys of a certificate of our own. `null`: there are none. */
  readonly ownCertificate: string | null;
}

export interface TlsTrouble {
  /** The certificate of the other side is not trusted; otherwise it does not speak TLS as we do. */
  readonly isDistrust: boolean;
  readonly message: string;
  readonly hint: string;
}

/** What is known of one kind of trouble. */
interface Row {
  /** Goes on after "The certificate of the broker". */
  readonly what: string;
  readonly hint: (place: TlsPlace, clock: string) => string;
}

const SHOWN_BY = '`openssl s_client -showcerts -connect HOST:PORT` shows what it is signed by';

/** What to do about an authority that is not known. */
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

const HINT_OF_TIME = (_: TlsPlace, clock: string) =>
  `It has to be renewed, or that of the authority that signed it. First look at the clock of this machine, which says ${clock}: if that is wrong, set it (NTP).`;
const NOT_YET = (_: TlsPlace, clock: string) =>
  `Most likely the clock of this machine is wrong, which says ${clock}: set it (NTP). If it is right, the certificate has to be issued anew.`;
const ANEW = () => 'It has to be issued anew, for a server, by an authority that may do so.';

const UNKNOWN_AUTHORITY: Row = { what: 'is signed by an unknown authority', hint: unknownAuthority };
const UNVERIFIABLE: Row = { what: 'cannot be verified', hint: ANEW };

/** By the code that Node gives to what OpenSSL finds wrong with a certificate. */
const CERTIFICATE_FAULTS: ReadonlyMap<unknown, Row> = new Map<string, Row>([
  ['CERT_HAS_EXPIRED', { what: 'has expired', hint: HINT_OF_TIME }],
  ['CERT_NOT_YET_VALID', { what: 'is not valid yet', hint: NOT_YET }],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    {
      what: 'is for another name',
      hint: ({ address }) =>
        `Write a name that the certificate has into ${address}, or have it issued for the one that is there.`,
    },
  ],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    { ...UNKNOWN_AUTHORITY, what: 'is signed by an unknown authority, itself' },
  ],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNKNOWN_AUTHORITY],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    {
      what: 'comes without the intermediate certificate, or is signed by an unknown authority',
      hint: incompleteChain,
    },
  ],
  [
    'UNABLE_TO_GET_ISSUER_CERT',
    { what: 'is signed by an authority whose own authority is unknown', hint: onlyIntermediate },
  ],
  ['CERT_SIGNATURE_FAILURE', { what: 'is signed by another key than that of its authority', hint: otherKey }],
  ['CERT_REVOKED', { what: 'has been revoked', hint: ANEW }],
  ['INVALID_CA', { what: 'is signed by a certificate that is not one of an authority', hint: ANEW }],
  ['INVALID_PURPOSE', { what: 'is not one for a server', hint: ANEW }],
  ['PATH_LENGTH_EXCEEDED', UNVERIFIABLE],
  ['CERT_CHAIN_TOO_LONG', UNVERIFIABLE],
  ['CERT_UNTRUSTED', UNVERIFIABLE],
  ['CERT_REJECTED', UNVERIFIABLE],
  ['UNABLE_TO_DECRYPT_CERT_SIGNATURE', UNVERIFIABLE],
  ['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', UNVERIFIABLE],
  ['ERROR_IN_CERT_NOT_BEFORE_FIELD', UNVERIFIABLE],
  ['ERROR_IN_CERT_NOT_AFTER_FIELD', UNVERIFIABLE],
  ['HOSTNAME_MISMATCH', UNVERIFIABLE],
  ['UNSPECIFIED', UNVERIFIABLE],
]);

/** Alerts of TLS have their numbers from here on among the reasons of OpenSSL. */
const ALERT = 1000;
const NO_TLS = {
  what: 'speaks no TLS on this port',
  hint: ({ address }: TlsPlace) =>
    `Check the port in ${address}, and its scheme: what answers there is not encrypted, or something else.`,
};
const TOO_OLD = {
  what: 'speaks only versions of TLS that are too old to be safe',
  hint: () => 'TLS 1.2 or newer has to be switched on there.',
};
const NOTHING_IN_COMMON: Row = {
  what: 'and this program find no encryption that both know',
  hint: ({ ownCertificate }) =>
    `Its TLS may be too old, or it wants a certificate of ours${ownCertificate === null ? ', of which this program has none' : ` (${ownCertificate})`}. Its own log may tell.`,
};
const OWN_CERTIFICATE: Row = {
  what: 'wants a certificate of ours, or does not accept it',
  hint: ({ ownCertificate }) =>
    ownCertificate === null
      ? 'This program has none to show: the server has to do without.'
      : `Check ${ownCertificate}: whether its authority is known there, and whether it is valid still.`,
};
const WEAK: Row = {
  what: 'uses a key that is too short to be safe',
  hint: () => 'It has to get a longer one, and a certificate for it.',
};

const EARLY_END = 294;
const ENDED_EARLY: Row = {
  what: 'ended the connection before it was encrypted',
  hint: ({ address }) =>
    `If this lasts, check the port in ${address}: most likely it is one without TLS. Its own log may tell.`,
};
/** By the reason in the message of an error of OpenSSL: its name there differs between versions, its number does not. */
const PROTOCOL_FAULTS: ReadonlyMap<number, Row> = new Map<number, Row>([
  [EARLY_END, ENDED_EARLY],
  ...[156, 198, 252, 267, 443].map((reason): [number, Row] => [reason, NO_TLS]),
  ...[191, 258, 266, 396, ALERT + 70].map((reason): [number, Row] => [reason, TOO_OLD]),
  ...[193, 338, ALERT + 40, ALERT + 71].map((reason): [number, Row] => [reason, NOTHING_IN_COMMON]),
  ...[42, 43, 44, 45, 46, 48, 49, 116].map((alert): [number, Row] => [ALERT + alert, OWN_CERTIFICATE]),
  ...[394, 397, 398, 399].map((reason): [number, Row] => [reason, WEAK]),
  [
    ALERT + 112,
    {
      what: 'knows no server of this name',
      hint: ({ address }) => `Check the host name in ${address}.`,
    },
  ],
]);
const FAILED: Row = {
  what: 'and this program could not agree on an encrypted connection',
  hint: () => 'Its own log may tell why.',
};

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
 * `who` is such as `the broker`; `now`: milliseconds since the Unix epoch. Nothing of the certificate is repeated. `null`: the
 * error is about something else than TLS.
 */
export function tlsTrouble(err: unknown, who: string, place: TlsPlace, now: number): TlsTrouble | null {
  if (!(err instanceof Error)) return null;
  const clock = new Date(now).toISOString().slice(0, 10);
  const { code } = err as NodeJS.ErrnoException;
  const row = CERTIFICATE_FAULTS.get(code);
  if (row !== undefined)
    return {
      isDistrust: true,
      message: `The certificate of ${who} ${row.what} (${code}).`,
      hint: row.hint(place, clock),
    };
  const [, number] = OF_OPENSSL.exec(err.message) ?? [];
  if (number === undefined && !err.message.includes(WITHOUT_TLS)) return null;
  const reason = number === undefined ? EARLY_END : Number.parseInt(number, 16) & REASON_BITS;
  const { what, hint } = PROTOCOL_FAULTS.get(reason) ?? FAILED;
  const capital = `${who.charAt(0).toUpperCase()}${who.slice(1)}`;
  return {
    isDistrust: false,
    message: `${capital} ${what} (${number === undefined ? code : `TLS error ${number}`}).`,
    hint: hint(place, clock),
  };
}
