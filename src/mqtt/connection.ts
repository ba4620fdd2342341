// One connection to a broker, from CONNECT to its end, or why there is none. The only import of mqtt.js.
import { type IClientOptions, type IClientPublishOptions, type IConnackPacket, MqttClient } from 'mqtt';
import type { Clock } from '../foundation/clock.ts';
import { Failure, failure } from '../foundation/failure.ts';
import { type ConcurrencyLimit, concurrencyLimit } from '../foundation/limits.ts';
import { endOf, SPEAKS_NO_MQTT5, whyNotConnected } from './faults.ts';
import { type BrokerLimits, limitsOf } from './limits.ts';
import type { Incoming, Message, Subscription } from './message.ts';
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
  notAcknowledged,
  PublishRefused,
  refusedUnasked,
  SubscribeRefused,
} from './refusals.ts';
import { BrokerStream, type BrokerTls, LARGEST_PACKET_BYTES, notEncrypted, streamBuilder } from './stream.ts';

/** MQTT 5, or 3.1.1 (which calls itself 4). */
export type ProtocolVersion = 5 | 4;

export interface BrokerAddress {
  readonly url: string;
  /** Tried in this order: the second where the broker does not take the first. */
  readonly versions: readonly ProtocolVersion[];
  readonly clientId: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** What is odd about the password, as a sentence for the hint of a refusal. */
  readonly caution?: string | undefined;
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
const LONGEST_WORDS = 80;
/** What a publish of MQTT 5 has besides topic, payload and correlation data, rounded up. */
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
  return openByVersion(address, clock, options).catch((err) => {
    throw withCaution(err, address.caution);
  });
}

function withCaution(err: unknown, caution: string | undefined): unknown {
  if (!(err instanceof ConnectRefused) || caution === undefined) return err;
  const { code, message, exitCode: exit, retry, hint, cause } = err;
  return failure(code, message, { exit, retry, hint: `${hint} ${caution}`, cause });
}

async function openByVersion(
  address: BrokerAddress,
  clock: Clock,
  options: ConnectOptions,
): Promise<Connection> {
  const [first = 4, second] = address.versions;
  try {
    return await openWith(first, address, clock, options);
  } catch (err) {
    if (second === undefined || !(err instanceof Failure) || err.code !== SPEAKS_NO_MQTT5) throw err;
    return openWith(second, address, clock, options);
  }
}

/** The codes by which a broker refuses a will that asks for more than it has: it is asked again for less. */
const REFUSED_OF_WILLS: readonly number[] = [RETAIN_NOT_SUPPORTED, QOS_NOT_SUPPORTED];

async function openWith(
  version: ProtocolVersion,
  address: BrokerAddress,
  clock: Clock,
  options: ConnectOptions,
  refusedOfWills: ReadonlySet<number> = new Set(),
): Promise<Connection> {
  const client = new MqttClient(
    await streamBuilder(address.url, address.tls),
    clientOptions(version, address, options, refusedOfWills),
  );
  const { onMessage } = options;
  client.on('message', (topic, payload, packet) => {
    const { responseTopic, correlationData } = packet.properties ?? {};
    onMessage?.({ topic, payload, retained: packet.retain, responseTopic, correlationData });
  });
  const life = watch(client);
  try {
    const { properties } = await connected(client, life, { version, tls: address.tls, clock });
    const limits = limitsOf(properties, refusedOfWills);
    return new Connection(client, life, clock, { version, limits });
  } catch (err) {
    const code = err instanceof ConnectRefused && options.will ? err.reasonCode : null;
    if (code === null || !REFUSED_OF_WILLS.includes(code) || refusedOfWills.has(code)) throw err;
    return openWith(version, address, clock, options, new Set([...refusedOfWills, code]));
  }
}

