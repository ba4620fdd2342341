// The work of one process of a fleet for all: bridge/state, info and health, and a broker that has forgotten everything.
// bridge/state has a connection of its own, which the keeper holds under one client id. Its will waits, so that the next keeper
// takes the session over before a subscriber reads offline; when all are gone, the broker publishes it.
import { createHash } from 'node:crypto';
import { friendlyNameOf } from '../accounts/names.ts';
import type { Reason } from '../domain/health.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { safeWords } from '../foundation/failure.ts';
import { BaseTopicWatch } from '../mqtt/baseTopicWatch.ts';
import { brokerAddress } from '../mqtt/broker.ts';
import { Link } from '../mqtt/link.ts';
import { bridgeDocument } from '../publication/discovery.ts';
import { homeLanguage } from '../publication/language.ts';
import { healthOf, infoMessage, stateMessage, withReasons } from '../publication/messages.ts';
import { type Retained, RetainedDiff } from '../publication/retainedDiff.ts';
import { bridgeSubscriptions, retainedInfo } from '../publication/subscriptions.ts';
import { clear } from '../publication/topics.ts';
import type { Database } from '../store/database/database.ts';
import type { Counted } from './health.ts';
import type { ProcessParts } from './run.ts';

const WILL_AFTER_SECONDS = 30;
const INSTANCE_DIGITS = 32;
/** A process that is not heard of for so long gives its number away. */
const GONE_SECONDS = 120;
/** Meters that bridge/info names: so many as a person can look at. */
const MOST_METERS = 500;

/** The connection of bridge/state, and what is heard on it. */
interface Voice {
  readonly link: Link;
  readonly watch: BaseTopicWatch;
}

export class Keeper {
  readonly #parts: ProcessParts;
  readonly #startedAt: number;
  /** `null`: another process keeps. */
  #voice: Voice | null = null;
  /** The messages published on the present connection. */
  #diff = new RetainedDiff();
  /** The counts that bridge/health has; `null`: it is to be told again. */
  #published: Counted | null = null;
  /** The fleet's, not the process's: what the keeper before it has said is no other installation's. */
  readonly #instance: string;

  constructor(parts: ProcessParts) {
    const { installation } = parts.opened;
    this.#instance = createHash('sha256').update(installation).digest('hex').slice(0, INSTANCE_DIGITS);
    this.#parts = parts;
    this.#startedAt = parts.context.clock.now();
  }

  /** The process looks every few seconds. Never rejects. */
  async look(): Promise<void> {
    const { membership, counts, context } = this.#parts;
    try {
      const counted = counts.last;
      // No process can become the next keeper while the database is gone: the last one says so.
      if (counted !== null && membership.isDatabaseGone()) await this.#tellThatDatabaseIsGone(counted);
      else if (counted !== null && membership.isKeeper()) await this.#keep(counted);
      else if (membership.trouble() === null) await this.stop();
    } catch (err) {
      context.log.debug(safeWords(err), 'the keeper of the fleet could not do its work');
    }
  }

  /** It leaves without farewell: the will stays with the session that the next one takes over. */
  async stop(): Promise<void> {
    const voice = this.#voice;
    this.#voice = null;
    voice?.watch.stop();
    await voice?.link.stop([], 0);
  }

  async #keep(counted: Counted): Promise<void> {
    const { context } = this.#parts;
    const { topics } = context;
    this.#voice ??= this.#connect();
    const { link, watch } = this.#voice;
    if (!link.status().connected || counted === this.#published) return;
    const info = await this.#composeInfo();
    const reasons = [...this.#brokerReasons(link), ...watch.reasons()];
    const health = topics.message('bridge/health', [], withReasons(counted.health, reasons));
    await this.#tell([stateMessage(topics, 'online'), ...info, health]);
    this.#published = counted;
    await this.#forgetTheDead(link);
  }

  /** Processes that are not heard of give their numbers away. */
  async #forgetTheDead(link: Link): Promise<void> {
    const { opened, context } = this.#parts;
    const gone = await opened.database.query<{ number: number }>(
      'DELETE FROM heat2mqtt.process WHERE seen_at < now() - make_interval(secs => $1) RETURNING number',
      [GONE_SECONDS],
    );
    const topicOf = (number: number) => context.topics.of('bridge/process/<number>/state', String(number));
    await link.send(gone.map(({ number }) => clear(topicOf(number))));
  }

