// What one process of a fleet does for all: bridge/state, info and health, and a broker that has forgotten everything.
// bridge/state has a connection of its own, which the keeper holds under one client id. Its will waits, so that the next keeper
// takes the session over before a subscriber reads offline; when all are gone, the broker publishes it.
import type { AccountContext } from '../accounts/context.ts';
import { friendlyNameOf } from '../accounts/names.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { safeWords } from '../foundation/failure.ts';
import { brokerAddress } from '../mqtt/broker.ts';
import { Connection } from '../mqtt/connection.ts';
import type { Message } from '../mqtt/message.ts';
import { healthMessage, infoMessage, stateMessage } from '../publication/bridgeMessages.ts';
import { announce, bridgeDocument } from '../publication/discovery.ts';
import { homeLanguage } from '../publication/language.ts';
import { clear } from '../publication/topics.ts';
import type { Database } from '../store/database/database.ts';
import type { Membership } from './membership.ts';
import type { FleetHealth } from './status.ts';

interface Parts {
  readonly membership: Membership;
  /** As it was counted last; `null`: not yet. */
  readonly health: () => FleetHealth | null;
  readonly database: Database;
  readonly installation: string;
}

type Context = Pick<AccountContext, 'config' | 'topics' | 'clock' | 'log' | 'zone'>;

const TELL_EVERY_MS = 15_000;
const TIDY_EVERY_MS = 60_000;
const WILL_AFTER_SECONDS = 30;
// Retained messages follow a subscription at once.
const SILENCE_MS = 700;
/** Meters that bridge/info names: so many as a person can look at. */
const MOST_METERS = 500;
const NEVER = Number.NEGATIVE_INFINITY;

export class Keeper {
  readonly #parts: Parts;
  readonly #context: Context;
  readonly #startedAt: number;
  /** `null` as soon as another process has taken the session over. */
  #connection: Connection | null = null;
  /** What was published last on this connection, by topic. */
  readonly #published = new Map<string, string>();
  /** On the monotonic clock. */
  #toldAt = NEVER;
  #tidiedAt = NEVER;

  constructor(parts: Parts, context: Context) {
    this.#parts = parts;
    this.#context = context;
    this.#startedAt = context.clock.now();
  }

  /** To be called every few seconds. Never rejects. */
  async look(): Promise<void> {
    const { membership } = this.#parts;
    try {
      // No process can become the next keeper while the database is gone: the last one says so.
      if (membership.isDatabaseGone) await this.#tellThatDatabaseIsGone();
      else if (membership.isKeeper) await this.#keep();
      else if (membership.fault === null) await this.stop();
    } catch (err) {
      this.#context.log.debug(safeWords(err), 'the keeper of the fleet could not do its work');
    }
  }

  /** Without farewell: the will stays with the session that the next one takes over. */
  async stop(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close(0);
  }

  async #keep(): Promise<void> {
    const { membership, health } = this.#parts;
    const { topics, zone } = this.#context;
    if (this.#connection === null) await this.#connect();
    const now = this.#context.clock.monotonic();
    const latest = health();
    if (latest !== null && now - this.#toldAt >= TELL_EVERY_MS) {
      this.#toldAt = now;
      const info = await this.#composeInfo(latest);
      await this.#send([stateMessage(topics, 'online'), ...info, healthMessage(topics, latest, zone)]);
      // From now on a broker without bridge/info has forgotten it.
      await this.#parts.database.query('UPDATE heat2mqtt.fleet SET told = true WHERE NOT told');
    }
    if (now - this.#tidiedAt >= TIDY_EVERY_MS) {
      this.#tidiedAt = now;
      const topicOf = (number: number) => topics.of('bridge/process/<number>/state', String(number));
      for (const number of await membership.forgetGone())
        await this.#connection?.publish(clear(topicOf(number)));
    }
  }

  /** Rejects when the broker does not let this process in. */
  async #connect(): Promise<void> {
    const { mqtt } = this.#context.config;
    const { topics, clock, log } = this.#context;
    let isInfoThere = false;
    try {
      const address = await brokerAddress(mqtt, mqtt.url, `${this.#parts.installation}_state`);
      const will = stateMessage(topics, 'offline');
      const opened = await Connection.open(address, clock, {
        will,
        willAfterSeconds: WILL_AFTER_SECONDS,
        onMessage() {
          isInfoThere = true;
        },
      });
      this.#connection = opened;
      void opened.ended.then(() => {
        if (this.#connection === opened) this.#connection = null;
      });
      this.#published.clear();
      this.#toldAt = NEVER;
      const info = topics.of('bridge/info');
      await opened.subscribe([info]);
      await clock.sleep(SILENCE_MS);
      await opened.unsubscribe(info);
      await opened.publish(stateMessage(topics, 'online'));
    } catch (err) {
      log.info(safeWords(err), 'no connection for the state of the fleet');
      await this.stop();
      throw err;
    }
    if (!isInfoThere) await this.#republish();
  }

  /** The broker has forgotten everything: all accounts are published again. */
  async #republish(): Promise<void> {
    const rows = await this.#parts.database.query(
      `UPDATE heat2mqtt.account SET republish = republish + 1, due_at = least(due_at, now())
      WHERE NOT removed AND last_poll_at IS NOT NULL AND (SELECT told FROM heat2mqtt.fleet) RETURNING id`,
    );
    if (rows.length > 0)
      this.#context.log.warn({ accounts: rows.length }, 'the broker has forgotten what was retained');
  }

  async #tellThatDatabaseIsGone(): Promise<void> {
    const { membership, health } = this.#parts;
    const { topics, zone } = this.#context;
    const last = health();
    if (last === null || this.#connection === null) return;
    if (this.#published.get(topics.of('bridge/state')) === 'offline') return;
    this.#toldAt = NEVER;
    const { failuresInARow, fault } = membership;
    const record = {
      ...last,
      isSomeAccountWell: false,
      reasons: [safeWords(fault)],
      failuresInARow,
      nextPollAt: null,
    };
    await this.#send([stateMessage(topics, 'offline'), healthMessage(topics, record, zone)]);
  }

  async #composeInfo(health: FleetHealth): Promise<Message[]> {
    const { topics, config, zone } = this.#context;
    const rows = await this.#parts.database.query<{
      meter: string;
      account: string;
      readingCloses: ReadingCloses;
    }>(
      `SELECT name AS meter, account, coalesce(ledger ->> 'readingCloses', 'same_day') AS "readingCloses" FROM heat2mqtt.series
      WHERE ledger ->> 'complete' = 'true' ORDER BY account, name LIMIT $1`,
      [MOST_METERS],
    );
    const meters = rows.map((one) => ({
      ...one,
      friendlyName: friendlyNameOf(config.meters, { meterIdentifiers: [one.meter] }, one.meter),
      identifiers: [one.meter],
    }));
    const { discovery_prefix: prefix } = config.mqtt;
    const options = { topics, page: null, constituencies: false, language: homeLanguage(config.language) };
    const info = { startedAt: this.#startedAt, schedule: config.usage.schedule, zone, health, meters };
    return [
      ...(prefix === false ? [] : announce(bridgeDocument({ prefix, ...options }))),
      infoMessage(topics, info),
    ];
  }

  /** What differs from what was published last. Rejects when another process holds the connection by now. */
  async #send(messages: readonly Message[]): Promise<void> {
    for (const message of messages) {
      if (this.#published.get(message.topic) === message.payload) continue;
      if (this.#connection === null) throw new Error('no connection for the state of the fleet');
      await this.#connection.publish(message);
      this.#published.set(message.topic, message.payload);
    }
  }
}
