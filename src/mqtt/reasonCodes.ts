// The reason codes of a broker in words, and what to do about each: one row for each code that MQTT 5 lets a broker send.

export interface BrokerReason {
  /** A few words that continue "The broker refused the connection:". */
  readonly what: string;
  /** A sentence for the person at home. */
  readonly hint: string;
}

/** How a connection has ended. */
export interface End {
  /** In a few words. */
  readonly why: string;
  readonly hint?: string;
  /** MQTT 5: the reason code, where the broker has said one. */
  readonly code?: number;
}

/** The end that we make of a connection on which the broker is silent. */
export const NO_ANSWER = 'no answer in time';

interface ReasonRow extends BrokerReason {
  /** The next connection cures it. */
  readonly passes?: true;
}

export const ACCEPTED = 0;
/** Lower codes say that something is granted, and how. */
export const FIRST_REFUSAL = 0x80;
export const UNSUPPORTED_VERSION = 0x84;
export const BAD_LOGIN = 0x86;
export const NOT_AUTHORIZED = 0x87;
export const TOPIC_NAME_INVALID = 0x90;
export const PACKET_TOO_LARGE = 0x95;
export const PAYLOAD_FORMAT_INVALID = 0x99;
export const RETAIN_NOT_SUPPORTED = 0x9a;
export const QOS_NOT_SUPPORTED = 0x9b;
export const NO_SHARED_SUBSCRIPTIONS = 0x9e;
export const NO_WILDCARDS = 0xa2;

export const BROKER_LOG = "The broker's log may tell why.";
const REPORT = "Please report it, with the broker's name and version and what its log says.";
const BY_ITSELF = 'heat2mqtt connects again by itself.';

/** The codes from 0x80 on: a lower one is no refusal. */
const ROWS: Readonly<Record<number, ReasonRow>> = {
  128: { what: 'an error that it does not name', hint: BROKER_LOG },
  129: { what: 'it found a packet malformed', hint: `Try mqtt.protocol: "3.1.1". ${REPORT}` },
  130: { what: 'it found the protocol broken', hint: `Try mqtt.protocol: "3.1.1". ${REPORT}` },
  131: {
    what: 'a rule of its own does not allow it',
    hint: "The broker's log or its manual tells which rule that is.",
  },
  132: { what: 'it does not know this version of MQTT', hint: 'Set mqtt.protocol to auto.' },
  133: {
    what: 'it does not take the client id',
    hint: 'Let the broker take client ids that begin with heat2mqtt_, of up to 40 characters.',
  },
  134: { what: 'bad user name or password', hint: 'Check mqtt.username and mqtt.password.' },
  135: {
    what: 'not authorized',
    hint: 'Check mqtt.username and mqtt.password, and that the broker lets this user connect.',
  },
  136: {
    what: 'the server is unavailable',
    hint: `${BY_ITSELF} If it goes on, look whether the broker itself is well.`,
  },
  137: {
    what: 'the server is busy',
    hint: `${BY_ITSELF} If it goes on, the broker needs more room or fewer clients.`,
  },
  138: {
    what: 'this client is banned',
    hint: "Lift the ban at the broker (of the user, the client id or the address); the broker's log tells what it was for.",
  },
  139: { what: 'the server shuts down', hint: BY_ITSELF, passes: true },
  140: {
    what: 'it wants another way to log in',
    hint: 'Let the broker take a user name and a password, or a client certificate (mqtt.cert_file).',
  },
  141: {
    what: 'it has heard nothing for longer than the keep-alive time',
    hint: 'Look at the network between the two, and whether this machine is overloaded.',
  },
  142: {
    what: 'another client has taken over the client id',
    hint: 'Look for a second heat2mqtt that runs with a copy of this state directory: another client may use the same client id.',
  },
  143: { what: 'it does not take the topic filter', hint: 'Choose another mqtt.base_topic.' },
  144: {
    what: 'it does not take the topic',
    hint: "Choose another mqtt.base_topic, or let the broker's rules for topics allow this one.",
  },
  145: { what: 'a packet identifier is in use', hint: REPORT },
  146: { what: 'a packet identifier is not known', hint: REPORT },
  147: { what: 'more messages at once than its Receive Maximum', hint: REPORT },
  148: { what: 'a topic alias is invalid', hint: REPORT },
  149: {
    what: 'the packet is too large',
    hint: 'Raise its limit for packets (max_packet_size in Mosquitto).',
  },
  150: {
    what: 'too many messages in a short time',
    hint: "Raise the broker's limit of messages a second for this client.",
  },
  151: {
    what: 'a quota is exceeded',
    hint: "Raise the broker's quota for this client (connections, messages or bytes), or wait until it begins anew.",
  },
  152: {
    what: 'somebody has ended it at the broker',
    hint: `${BY_ITSELF} If it goes on, ask who looks after the broker.`,
    passes: true,
  },
  153: {
    what: 'it does not take the format of the payload',
    hint: 'Let the broker take JSON and plain text.',
  },
  154: { what: 'it does not retain messages', hint: 'Switch retained messages on at the broker.' },
  155: { what: 'it does not take this quality of service', hint: 'Let the broker take QoS 1.' },
  156: {
    what: 'another server is to be used for now',
    hint: "Put that server's address into mqtt.url; who looks after the broker knows it.",
  },
  157: {
    what: 'the server has moved',
    hint: 'Put its new address into mqtt.url; who looks after the broker knows it.',
  },
  158: {
    what: 'it does not share subscriptions',
    hint: 'Switch shared subscriptions on at the broker: the processes of a fleet divide requests by one.',
  },
  159: {
    what: 'too many connections in a short time',
    hint: `${BY_ITSELF} If it goes on, raise the broker's limit of connections a second.`,
  },
  160: {
    what: 'it lets no connection last for longer',
    hint: `${BY_ITSELF} The broker's limit of how long a client stays connected can be raised.`,
    passes: true,
  },
  161: { what: 'it does not take subscription identifiers', hint: REPORT },
  162: {
    what: 'it does not take wildcards in subscriptions',
    hint: 'Switch wildcard subscriptions on at the broker.',
  },
};

/** The return codes of a CONNACK of MQTT 3.1.1, by the reason code that says the same. */
const AS_REASON_CODE: Readonly<Record<number, number>> = { 1: 132, 2: 133, 3: 136, 4: 134, 5: 135 };

/** The code of MQTT 5 for what a CONNACK of either version says. */
export const asReasonCode = (code: number): number => AS_REASON_CODE[code] ?? code;

/** `code`: as it was sent, and so it is named. */
export function reasonOf(code: number): BrokerReason {
  const row = ROWS[asReasonCode(code)];
  const { what, hint } = row ?? { what: 'for a reason of its own', hint: BROKER_LOG };
  return { what: `${what} (reason code ${code})`, hint };
}

/** Now and then it ends a connection on a healthy broker too. */
export const isPassing = (code: number): boolean => code < FIRST_REFUSAL || ROWS[code]?.passes === true;

/** Unavailable, busy, shutting down, silent, taken over, too fast, ended by hand, another server, too many connections, too old. */
const ABOUT_CONNECTION = new Set([136, 137, 139, 141, 142, 147, 150, 152, 156, 157, 159, 160]);

/** A connection that ends so has not ended over one thing that was sent. */
export const isAboutConnection = (code: number): boolean =>
  code < FIRST_REFUSAL || ABOUT_CONNECTION.has(code);