function clientOptions(
  version: ProtocolVersion,
  { clientId, username, password }: BrokerAddress,
  { will, willAfterSeconds = 0 }: ConnectOptions,
  refusedOfWills: ReadonlySet<number>,
): IClientOptions {
  const isLasting = version === 5 && willAfterSeconds > 0;
  const lasting = { sessionExpiryInterval: 2 * willAfterSeconds };
  const limits = { maximumPacketSize: LARGEST_PACKET_BYTES, ...(isLasting ? lasting : {}) };
  return {
    clientId,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    protocolVersion: version,
    ...(version === 5 ? { properties: limits } : {}),
    clean: !isLasting,
    keepalive: KEEP_ALIVE_SECONDS,
    // A buffer for each number up to 65,535, made at the first packet: 40 ms and 10 MB for nothing.
    writeCache: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // The link decides when to try again.
    reconnectPeriod: 0,
    ...(will && {
      will: {
        topic: will.topic,
        payload: Buffer.from(will.payload),
        qos: refusedOfWills.has(QOS_NOT_SUPPORTED) ? 0 : 1,
        retain: will.retain && !refusedOfWills.has(RETAIN_NOT_SUPPORTED),
        ...(isLasting ? { properties: { willDelayInterval: willAfterSeconds } } : {}),
      },
    }),
  };
}

interface Life {
  /** The last error before the connection was closed. */
  fault: Error | undefined;
  /** `null`: it has not ended. */
  end: End | null;
  readonly ended: Promise<End>;
}

/** Follows a client to its end. */
function watch(client: MqttClient): Life {
  let farewell: number | undefined;
  client.on('error', (err) => {
    life.fault = err;
    client.end(true);
  });
  // mqtt.js keeps errors without a code to itself, such as an HTTP status in place of a WebSocket.
  client.stream.on('error', (err: Error) => {
    life.fault ??= err;
  });
  client.on('disconnect', ({ reasonCode = ACCEPTED }) => {
    farewell = reasonCode;
  });
  const life: Life = {
    fault: undefined,
    end: null,
    ended: new Promise<End>((settle) => {
      client.once('close', () => {
        // The reason that the broker gave tells more than the socket error that follows.
        life.end = endOf(farewell, life.fault);
        settle(life.end);
      });
    }),
  };
  return life;
}

/** Resolves with the CONNACK of a broker that takes the connection. */
function connected(
  client: MqttClient,
  life: Life,
  {
    version,
    tls,
    clock,
  }: Pick<BrokerAddress, 'tls'> & { readonly version: ProtocolVersion; readonly clock: Clock },
): Promise<IConnackPacket> {
  let answer: number | undefined;
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'connack') answer ??= packet.reasonCode ?? packet.returnCode;
  });
  return new Promise<IConnackPacket>((resolve, reject) => {
    client.once('connect', resolve);
    client.once('close', () => {
      client.end(true);
      reject(notEncrypted(life.fault, tls, clock.now()) ?? whyNotConnected(answer, life.fault, version));
    });
  });
}

type Settle = (err?: Error | null) => void;
/**
 * To be called when something is sent, with the time that its answer may take. Gives back how the answer is told; `null`: the connection
 * has ended meanwhile, and there is nothing to send any more.
 */
type Begin = (ms: number) => Settle | null;

export class Connection {
  readonly version: ProtocolVersion;
  readonly limits: BrokerLimits;
  readonly #client: MqttClient;
  readonly #life: Life;
  readonly #clock: Clock;
  /** They are rejected when the connection ends, since mqtt.js rejects only where the session ends with it. */
  readonly #unsettled = new Set<Settle>();
  /** The broker's Receive Maximum: a place is free again with its answer only. */
  readonly #places: ConcurrencyLimit;

