// One connection to a broker, from CONNECT to its end, or why there is none. The only import of mqtt.js.
import { type IClientOptions, type IClientPublishOptions, type IConnackPacket, MqttClient } from 'mqtt';
import type { Clock } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { type ConcurrencyLimit, concurrencyLimit } from '../foundation/limits.ts';
import { type BrokerLimits, limitsOf, refusedUnasked } from './limits.ts';
import type { Incoming, Message, Subscription } from './message.ts';
import { LARGEST_PACKET_BYTES, PacketStream } from './packets.ts';
import {
  ACCEPTED,
  type End,
  FIRST_REFUSAL,
  NO_ANSWER,
  QOS_NOT_SUPPORTED,
  RETAIN_NOT_SUPPORTED,
} from './reasonCodes.ts';
import {
  ConnectRefused,
  endOf,
  LONGEST_WORDS,
  notAcknowledged,
  PublishRefused,
  SPEAKS_NO_MQTT5,
  SubscribeRefused,
  whyNotConnected,
} from './refusals.ts';
import { type BrokerTls, notEncrypted, streamBuilder } from './stream.ts';

/** MQTT 5, or 3.1.1 (which calls itself 4). */
export type ProtocolVersion = 5 | 4;

export interface BrokerAddress {
  readonly url: string;
  /** Tried in this order: the second where the broker does not take the first. */
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
}

const CONNECT_TIMEOUT_MS = 15_000;
const ACKNOWLEDGE_TIMEOUT_MS = 20_000;
const KEEP_ALIVE_SECONDS = 30;
/** A publish of MQTT 5 has so much besides topic, payload and correlation data, rounded up. */
const PUBLISH_OVERHEAD_BYTES = 16;

/**
 * Rejects with a Failure: ConnectRefused, or one with the code `broker_unreachable`, `broker_not_trusted` or
 * `broker_speaks_no_mqtt5`.
 */
export async function openConnection(
  address: BrokerAddress,
  clock: Clock,
  options: ConnectOptions = {},
): Promise<Connection> {
  const versions = [...address.versions];
  const refusedOfWills = new Set<number>();
  for (;;) {
    const [version = 4, next] = versions;
    try {
      return await openWith(version, refusedOfWills, address, clock, options);
    } catch (err) {
      if (!(err instanceof Failure)) throw err;
      const reasonCode = err instanceof ConnectRefused ? err.reasonCode : ACCEPTED;
      // A will that asks for more than the broker has is the reason: it is asked again for less.
      const isAboutWill = reasonCode === RETAIN_NOT_SUPPORTED || reasonCode === QOS_NOT_SUPPORTED;
      if (err.code === SPEAKS_NO_MQTT5 && next !== undefined) versions.shift();
      else if (options.will && isAboutWill && !refusedOfWills.has(reasonCode)) refusedOfWills.add(reasonCode);
      else throw err;
    }
  }
}

async function openWith(
  version: ProtocolVersion,
  refusedOfWills: ReadonlySet<number>,
  address: BrokerAddress,
  clock: Clock,
  options: ConnectOptions,
): Promise<Connection> {
  const client = new MqttClient(
    await streamBuilder(address.url, address.tls),
    clientOptions(version, address, options, refusedOfWills),
  );
  client.on('message', (topic, payload, { retain, properties }) => {
    const { responseTopic, correlationData } = properties ?? {};
    options.onMessage?.({ topic, payload, retained: retain, responseTopic, correlationData });
  });
  const life = new Life(client);
  const { tls, caution = null } = address;
  const { properties } = await new Promise<IConnackPacket>((resolve, reject) => {
    client.once('connect', resolve);
    client.once('close', () => {
      client.end(true);
      const { answer, fault } = life;
      reject(notEncrypted(fault, tls, clock.now()) ?? whyNotConnected(answer, fault, version, caution));
    });
  });
  return new Connection(client, life, clock, version, limitsOf(properties, refusedOfWills));
}

