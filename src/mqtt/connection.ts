// One connection to a broker, from CONNECT to its end, or why there is none. The only import of mqtt.js.
import { type IClientPublishOptions, type IConnackPacket, MqttClient } from 'mqtt';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import type { Incoming, Message } from './message.ts';
import { type BrokerTls, LARGEST_PACKET_BYTES, notEncrypted, streamBuilder } from './stream.ts';

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
const TAKEN_OVER = 142;
const NOT_AUTHORIZED = 135;
/** Reason codes of MQTT 5 about the message itself, also: topic name invalid, packet too large, payload format invalid. Others may pass. */
const FINAL_REFUSALS = new Set([NOT_AUTHORIZED, 144, 149, 153]);
/** What a publish of MQTT 5 has besides topic, payload and correlation data, rounded up. */
const PUBLISH_OVERHEAD_BYTES = 16;

export type Connection = Awaited<ReturnType<typeof openConnection>>;

/** Rejects with a Failure: `broker_unreachable`, `broker_refused`, `broker_not_trusted` or `broker_speaks_no_mqtt5`. */
export async function openConnection(address: BrokerAddress, clock: Clock, options: ConnectOptions = {}) {
  return openByVersion(address, clock, options).catch((err) => {
    throw withCaution(err, address.caution);
  });
}

function withCaution(err: unknown, caution: string | undefined): unknown {
  if (!(err instanceof Failure) || err.code !== 'broker_refused' || caution === undefined) return err;
  const { code, message, exitCode: exit, retry, hint, cause } = err;
  return failure(code, message, { exit, retry, hint: `${hint} ${caution}`, cause });
}

async function openByVersion(address: BrokerAddress, clock: Clock, options: ConnectOptions) {
  const [first = 4, second] = address.versions;
  try {
    return await openWith(first, address, clock, options);
  } catch (err) {
    if (second === undefined || !(err instanceof Failure) || err.code !== SPEAKS_NO_MQTT5) throw err;
    return openWith(second, address, clock, options);
  }
}

async function openWith(
  version: ProtocolVersion,
  { url, clientId, username, password, tls }: BrokerAddress,
  clock: Clock,
  { onMessage, will, willAfterSeconds = 0 }: ConnectOptions,
) {
  const isLasting = version === 5 && willAfterSeconds > 0;
  const lasting = { sessionExpiryInterval: 2 * willAfterSeconds };
  const limits = { maximumPacketSize: LARGEST_PACKET_BYTES, ...(isLasting ? lasting : {}) };
  const client = new MqttClient(await streamBuilder(url, tls), {
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
        qos: 1,
        retain: will.retain,
        ...(isLasting ? { properties: { willDelayInterval: willAfterSeconds } } : {}),
      },
    }),
  });

  client.on('message', (topic, payload, packet) => {
    const { responseTopic, correlationData } = packet.properties ?? {};
    onMessage?.({ topic, payload, retained: packet.retain, responseTopic, correlationData });
  });
  let fault: Error | undefined;
  let reason: string | undefined;
  client.on('error', (err) => {
    fault = err;
    client.end(true);
  });
  // mqtt.js keeps errors without a code to itself, such as an HTTP status in place of a WebSocket.
  client.stream.on('error', (err: Error) => {
    fault ??= err;
  });
  client.on('disconnect', (packet) => {
    if (packet.reasonCode === TAKEN_OVER) reason = 'another client has taken over the client id';
  });
  const ended = new Promise<string>((settle) => {
    // The reason that the broker gave tells more than the socket error that follows.
    client.once('close', () => settle(reason ?? (fault ? whatBroke(fault) : 'closed by the broker')));
  });
  const { properties } = await new Promise<IConnackPacket>((resolve, reject) => {
    client.once('connect', resolve);
    client.once('close', () => {
      client.end(true);
      reject(notEncrypted(fault, tls, clock.now()) ?? refusal(fault, version));
    });
  });
  const largestPacket = properties?.maximumPacketSize ?? Number.POSITIVE_INFINITY;
  // Rejected when the connection ends: mqtt.js does so only where the session ends with it. A reaction to `ended` for each publish would
  // pile up over the years.
  const unsettled = new Set<(err: Error) => void>();
  void ended.then((why) => {
    for (const settle of unsettled) settle(notAcknowledged(why));
  });

  // mqtt.js waits for an acknowledgement without end.
  function within(ms: number, start: (settle: (err?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const clear = clock.after(ms, () => settle(notAcknowledged('no answer in time')));
      const settle = (err?: Error | null) => {
        clear();
        unsettled.delete(settle);
        if (err) reject(err);
        else resolve();
      };
      unsettled.add(settle);
      start(settle);
    });
  }

  return {
    version,

    /** Resolves when the connection is gone, with the reason in a few words. */
    ended,

    /**
     * Resolves with the broker's acknowledgement. Rejects with PublishRefused, or with another Failure when no answer comes
     * in time or the connection ends.
     */
    async publish({ topic, payload, retain, correlationData }: Message): Promise<void> {
      const bytes = Buffer.byteLength(topic) + Buffer.byteLength(payload) + (correlationData?.length ?? 0);
      if (bytes + PUBLISH_OVERHEAD_BYTES > largestPacket) throw tooLarge(topic, largestPacket);
      const options: IClientPublishOptions = { qos: 1, retain };
      if (version === 5 && correlationData) options.properties = { correlationData };
      await within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
        client.publish(topic, payload, options, (err) => settle(err && whatAnswerMeans(topic, err))),
      );
    },

    /** `retainAsPublished` (MQTT 5): filters whose messages keep the retain flag that they are published with. */
    subscribe(filters: readonly string[], retainAsPublished: readonly string[] = []): Promise<void> {
      const options = filters.map((filter) => [filter, { qos: 1, rap: retainAsPublished.includes(filter) }]);
      return within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
        client.subscribe(Object.fromEntries(options), settle),
      );
    },

    unsubscribe: (filter: string): Promise<void> =>
      within(ACKNOWLEDGE_TIMEOUT_MS, (settle) => client.unsubscribe(filter, settle)),

    /** Closes politely within the deadline (0: not at all), then by force. */
    async close(deadlineMs: number): Promise<void> {
      if (deadlineMs > 0)
        await within(deadlineMs, (settle) => client.end(false, {}, settle)).catch(() => undefined);
      // mqtt.js ignores a second end() while it waits for acknowledgements; without its socket it ends all the same.
      client.stream.destroy();
      client.end(true);
    },
  };
}

