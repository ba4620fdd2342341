// The reason codes of a broker: what each says in words, what to do about it, and what it is about.

/** The reasons for which a broker refuses or ends something. */
export interface Reason {
  /** A few words that continue "The broker refused the connection:". */
  readonly what: string;
  /** A sentence for the person at home. */
  readonly hint?: string | undefined;
  /** The code of MQTT 5, where the broker has said one. */
  readonly code?: number;
  readonly about?: About | undefined;
}

/**
 * `moment`: the next connection cures it, and now and then a healthy broker says so too. `connection`: not one thing that was sent.
 * `message`: sending the same again is of no use.
 */
type About = 'moment' | 'connection' | 'message';

/** The end that we make of a connection on which the broker is silent. */
export const NO_ANSWER = 'no answer in time';

export const ACCEPTED = 0;
/** Lower codes say that something is granted, and how. */
export const FIRST_REFUSAL = 0x80;
export const UNSUPPORTED_VERSION = 0x84;
export const BAD_LOGIN = 0x86;
export const NOT_AUTHORIZED = 0x87;
export const PACKET_TOO_LARGE = 0x95;
export const RETAIN_NOT_SUPPORTED = 0x9a;
export const QOS_NOT_SUPPORTED = 0x9b;
export const NO_SHARED_SUBSCRIPTIONS = 0x9e;
export const NO_WILDCARDS = 0xa2;

export const BROKER_LOG = "The broker's log may tell why.";
const REPORT = "Please report it, with the broker's name and version and what its log says.";
const BY_ITSELF = 'heat2mqtt connects again by itself.';

/** Each code from 0x80 on that MQTT 5 lets a broker send. */
const ROWS: Readonly<Record<number, readonly [what: string, hint: string, about?: About]>> = {
  128: ['an error that it does not name', BROKER_LOG],
  129: ['it found a packet malformed', `Try mqtt.protocol: "3.1.1". ${REPORT}`],
  130: ['it found the protocol broken', `Try mqtt.protocol: "3.1.1". ${REPORT}`],
  131: ['a rule of its own does not allow it', "The broker's log or its manual tells which rule that is."],
  132: ['it does not know this version of MQTT', 'Set mqtt.protocol to auto.'],
  133: [
    'it does not take the client id',
    'Let the broker take client ids that begin with heat2mqtt_, of up to 40 characters.',
  ],
  134: ['bad user name or password', 'Check mqtt.username and mqtt.password.'],
  135: [
    'not authorized',
    'Check mqtt.username and mqtt.password, and that the broker lets this user connect.',
  ],
  136: [
    'the server is unavailable',
    `${BY_ITSELF} If it goes on, look whether the broker itself is well.`,
    'connection',
  ],
  137: [
    'the server is busy',
    `${BY_ITSELF} If it goes on, the broker needs more room or fewer clients.`,
    'connection',
  ],
  138: [
    'this client is banned',
    "Lift the ban at the broker (of the user, the client id or the address); the broker's log tells what it was for.",
  ],
  139: ['the server shuts down', BY_ITSELF, 'moment'],
  140: [
    'it wants another way to log in',
    'Let the broker take a user name and a password, or a client certificate (mqtt.cert_file).',
  ],
  141: [
    'it has heard nothing for longer than the keep-alive time',
    'Look at the network between the two, and whether this machine is overloaded.',
    'connection',
  ],
  142: [
    'another client has taken over the client id',
    'Look for a second heat2mqtt that runs with a copy of this state directory: another client may use the same client id.',
    'connection',
  ],
  143: ['it does not take the topic filter', 'Choose another mqtt.base_topic.'],
  144: [
    'it does not take the topic',
    "Choose another mqtt.base_topic, or let the broker's rules for topics allow this one.",
    'message',
  ],
  145: ['a packet identifier is in use', REPORT],
  146: ['a packet identifier is not known', REPORT],
  147: ['more messages at once than its Receive Maximum', REPORT, 'connection'],
  148: ['a topic alias is invalid', REPORT],
  149: ['the packet is too large', 'Raise its limit for packets (max_packet_size in Mosquitto).', 'message'],
  150: [
    'too many messages in a short time',
    "Raise the broker's limit of messages a second for this client.",
    'connection',
  ],
  151: [
    'a quota is exceeded',
    "Raise the broker's quota for this client (connections, messages or bytes), or wait until it begins anew.",
  ],
  152: [
    'somebody has ended it at the broker',
    `${BY_ITSELF} If it goes on, ask who looks after the broker.`,
    'moment',
  ],
  153: ['it does not take the format of the payload', 'Let the broker take JSON and plain text.', 'message'],
  154: ['it does not retain messages', 'Switch retained messages on at the broker.'],
  155: ['it does not take this quality of service', 'Let the broker take QoS 1.'],
  156: [
    'another server is to be used for now',
    "Put that server's address into mqtt.url; who looks after the broker knows it.",
    'connection',
  ],
  157: [
    'the server has moved',
    'Put its new address into mqtt.url; who looks after the broker knows it.',
    'connection',
  ],
  158: [
    'it does not share subscriptions',
    'Switch shared subscriptions on at the broker: the processes of a fleet divide requests by one.',
  ],
  159: [
    'too many connections in a short time',
    `${BY_ITSELF} If it goes on, raise the broker's limit of connections a second.`,
    'connection',
  ],
  160: [
    'it lets no connection last for longer',
    `${BY_ITSELF} The broker's limit of how long a client stays connected can be raised.`,
    'moment',
  ],
  161: ['it does not take subscription identifiers', REPORT],
  162: ['it does not take wildcards in subscriptions', 'Switch wildcard subscriptions on at the broker.'],
};

/** The return codes of a CONNACK of MQTT 3.1.1, by the reason code that says the same. */
const AS_REASON_CODE: Readonly<Record<number, number>> = { 1: 132, 2: 133, 3: 136, 4: 134, 5: 135 };

/** `answer`: the code of either version, as it was sent, and so it is named. */
export function reasonOf(answer: number): Reason {
  const code = AS_REASON_CODE[answer] ?? answer;
  const [what, hint, about] = ROWS[code] ?? ['for a reason of its own', BROKER_LOG];
  return { what: `${what} (reason code ${answer})`, hint, code, about };
}