function clientOptions(
  version: ProtocolVersion,
  { clientId, username, password }: BrokerAddress,
  { will, willAfterSeconds = 0 }: ConnectOptions,
  refusedOfWills: ReadonlySet<number>,
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
  if (version === 5) options.properties = { maximumPacketSize: LARGEST_PACKET_BYTES };
  if (will)
    options.will = {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: refusedOfWills.has(QOS_NOT_SUPPORTED) ? 0 : 1,
      retain: will.retain && !refusedOfWills.has(RETAIN_NOT_SUPPORTED),
    };
  if (isLasting) {
    Object.assign(options.properties ?? {}, { sessionExpiryInterval: 2 * willAfterSeconds });
    Object.assign(options.will ?? {}, { properties: { willDelayInterval: willAfterSeconds } });
  }
  return options;
}

/** Watches a client until its end. */
class Life {
  /** The code of the CONNACK. */
  answer: number | undefined;
  /** The last error before the connection was closed. */
  fault: Error | undefined;
  /** `null`: it has not ended. */
  end: End | null = null;
  readonly ended: Promise<End>;

  constructor(client: MqttClient) {
    let farewell: number | undefined;
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'connack') this.answer ??= packet.reasonCode ?? packet.returnCode;
    });
    client.on('error', (err) => {
      this.fault = err;
      client.end(true);
    });
    // mqtt.js keeps errors without a code to itself, such as an HTTP status in place of a WebSocket.
    client.stream.on('error', (err: Error) => {
      this.fault ??= err;
    });
    client.on('disconnect', ({ reasonCode = ACCEPTED }) => {
      farewell = reasonCode;
    });
    this.ended = new Promise((resolve) => {
      client.once('close', () => {
        // The reason that the broker gave tells more than the socket error that follows.
        this.end = endOf(farewell, this.fault);
        resolve(this.end);
      });
    });
  }
}

type Settle = (err?: Error | null) => void;

export class Connection {
  readonly version: ProtocolVersion;
  readonly limits: BrokerLimits;
  readonly #client: MqttClient;
  readonly #life: Life;
  readonly #clock: Clock;
  /** The broker's Receive Maximum: a place is free again with its answer only. */
  readonly #places: ConcurrencyLimit;
  #isGivenUp = false;

  constructor(client: MqttClient, life: Life, clock: Clock, version: ProtocolVersion, limits: BrokerLimits) {
    this.#client = client;
    this.#life = life;
    this.#clock = clock;
    this.version = version;
    this.limits = limits;
    this.#places = concurrencyLimit(limits.receiveMaximum);
    // One for each message under way.
    client.setMaxListeners(0);
  }

  /** Resolves when the connection is gone. */
  get ended(): Promise<End> {
    return this.#life.ended;
  }

  /** `null`: it has not ended. */
  get end(): End | null {
    return this.#life.end;
  }

  /** It has not ended, and nobody has closed it. */
  get isOpen(): boolean {
    return this.end === null && !this.#isGivenUp;
  }

  /** So far: a packet that is long on its way shows by them. */
  get bytesReceived(): number {
    const { stream } = this.#client;
    return stream instanceof PacketStream ? stream.bytesReceived : 0;
  }

  /**
   * Resolves with the broker's acknowledgement, or, where it gives none, once the message is written. Rejects with
   * PublishRefused, or with another Failure when no answer comes in time, which ends the connection, or it ends.
   */
  async publish({ topic, payload, retain, correlationData }: Message): Promise<void> {
    const bytes = Buffer.byteLength(topic) + Buffer.byteLength(payload) + (correlationData?.length ?? 0);
    const { largestPacketBytes, qos, retains } = this.limits;
    if (bytes + PUBLISH_OVERHEAD_BYTES > largestPacketBytes)
      throw PublishRefused.tooLarge(topic, largestPacketBytes);
    const options: IClientPublishOptions = { qos, retain: retain && retains };
    if (this.version === 5 && correlationData) options.properties = { correlationData };
    const write = (settle: Settle) =>
      this.#client.publish(topic, payload, options, (err) => settle(err && meaningOf(err, topic)));
    await this.#places(() => this.#answered(ACKNOWLEDGE_TIMEOUT_MS, write));
  }

