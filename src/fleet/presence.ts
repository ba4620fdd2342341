// bridge/state of a fleet: a connection of its own, which one process at a time holds under one client id. Its will waits, so
// that the next keeper takes the session over before a subscriber reads offline; when all are gone, the broker publishes it.
import type { Mqtt } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { brokerAddress, protocolVersions } from '../mqtt/broker.ts';
import { Connection } from '../mqtt/connection.ts';
import type { Message } from '../mqtt/message.ts';
import { stateMessage } from '../publication/bridgeMessages.ts';
import type { Topics } from '../publication/topics.ts';

const WILL_AFTER_SECONDS = 30;
// Retained messages follow a subscription at once.
const SILENCE_MS = 700;

interface Parts {
  readonly mqtt: Mqtt;
  readonly clientId: string;
  readonly topics: Topics;
  readonly clock: Clock;
  readonly log: Log;
}

export class Presence {
  readonly #parts: Parts;
  #connection: Connection | null = null;
  #version = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** False as soon as another process has taken it over. */
  get isHeld(): boolean {
    return this.#connection !== null;
  }

  /** Holds the connection. Resolves to whether it is new, and the broker has forgotten what was retained. Never rejects. */
  async hold(): Promise<boolean> {
    if (this.#connection !== null) return false;
    const { mqtt, clientId, topics, clock, log } = this.#parts;
    const versions = protocolVersions(mqtt);
    let isInfoThere = false;
    try {
      const address = await brokerAddress(mqtt, mqtt.url, clientId);
      const version = versions[this.#version % versions.length] ?? 4;
      const will = stateMessage(topics, 'offline');
      const hear = () => {
        isInfoThere = true;
      };
      const opened = await Connection.open(address, version, will, hear, clock, WILL_AFTER_SECONDS);
      this.#connection = opened;
      void opened.ended.then(() => {
        if (this.#connection === opened) this.#connection = null;
      });
      const info = topics.of('bridge/info');
      await opened.subscribe([info]);
      await clock.sleep(SILENCE_MS);
      await opened.unsubscribe(info);
      await opened.publish(stateMessage(topics, 'online'));
      return !isInfoThere;
    } catch (err) {
      if (err instanceof Failure && err.code === 'broker_speaks_no_mqtt5') this.#version += 1;
      log.info(safeWords(err), 'no connection for the state of the fleet');
      await this.release();
      return false;
    }
  }

  /** Publishes as the one that holds it. Rejects when another process does by now. */
  async send(messages: readonly Message[]): Promise<void> {
    const connection = this.#connection;
    if (connection === null) throw new Error('no connection for the state of the fleet');
    for (const message of messages) await connection.publish(message);
  }

  /** Without farewell: the will stays with the session that the next one takes over. */
  async release(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close(0);
  }
}
