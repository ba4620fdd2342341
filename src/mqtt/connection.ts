// One connection to a broker, from CONNECT to its end, or why there is none. The only import of mqtt.js.
import { type IClientOptions, type IClientPublishOptions, type IConnackPacket, MqttClient } from 'mqtt';
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import { type ConcurrencyLimit, concurrencyLimit } from '../foundation/limits.ts';
import { Culprit, publicationOf, subscriptionTo } from './culprit.ts';
import { type BrokerLimits, limitsOf, refusedUnasked } from './limits.ts';
import type { Incoming, Message, Subscription } from './message.ts';
import { LARGEST_PACKET_BYTES, type PacketStream } from './packets.ts';
import { ACCEPTED, FIRST_REFUSAL, NO_ANSWER, type Reason } from './reasonCodes.ts';
import {
  endedOver,
  endOf,
  notAcknowledged,
  notTaken,
  publishRefused,
  SubscribeRefused,
  tooLarge,
  whyNotConnected,
} from './refusals.ts';
import { type BrokerTls, notEncrypted, streamBuilder } from './stream.ts';

/** MQTT 5, or 3.1.1 (which calls itself 4). */
export type ProtocolVersion = 5 | 4;

export interface BrokerAddress {
  readonly url: string;
  /** The versions that may be spoken: MQTT 5, if the broker takes it. */
  readonly versions: readonly ProtocolVersion[];
  readonly clientId: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** A sentence on an odd password, for the hint of a refusal. */
  readonly caution?: string | null | undefined;
  readonly tls: BrokerTls;
}

export interface ConnectOptions {
  readonly onMessage?: (incoming: Incoming) => void;
  readonly will?: Message;
  /** MQTT 5: the will waits so long for a connection that goes on with the session of this client id. */
  readonly willAfterSeconds?: number;
  /** It has judged the connections before this one. */
  readonly culprit?: Culprit;
}

const CONNECT_TIMEOUT_MS = 15_000;
const ACKNOWLEDGE_TIMEOUT_MS = 20_000;
/** A link may be so slow that it takes a kilobyte a second. */
const MS_FOR_A_BYTE = 1;
const KEEP_ALIVE_SECONDS = 30;
/** A publish of MQTT 5 has so much besides topic, payload and correlation data, rounded up. */
const PUBLISH_OVERHEAD_BYTES = 16;

/** `known`: its will keeps to these limits, and so does the connection. Rejects with why there is none. */
export async function connectOnce(
  version: ProtocolVersion,
  known: BrokerLimits,
  address: BrokerAddress,
  clock: Clock,
  { onMessage, culprit = new Culprit(), ...options }: ConnectOptions,
): Promise<Connection> {
  const { url, tls } = address;
  const client = new MqttClient(
    await streamBuilder(url, tls),
    clientOptions(version, known, address, options),
  );
  client.on('message', (topic, payload, { retain, properties }) => {
    const { responseTopic, correlationData } = properties ?? {};
    onMessage?.({ topic, payload, retained: retain, responseTopic, correlationData });
  });
  // A broker may ask for hours, after which alone a dead link would show. More pings than it asks for are allowed.
  client.once('connect', () =>
    client.keepaliveManager?.setKeepalive(Math.min(client.keepalive, KEEP_ALIVE_SECONDS)),
  );
  const closed = closingOf(client);
  const connack = await new Promise<IConnackPacket | null>((resolve) => {
    client.on('packetreceive', (packet) => {
      takeFirst(packet);
      if (packet.cmd === 'connack') resolve(packet);
    });
    void closed.then(() => resolve(null));
  });
  const answer = connack?.reasonCode ?? connack?.returnCode;
  if (connack && answer === ACCEPTED) {
    const limits = limitsOf(connack.properties, known);
    return new Connection(client, { closed, clock, version, limits, culprit });
  }
  const { fault } = await closed;
  client.end(true);
  throw notEncrypted(fault, tls, clock.now()) ?? whyNotConnected(answer, fault, version, address.caution);
}

/** mqtt.js makes a list of a property that comes twice, and fails over it. MQTT 5 forbids that, but not every broker looks. */
function takeFirst(packet: object): void {
  const { properties = {} } = packet as { readonly properties?: object };
  for (const [name, value] of Object.entries(properties))
    if (Array.isArray(value)) Object.assign(properties, { [name]: value[0] });
}