  /**
   * One packet, so that the answer to all comes at once: a rival for the client id may be quick. Resolves with what the broker refuses of
   * it. Rejects when no answer comes in time, or the connection ends.
   */
  async subscribe(subscriptions: readonly Subscription[]): Promise<readonly SubscribeRefused[]> {
    const codes = new Map<string, number>();
    const wanted: Record<string, { qos: 1; rap: boolean }> = {};
    for (const { filter, retainAsPublished = false } of subscriptions) {
      const code = refusedUnasked(filter, this.limits);
      if (code === null) wanted[filter] = { qos: 1, rap: retainAsPublished };
      else codes.set(filter, code);
    }
    // An object puts names that are numbers first, and so does the packet that mqtt.js makes of it.
    const filters = Object.keys(wanted);
    if (filters.length > 0)
      await this.#answered(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
        this.#client.subscribe(wanted, (err, _, answer) => {
          for (const [at, code] of (answer?.granted ?? []).entries())
            codes.set(filters[at] ?? '', Number(code));
          const isWhole = filters.every((filter) => codes.has(filter));
          settle(isWhole ? null : (err ?? notAcknowledged({ why: 'no answer to each filter' })));
        }),
      );
    return subscriptions.flatMap((subscription) => {
      const code = codes.get(subscription.filter) ?? ACCEPTED;
      return code < FIRST_REFUSAL ? [] : SubscribeRefused.byCode(subscription, code, this.version);
    });
  }

  async unsubscribe(filter: string): Promise<void> {
    await this.#answered(ACKNOWLEDGE_TIMEOUT_MS, (settle) => this.#client.unsubscribe(filter, settle));
  }

  /** Closes politely within the deadline (0: not at all), then by force. */
  async close(deadlineMs: number): Promise<void> {
    const farewell = (settle: Settle) => this.#client.end(false, {}, settle);
    if (deadlineMs > 0) await this.#answered(deadlineMs, farewell).catch(() => undefined);
    this.#giveUp();
  }

  /** Settles as the answer does to what `send` sends; rejects when none comes in time, or when the connection ends. */
  #answered(ms: number, send: (settle: Settle) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return reject(notAcknowledged(this.end ?? { why: 'closed' }));
      const settle: Settle = (err) => {
        cancel();
        this.#client.off('close', onEnd);
        if (!err) resolve();
        else if (err instanceof Failure) reject(err);
        else reject(notAcknowledged({ why: err.message.slice(0, LONGEST_WORDS) }));
      };
      // mqtt.js rejects only where the session ends with the connection.
      const onEnd = () => settle(notAcknowledged(this.end ?? { why: 'closed' }));
      // And it waits for an acknowledgement without end. The place of a publish would stay taken, so the connection is given up.
      const cancel = this.#clock.after(ms, () => {
        settle(notAcknowledged({ why: NO_ANSWER }));
        this.#life.fault ??= new Error(NO_ANSWER);
        this.#giveUp();
      });
      this.#client.once('close', onEnd);
      send(settle);
    });
  }

  #giveUp(): void {
    this.#isGivenUp = true;
    // mqtt.js ignores a second end() while it waits for acknowledgements; without its socket it ends all the same.
    this.#client.stream.destroy();
    this.#client.end(true);
  }
}

function meaningOf(err: Error, topic: string): Error {
  const code = 'code' in err ? err.code : undefined;
  return typeof code === 'number' ? PublishRefused.byCode(topic, code) : err;
}
