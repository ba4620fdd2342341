// What one process of a fleet does for all: bridge/state, info and health, and a broker that has forgotten everything.
import type { AccountContext } from '../accounts/context.ts';
import { friendlyNameOf } from '../accounts/friendlyNames.ts';
import { pageAddress } from '../config/listenAddress.ts';
import type { HealthRecord } from '../domain/health.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Message } from '../mqtt/message.ts';
import { healthMessage, infoMessage, stateMessage } from '../publication/bridgeMessages.ts';
import { announce, bridgeDocument } from '../publication/discovery.ts';
import { clear } from '../publication/topics.ts';
import type { Database } from '../store/database/database.ts';
import type { Membership } from './membership.ts';
import { Presence } from './presence.ts';
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
/** Meters that bridge/info names: so many as a person can look at. */
const MOST_METERS = 500;

export class Keeper {
  readonly #parts: Parts;
  readonly #context: Context;
  readonly #presence: Presence;
  readonly #startedAt: number;
  #wasKeeper = false;
  /** What was published last, by topic. */
  readonly #published = new Map<string, string>();
  /** On the monotonic clock. */
  #toldAt = Number.NEGATIVE_INFINITY;
  #tidiedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts, context: Context) {
    const { config, topics, clock, log } = context;
    this.#parts = parts;
    this.#context = context;
    this.#startedAt = clock.now();
    const clientId = `${parts.installation}_state`;
    this.#presence = new Presence({ mqtt: config.mqtt, clientId, topics, clock, log });
  }

  /** To be called every few seconds. Never rejects. */
  async look(): Promise<void> {
    const { membership } = this.#parts;
    try {
      // No process can become the next keeper while the database is gone: the last one says so.
      if (membership.isDatabaseGone) {
        if (this.#presence.isHeld) await this.#tellThatDatabaseIsGone();
      } else if (membership.isKeeper) await this.#keep();
      else if (membership.fault === null) {
        if (this.#wasKeeper) await this.#presence.release();
        this.#wasKeeper = false;
      }
    } catch (err) {
      this.#context.log.debug(safeWords(err), 'the keeper of the fleet could not do its work');
    }
  }

  stop(): Promise<void> {
    return this.#presence.release();
  }

  async #keep(): Promise<void> {
    if (!this.#wasKeeper) this.#forget();
    this.#wasKeeper = true;
    const isNew = !this.#presence.isHeld;
    const hasForgotten = await this.#presence.hold();
    if (isNew) this.#forget();
    if (hasForgotten) await this.#republish();
    if (this.#isTime(this.#toldAt, TELL_EVERY_MS)) await this.#tell();
    if (this.#isTime(this.#tidiedAt, TIDY_EVERY_MS)) await this.#tidy();
  }

  #forget(): void {
    this.#published.clear();
    this.#toldAt = Number.NEGATIVE_INFINITY;
  }

  async #tell(): Promise<void> {
    const { database, health: latest } = this.#parts;
    const { topics, zone } = this.#context;
    const health = latest();
    if (health === null || !this.#presence.isHeld) return;
    this.#toldAt = this.#context.clock.monotonic();
    const info = await this.#composeInfo(health);
    await this.#send([stateMessage(topics, 'online'), ...info, healthMessage(topics, health, zone)]);
    // From now on a broker without bridge/info has forgotten it.
    await database.query('UPDATE heat2mqtt.fleet SET told = true WHERE NOT told');
  }

  async #tellThatDatabaseIsGone(): Promise<void> {
    const { membership, health } = this.#parts;
    const { topics, zone } = this.#context;
    const last = health();
    if (last === null) return;
    const record: HealthRecord = {
      ...last,
      isSomeAccountWell: false,
      reasons: [safeWords(membership.fault)],
      failuresInARow: membership.failuresInARow,
      nextPollAt: null,
    };
    const messages = [stateMessage(topics, 'offline'), healthMessage(topics, record, zone)];
    const isTold = this.#published.get(topics.of('bridge/state')) === 'offline';
    if (!isTold) await this.#send(messages);
    this.#toldAt = Number.NEGATIVE_INFINITY;
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
    const meters = rows.map((one) => {
      const property = {
        propertyCustomerId: '',
        subscriptionId: null,
        balanceGroupId: null,
        meterIdentifiers: [one.meter],
      };
      return {
        ...one,
        friendlyName: friendlyNameOf(config.meters, property, one.meter),
        identifiers: [one.meter],
      };
    });
    const { discovery_prefix: prefix } = config.mqtt;
    const options = { topics, page: pageAddress(config), constituencies: false };
    const info = { startedAt: this.#startedAt, schedule: config.usage.schedule, zone, health, meters };
    return [
      ...(prefix === false ? [] : announce(bridgeDocument({ prefix, ...options }))),
      infoMessage(topics, info),
    ];
  }

  async #send(all: readonly Message[]): Promise<void> {
    const messages = all.filter(({ topic, payload }) => this.#published.get(topic) !== payload);
    await this.#presence.send(messages);
    for (const { topic, payload } of messages) this.#published.set(topic, payload);
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

  async #tidy(): Promise<void> {
    const { topics, clock } = this.#context;
    this.#tidiedAt = clock.monotonic();
    const gone = await this.#parts.membership.forgetGone();
    const topicOf = (number: number) => topics.of('bridge/process/<number>/state', String(number));
    await this.#presence.send(gone.map((number) => clear(topicOf(number))));
  }

  #isTime(last: number, everyMs: number): boolean {
    return this.#context.clock.monotonic() - last >= everyMs;
  }
}