function clientOptions(
  version: ProtocolVersion,
  { maximumQoS, retainAvailable }: BrokerLimits,
  { clientId, username, password }: BrokerAddress,
  { will, willAfterSeconds = 0 }: ConnectOptions,
): IClientOptions {
  const isLasting = version === 5 && willAfterSeconds > 0;
  const options: IClientOptions = {
    clientId,
    protocolVersion: version,
    clean: !isLasting,
    keepalive: KEEP_ALIVE_SECONDS,
    // A buffer for each number up to 65,535, made at the first packet: 40 ms and 10 MB for nothing.
    writeCache: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // The link decides when to try again.
    reconnectPeriod: 0,
  };
  if (username !== undefined) options.username = username;
  if (password !== undefined) options.password = password;
  if (will)
    options.will = {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: maximumQoS === 0 ? 0 : 1,
      retain: will.retain && retainAvailable,
      ...(isLasting && { properties: { willDelayInterval: willAfterSeconds } }),
    };
  if (version === 5)
    options.properties = {
      maximumPacketSize: LARGEST_PACKET_BYTES,
      ...(isLasting && { sessionExpiryInterval: 2 * willAfterSeconds }),
    };
  return options;
}

interface Closing {
  /** The reason code of a DISCONNECT. */
  readonly farewell: number;
  /** The last error. */
  readonly fault: Error | undefined;
}

function closingOf(client: MqttClient): Promise<Closing> {
  let farewell = ACCEPTED;
  let fault: Error | undefined;
  client.on('disconnect', ({ reasonCode = ACCEPTED }) => {
    farewell = reasonCode;
    // Not every broker closes the socket, and what was sent from now on would be blamed for the end.
    client.stream.destroy();
  });
  client.on('error', (err) => {
    fault = err;
    client.end(true);
  });
  // mqtt.js keeps errors without a code to itself, such as an HTTP status in place of a WebSocket.
  client.stream.on('error', (err: Error) => {
    fault ??= err;
  });
  return new Promise((resolve) => {
    client.once('close', () => resolve({ farewell, fault }));
  });
}

/** The end of a connection. */
interface End extends Reason {
  /** The first thing that had no answer. */
  readonly unanswered: string | undefined;
  /** It is left out from now on. */
  readonly nextGetsFurther: boolean;
}

/** A packet that was sent and has no answer. */
interface Unanswered {
  /** The one that a culprit would have. */
  readonly name: string;
  readonly refuse: (end: Reason) => void;
}

interface ConnectionParts {
  readonly closed: Promise<Closing>;
  readonly clock: Clock;
  readonly version: ProtocolVersion;
  readonly limits: BrokerLimits;
  readonly culprit: Culprit;
}

/** Nothing is sent over it that is known to end it, or to be more than the broker has announced to take. */
export class Connection {
  readonly version: ProtocolVersion;
  readonly limits: BrokerLimits;
  /** Resolves when the connection is gone. */
  readonly ended: Promise<End>;
  readonly #gone = new AbortController();
  readonly #client: MqttClient;
  readonly #clock: Clock;
  readonly #culprit: Culprit;
  /** The broker's Receive Maximum: a place is free again with its answer only. */
  readonly #places: ConcurrencyLimit;
  /** Oldest first. */
  readonly #unanswered = new Set<Unanswered>();
  /** Bytes of publishes that have no answer. */
  #bytesUnderWay = 0;