  /** Everything, whether it has changed or not, at the next look. */
  #tellAgain(): void {
    this.#diff = new RetainedDiff();
    this.#published = null;
  }

  #watchBaseTopic(): BaseTopicWatch {
    const { membership, context } = this.#parts;
    const { topics } = context;
    return new BaseTopicWatch({
      ...context,
      stateTopic: topics.of('bridge/state'),
      infoTopic: topics.of('bridge/info'),
      instance: this.#instance,
      isConnected: () => this.#voice?.link.status().connected ?? false,
      sayOnline: (isAll) => {
        // Nobody can tell that the fleet works, and `offline` was our own word.
        if (membership.isDatabaseGone()) return;
        this.#voice?.link.publish([stateMessage(topics, 'online')]);
        if (isAll) this.#tellAgain();
      },
      sayInfo: () => this.#tellAgain(),
      onChange: () => this.#tellAgain(),
    });
  }

  /** Every process has the same user at the broker: what this one may not do, none may. */
  #brokerReasons(link: Link): Reason[] {
    const refusals = [...this.#parts.link.refusals(), ...link.refusals()];
    return [...new Map(refusals.map((refusal) => [refusal.message, safeWords(refusal)])).values()];
  }

  #connect(): Voice {
    const { membership, opened, context } = this.#parts;
    const { config, topics } = context;
    const { mqtt } = config;
    const watch = this.#watchBaseTopic();
    const link = new Link({
      ...context,
      address: () => brokerAddress(mqtt, mqtt.url, `${opened.installation}_state`),
      will: stateMessage(topics, 'offline'),
      willAfterSeconds: WILL_AFTER_SECONDS,
      subscriptions: bridgeSubscriptions(topics),
    });
    link.start({
      announcement: () => [stateMessage(topics, 'online')],
      onMessage: (incoming) => void watch.hear(incoming),
      onStatus: () => {
        this.#tellAgain();
        // Another process has taken the session over.
        if (!link.status().connected && !membership.isKeeper()) void this.stop();
      },
      restore: async (read) => {
        if ((await read(retainedInfo(topics))) === null) await this.#republish();
      },
    });
    return { link, watch };
  }

  /** The broker has forgotten everything, or has never been told: all accounts are published again. */
  async #republish(): Promise<void> {
    const { opened, context } = this.#parts;
    const rows = await opened.database.query(
      `UPDATE heat2mqtt.account SET republish = republish + 1, due_at = least(due_at, now())
      WHERE NOT removed AND last_poll_at IS NOT NULL RETURNING id`,
    );
    if (rows.length > 0)
      context.log.warn({ accounts: rows.length }, 'the broker has nothing retained: published again');
  }

  async #tellThatDatabaseIsGone(last: Counted): Promise<void> {
    const { membership, context } = this.#parts;
    const { topics } = context;
    this.#published = null;
    const { failuresInARow = 0, fault } = membership.trouble() ?? {};
    const trouble = { reasons: [safeWords(fault)], failures_in_a_row: failuresInARow, next_poll_at: null };
    // The state of before is no longer true.
    const { state: _, ...counts } = last.health;
    const health = topics.message('bridge/health', [], healthOf({ ...counts, ...trouble }, false));
    await this.#tell([stateMessage(topics, 'offline'), health]);
  }

  async #composeInfo(): Promise<Retained[]> {
    const { opened, context } = this.#parts;
    const { config, topics, zone } = context;
    const meters = (await listMeters(opened.database)).map((listed) => ({
      ...listed,
      friendlyName: friendlyNameOf(config.meters, { meterIdentifiers: listed.identifiers }, listed.meter),
    }));
    const { schedule } = config.usage;
    const { discovery_prefix: prefix } = config.mqtt;
    const startedAt = this.#startedAt;
    const info = infoMessage(topics, { startedAt, instance: this.#instance, schedule, zone, meters });
    if (prefix === false) return [info];
    const language = homeLanguage(config.language);
    return [bridgeDocument({ prefix, topics, page: null, constituencies: false, language }), info];
  }

  /** Publishes what differs from the last time. Rejects without a connection. */
  async #tell(retained: readonly Retained[]): Promise<void> {
    await this.#voice?.link.send(this.#diff.take('bridge', retained));
  }
}

interface ListedMeter {
  readonly meter: string;
  readonly account: string;
  readonly readingCloses: ReadingCloses;
  /** The identifiers of the present meter. */
  readonly identifiers: readonly string[];
}

/** The meters whose history is complete, as many as bridge/info names. */
export const listMeters = (database: Database): Promise<ListedMeter[]> =>
  database.query<ListedMeter>(
    `SELECT name AS meter, account, coalesce(reading_closes, 'same_day') AS "readingCloses",
      coalesce(ledger -> 'identifiers', json_build_array(name)) AS identifiers FROM heat2mqtt.series
    WHERE complete ORDER BY account, name LIMIT $1`,
    [MOST_METERS],
  );