/** A final answer about one message: the connection stays, and sending the same again is of no use. */
export class PublishRefused extends Failure {
  constructor(topic: string, why: string, hint: string) {
    const options = { exit: EXIT.broker, retry: 'never', hint } as const;
    super('publish_refused', `The broker refuses ${topic}: ${why}.`, options);
  }
}

const BROKER_LOG = "The broker's log may tell why.";

function whatAnswerMeans(topic: string, err: Error): Error {
  const code: unknown = 'code' in err ? err.code : undefined;
  if (typeof code !== 'number') return err;
  if (!FINAL_REFUSALS.has(code)) return notAcknowledged(`reason code ${code}`);
  if (code === NOT_AUTHORIZED)
    return new PublishRefused(topic, 'not authorized', 'Give its user the right to write there.');
  return new PublishRefused(topic, `reason code ${code}`, BROKER_LOG);
}

function tooLarge(topic: string, limit: number): PublishRefused {
  const why = `larger than the ${limit} bytes that it takes`;
  return new PublishRefused(topic, why, 'Raise its limit for packets (max_packet_size in Mosquitto).');
}

const notAcknowledged = (why: string): Failure =>
  failure('not_acknowledged', `The broker has not acknowledged what was sent (${why}).`, {
    exit: EXIT.broker,
    retry: 'soon',
    hint: BROKER_LOG,
  });

const SPEAKS_NO_MQTT5 = 'broker_speaks_no_mqtt5';
const CODES_OF_WRONG_VERSION = new Set<unknown>([1, 132]);
const CODES_OF_REFUSAL = new Set<unknown>([4, 5, 134, 135]);

/** `fault`: the last error before the connection was closed. */
function refusal(fault: Error | undefined, version: ProtocolVersion): Failure {
  const refused = (code: string, message: string, hint: string) =>
    failure(code, message, { exit: EXIT.broker, retry: 'soon', hint, cause: fault });
  const code: unknown = fault && 'code' in fault ? fault.code : undefined;
  const silent = fault === undefined || fault.message.startsWith('connack timeout');
  if (version === 5 && (silent || CODES_OF_WRONG_VERSION.has(code)))
    return refused(SPEAKS_NO_MQTT5, 'The broker does not take MQTT 5.', 'Set mqtt.protocol to auto.');
  if (CODES_OF_REFUSAL.has(code)) {
    const hint = 'Check mqtt.username and mqtt.password.';
    return refused('broker_refused', 'The broker refused the user name or password.', hint);
  }
  const why = fault ? whatBroke(fault) : 'closed without a reason';
  return refused(
    'broker_unreachable',
    `The broker cannot be reached (${why}).`,
    'Check mqtt.url (a port with TLS, mostly 8883, wants mqtts://), and that the broker runs.',
  );
}

/** The code of an error, or the beginning of its message. */
const whatBroke = (fault: Error): string =>
  'code' in fault && fault.code !== undefined ? String(fault.code) : fault.message.slice(0, 80);