  constructor(client: MqttClient, { closed, clock, version, limits, culprit }: ConnectionParts) {
    this.version = version;
    this.limits = limits;
    this.#client = client;
    this.#clock = clock;
    this.#culprit = culprit;
    this.#places = concurrencyLimit(culprit.isSought ? 1 : limits.receiveMaximum);
    this.ended = closed.then(({ farewell, fault }) => this.#judge(endOf(farewell, fault)));
  }

  #judge(reason: Reason): End {
    const [oldest] = this.#unanswered;
    for (const { refuse } of this.#unanswered) refuse(reason);
    const nextGetsFurther = this.#culprit.judge(oldest?.name, reason);
    this.#gone.abort();
    return { ...reason, unanswered: oldest?.name, nextGetsFurther };
  }

  /** Aborts when the connection has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** It has not ended, and nobody has closed it. */
  get isOpen(): boolean {
    return !this.#client.stream.destroyed;
  }

  /** The caller makes sure before what has not come counts as not there. Rejects with the reason why the connection has ended. */
  async mustBeOpen(): Promise<void> {
    if (!this.isOpen) throw notAcknowledged(await this.ended);
  }

  /** Bytes of retained messages so far: one that is long on its way shows by them. */
  get retainedBytes(): number {
    return (this.#client.stream as PacketStream).retainedBytes;
  }

  /** It has lasted, so that nothing has to be sent one at a time any more. */
  hurry(): void {
    this.#places.concurrency = this.limits.receiveMaximum;
  }

  /**
   * Resolves once the broker has acknowledged the message, or, where it acknowledges none, once it is written; or with why it is
   * refused. Rejects when no answer comes in time, which ends the connection, or it ends.
   */
  async publish({ topic, payload, retain, correlationData }: Message): Promise<Failure | null> {
    const bytes = Buffer.byteLength(topic) + Buffer.byteLength(payload) + (correlationData?.length ?? 0);
    const { maximumPacketSize, maximumQoS, retainAvailable } = this.limits;
    if (bytes + PUBLISH_OVERHEAD_BYTES > maximumPacketSize)
      return publishRefused(topic, tooLarge(maximumPacketSize));
    const name = publicationOf(topic);
    const end = this.#culprit.endOver(name);
    if (end) return publishRefused(topic, endedOver(end));
    const options: IClientPublishOptions = {
      qos: maximumQoS === 0 ? 0 : 1,
      retain: retain && retainAvailable,
    };
    if (this.version === 5 && correlationData) options.properties = { correlationData };
    const code = await this.#places(() =>
      this.#answerTo<number>(name, bytes, (settle) => {
        this.#client.publish(topic, payload, options, (err) => {
          const refusal = Object(err).code;
          if (typeof refusal === 'number') settle(null, refusal);
          else settle(err, ACCEPTED);
        });
      }),
    );
    return code === ACCEPTED ? null : publishRefused(topic, notTaken(code));
  }

  /**
   * Resolves with what the broker refuses of it, and what is left out. Rejects when no answer comes in time, which ends the connection, or
   * it ends.
   */
  async subscribe(subscriptions: readonly Subscription[]): Promise<readonly SubscribeRefused[]> {
    const refusals = subscriptions.flatMap((each) => this.#refusedUnasked(each) ?? []);
    const asked = subscriptions.filter((each) => this.#refusedUnasked(each) === null);
    // One packet, so that the answer to all comes at once: a rival for the client id may be quick.
    const packets = this.#culprit.isSubscription ? asked.map((each) => [each]) : [asked];
    for (const packet of packets) if (packet.length > 0) refusals.push(...(await this.#ask(packet)));
    // Each has been answered, so that it was none of them together either.
    this.#culprit.acquit(subscriptionTo(asked));
    return refusals;
  }

  #refusedUnasked(subscription: Subscription): SubscribeRefused | null {
    const { filter } = subscription;
    const end = this.#culprit.endOver(subscriptionTo([subscription]));
    if (end) return SubscribeRefused.byEnd(subscription, end);
    const code = refusedUnasked(filter, this.limits);
    return code === null ? null : SubscribeRefused.byCode(subscription, code, this.version);
  }

  async #ask(packet: readonly Subscription[]): Promise<SubscribeRefused[]> {
    const wanted = Object.fromEntries(
      packet.map(({ filter, retainAsPublished: rap = false }) => [filter, { qos: 1 as const, rap }]),
    );
    // An object puts names that are numbers first, and so does the packet that mqtt.js makes of it.
    const filters = Object.keys(wanted);
    const codes = await this.#answerTo<readonly number[]>(subscriptionTo(packet), 0, (settle) => {
      this.#client.subscribe(wanted, (err, _, answer) => {
        const granted = (answer?.granted ?? []).map(Number);
        // A refused filter is an error to mqtt.js, too. It ends a connection whose answer has fewer codes.
        settle(granted.length === filters.length ? null : err, granted);
      });
    });
    return packet.flatMap((subscription) => {
      const code = codes[filters.indexOf(subscription.filter)] ?? ACCEPTED;
      return code < FIRST_REFUSAL ? [] : SubscribeRefused.byCode(subscription, code, this.version);
    });
  }

  /** No answer is waited for, so that a broker that gives none keeps the connection. */
  unsubscribe(filter: string): void {
    this.#client.unsubscribe(filter);
  }

  /** Closes politely within the deadline (0: not at all), then by force. */
  async close(deadlineMs: number): Promise<void> {
    if (deadlineMs > 0) {
      this.#client.end();
      await this.#clock.sleep(deadlineMs, this.gone);
    }
    this.#giveUp();
  }

  /** `send` settles with the answer. Rejects when the connection ends, also by us because none comes in time. */
  #answerTo<Answer>(
    name: string,
    bytes: number,
    send: (settle: (err: Error | null | undefined, answer: Answer) => void) => void,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return void this.ended.then((end) => reject(notAcknowledged(end)));
      this.#bytesUnderWay += bytes;
      const patienceMs = ACKNOWLEDGE_TIMEOUT_MS + this.#bytesUnderWay * MS_FOR_A_BYTE;
      // mqtt.js waits for an acknowledgement without end. The place of a publish would stay taken, so the connection is given up.
      const cancel = this.#clock.after(patienceMs, () => this.#giveUp(new Error(NO_ANSWER)));
      const packet: Unanswered = {
        name,
        refuse(end) {
          cancel();
          reject(notAcknowledged(end));
        },
      };
      this.#unanswered.add(packet);
      send((err, answer) => {
        if (err) return this.#giveUp(err);
        cancel();
        this.#bytesUnderWay -= bytes;
        this.#unanswered.delete(packet);
        this.#culprit.acquit(name);
        resolve(answer);
      });
    });
  }

  #giveUp(fault?: Error): void {
    // mqtt.js ignores a second end() while it waits for acknowledgements; without its socket it ends all the same.
    this.#client.stream.destroy(fault);
    // mqtt.js throws where the first message that it gives up ends it before it has given up the others.
    queueMicrotask(() => this.#client.end(true));
  }
}