  constructor(client: MqttClient, life: Life, clock: Clock, agreed: Pick<Connection, 'version' | 'limits'>) {
    this.#client = client;
    this.#life = life;
    this.#clock = clock;
    this.version = agreed.version;
    this.limits = agreed.limits;
    this.#places = concurrencyLimit(agreed.limits.receiveMaximum);
    // One reaction for all: a reaction to `ended` for each publish would pile up over the years.
    void life.ended.then(({ why, hint }) => {
      for (const settle of this.#unsettled) settle(notAcknowledged(why, hint));
    });
  }

  /** Resolves when the connection is gone. */
  get ended(): Promise<End> {
    return this.#life.ended;
  }

  /** So far: a packet that is long on its way shows by them. */
  get bytesReceived(): number {
    const { stream } = this.#client;
    return stream instanceof BrokerStream ? stream.bytesReceived : 0;
  }

  /** `null`: it has not ended. */
  get end(): End | null {
    return this.#life.end;
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
    await this.#answer((begin) => {
      void this.#places(() => this.#write(topic, payload, options, begin));
    });
  }

  /** Resolves when its place is free for the next message. */
  #write(topic: string, payload: string, options: IClientPublishOptions, begin: Begin): Promise<void> {
    return new Promise((leave) => {
      const settle = begin(ACKNOWLEDGE_TIMEOUT_MS);
      if (settle === null) return leave();
      this.#client.publish(topic, payload, options, (err) => {
        leave();
        settle(err && whatAnswerMeans(topic, err));
      });
    });
  }

  /** Resolves with what the broker refuses of it. Rejects when no answer comes in time, or the connection ends. */
  async subscribe(subscriptions: readonly Subscription[]): Promise<readonly SubscribeRefused[]> {
    const { version, limits } = this;
    const byFilter = new Map(subscriptions.map((one) => [one.filter, one]));
    const refusals: SubscribeRefused[] = [];
    const refuse = (one: Subscription, code: number) =>
      void refusals.push(SubscribeRefused.byCode(one, code, version));
    for (const one of byFilter.values()) {
      const code = refusedUnasked(one.filter, limits);
      if (code === null) continue;
      byFilter.delete(one.filter);
      refuse(one, code);
    }
    if (byFilter.size === 0) return refusals;
    const codes = await this.#askFor([...byFilter.values()]);
    for (const [filter, code] of codes) {
      const one = byFilter.get(filter);
      if (one && code >= FIRST_REFUSAL) refuse(one, code);
    }
    return refusals;
  }

  /** Resolves with the code of the SUBACK for each filter. */
  async #askFor(subscriptions: readonly Subscription[]): Promise<ReadonlyMap<string, number>> {
    const wanted = Object.fromEntries(
      subscriptions.map(({ filter, retainAsPublished = false }) => [
        filter,
        { qos: 1, rap: retainAsPublished } as const,
      ]),
    );
    // An object puts names that are numbers first, and so does the packet that mqtt.js makes of it.
    const filters = Object.keys(wanted);
    let codes: readonly number[] = [];
    await this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.subscribe(wanted, (err, _, answer) => {
        codes = (answer?.granted ?? []).map(Number);
        settle(codes.length === filters.length ? null : (err ?? notAcknowledged('no answer to each filter')));
      }),
    );
    return new Map(filters.map((filter, at) => [filter, codes[at] ?? FIRST_REFUSAL]));
  }

  async unsubscribe(filter: string): Promise<void> {
    await this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) => this.#client.unsubscribe(filter, settle));
  }

  /** Closes politely within the deadline (0: not at all), then by force. */
  async close(deadlineMs: number): Promise<void> {
    if (deadlineMs > 0)
      await this.#within(deadlineMs, (settle) => this.#client.end(false, {}, settle)).catch(() => undefined);
    this.#destroy();
  }

  #within(ms: number, start: (settle: Settle) => void): Promise<void> {
    return this.#answer((begin) => {
      const settle = begin(ms);
      if (settle !== null) start(settle);
    });
  }

  /** Settles as the answer does to what `start` sends; rejects when none comes in time, or when the connection ends. */
  #answer(start: (begin: Begin) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let clear = () => {};
      const settle: Settle = (err) => {
        clear();
        this.#unsettled.delete(settle);
        if (!err) resolve();
        else reject(err instanceof Failure ? err : notAcknowledged(err.message.slice(0, LONGEST_WORDS)));
      };
      this.#unsettled.add(settle);
      start((ms) => {
        if (!this.#unsettled.has(settle)) return null;
        // mqtt.js waits for an acknowledgement without end. The place of a publish would stay taken, so the connection is given up.
        clear = this.#clock.after(ms, () => {
          settle(notAcknowledged(NO_ANSWER));
          this.#life.fault ??= new Error(NO_ANSWER);
          this.#destroy();
        });
        return settle;
      });
    });
  }

  #destroy(): void {
    // mqtt.js ignores a second end() while it waits for acknowledgements; without its socket it ends all the same.
    this.#client.stream.destroy();
    this.#client.end(true);
  }
}

function whatAnswerMeans(topic: string, err: Error): Error {
  const code: unknown = 'code' in err ? err.code : undefined;
  return typeof code === 'number' ? PublishRefused.byCode(topic, code) : err;
}
