// One connection to a broker, from CONNECT to its end. The only import of mqtt.js.
import { type IClientPublishOptions, MqttClient } from 'mqtt';
import type { Clock } from '../foundation/clock.ts';
import type { Incoming, Message } from './message.ts';
import { refusal, whatBroke } from './refusal.ts';
import { type BrokerTls, LARGEST_PACKET_BYTES, streamBuilder } from './stream.ts';

/** MQTT 5, or 3.1.1 (which calls itself 4). */
export type ProtocolVersion = 5 | 4;

export interface BrokerAddress {
  readonly url: string;
  readonly clientId: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls: BrokerTls;
}

const CONNECT_TIMEOUT_MS = 15_000;
const ACKNOWLEDGE_TIMEOUT_MS = 20_000;
const KEEP_ALIVE_SECONDS = 30;
const TAKEN_OVER = 142;

export class Connection {
  readonly version: ProtocolVersion;
  /** Resolves when the connection is gone, with the reason in a few words. */
  readonly ended: Promise<string>;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  // Rejected when the connection ends. A reaction to `ended` for each publish would pile up over the years.
  readonly #unsettled = new Set<(err: Error) => void>();

  private constructor(client: MqttClient, version: ProtocolVersion, ended: Promise<string>, clock: Clock) {
    this.#client = client;
    this.version = version;
    this.ended = ended;
    this.#clock = clock;
    void ended.then((why) => {
      for (const settle of this.#unsettled) settle(new Error(why));
    });
  }

  /**
   * Rejects with BrokerUnreachable. `willAfterSeconds` (MQTT 5): the will waits so long for a connection that goes on with
   * the session of this client id.
   */
  static async open(
    address: BrokerAddress,
    version: ProtocolVersion,
    will: Message,
    onMessage: (incoming: Incoming) => void,
    clock: Clock,
    willAfterSeconds = 0,
  ): Promise<Connection> {
    const isLasting = version === 5 && willAfterSeconds > 0;
    const { url, clientId, username, password, tls } = address;
    const client = new MqttClient(await streamBuilder(url, tls), {
      clientId,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      protocolVersion: version,
      ...(version === 5
        ? {
            properties: {
              maximumPacketSize: LARGEST_PACKET_BYTES,
              ...(isLasting ? { sessionExpiryInterval: 2 * willAfterSeconds } : {}),
            },
          }
        : {}),
      clean: !isLasting,
      keepalive: KEEP_ALIVE_SECONDS,
      // A buffer for each number up to 65,535, made at the first packet: 40 ms and 10 MB for nothing.
      writeCache: false,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Link decides when to try again, and with which version.
      reconnectPeriod: 0,
      will: {
        topic: will.topic,
        payload: Buffer.from(will.payload),
        qos: 1,
        retain: will.retain,
        ...(isLasting ? { properties: { willDelayInterval: willAfterSeconds } } : {}),
      },
    });

    client.on('message', (topic, payload, packet) => {
      const { responseTopic, correlationData } = packet.properties ?? {};
      onMessage({ topic, payload, retained: packet.retain, responseTopic, correlationData });
    });

    return new Promise((resolve, reject) => {
      let fault: Error | undefined;
      let reason: string | undefined;
      const ended = new Promise<string>((settle) => {
        // The reason that the broker gave tells more than the socket error that follows.
        client.once('close', () => settle(reason ?? (fault ? whatBroke(fault) : 'closed by the broker')));
      });
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
      client.once('connect', () => resolve(new Connection(client, version, ended, clock)));
      client.once('close', () => {
        client.end(true);
        reject(refusal(fault, version));
      });
    });
  }

  /** Resolves with the broker's acknowledgement; rejects when none comes in time or the connection ends. */
  publish({ topic, payload, retain, correlationData }: Message): Promise<void> {
    const options: IClientPublishOptions = { qos: 1, retain };
    if (this.version === 5 && correlationData) options.properties = { correlationData };
    return this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.publish(topic, payload, options, (err) => settle(err ?? null)),
    );
  }

  /** `retainAsPublished` (MQTT 5): filters whose messages keep the retain flag that they are published with. */
  subscribe(filters: readonly string[], retainAsPublished: readonly string[] = []): Promise<void> {
    const options = filters.map((filter) => [filter, { qos: 1, rap: retainAsPublished.includes(filter) }]);
    return this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.subscribe(Object.fromEntries(options), (err) => settle(err)),
    );
  }

  unsubscribe(filter: string): Promise<void> {
    return this.#within(ACKNOWLEDGE_TIMEOUT_MS, (settle) =>
      this.#client.unsubscribe(filter, (err) => settle(err ?? null)),
    );
  }

  /** Closes politely within the deadline (0: not at all), then by force. */
  async close(deadlineMs: number): Promise<void> {
    if (deadlineMs > 0) {
      await this.#within(deadlineMs, (settle) => this.#client.end(false, {}, () => settle(null))).catch(
        () => undefined,
      );
    }
    // mqtt.js ignores a second end() while it waits for acknowledgements; without its socket it ends all the same.
    this.#client.stream.destroy();
    this.#client.end(true);
  }

  // mqtt.js waits for an acknowledgement without end.
  #within(ms: number, start: (settle: (err: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const clear = this.#clock.after(ms, () => settle(new Error('no acknowledgement in time')));
      const settle = (err: Error | null) => {
        clear();
        this.#unsettled.delete(settle);
        if (err) reject(err);
        else resolve();
      };
      this.#unsettled.add(settle);
      start(settle);
    });
  }
}
