// What one process of a fleet does for all: bridge/state, info and health, and a broker that has forgotten everything.
// bridge/state has a connection of its own, which the keeper holds under one client id. Its will waits, so that the next keeper
// takes the session over before a subscriber reads offline; when all are gone, the broker publishes it.
import type { AccountContext } from '../accounts/context.ts';
import { friendlyNameOf } from '../accounts/names.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { safeWords } from '../foundation/failure.ts';
import { brokerAddress } from '../mqtt/broker.ts';
import { Link } from '../mqtt/link.ts';
import type { Message } from '../mqtt/message.ts';
import { announce, bridgeDocument } from '../publication/discovery.ts';
import { homeLanguage } from '../publication/language.ts';
import { healthMessage, infoMessage, stateMessage } from '../publication/messages.ts';
import { clear } from '../publication/topics.ts';
import type { FleetHealth } from './health.ts';
import type { Membership } from './membership.ts';
import type { OpenFleet } from './open.ts';

interface Parts {
  readonly membership: Membership;
  /** As it was counted last; `null`: not yet. */
  readonly health: () => FleetHealth | null;
  readonly opened: Pick<OpenFleet, 'database' | 'installation'>;
}

type Context = Pick<AccountContext, 'config' | 'topics' | 'clock' | 'log' | 'random' | 'zone'>;

const TELL_EVERY_MS = 15_000;
const TIDY_EVERY_MS = 60_000;
const WILL_AFTER_SECONDS = 30;
/** Meters that bridge/info names: so many as a person can look at. */
const MOST_METERS = 500;
const NEVER = Number.NEGATIVE_INFINITY;

export function openKeeper(
  { membership, health, opened: { database, installation } }: Parts,
  { config, topics, clock, log, random, zone }: Context,
) {
  const { mqtt } = config;
  const startedAt = clock.now();
  let link: Link | null = null;
  /** What was published last on the present connection, by topic. */
  const published = new Map<string, string>();
  /** On the monotonic clock. */
  let toldAt = NEVER;
  let tidiedAt = NEVER;

  async function keep(): Promise<void> {
    link ??= connect();
    const now = clock.monotonic();
    const latest = health();
    if (!link.status().connected || latest === null) return;
    if (now - toldAt >= TELL_EVERY_MS) {
      const info = await composeInfo(latest);
      await send([stateMessage(topics, 'online'), ...info, healthMessage(topics, latest, zone)]);
      toldAt = now;
      // From now on a broker without bridge/info has forgotten it.
      await database.query('UPDATE heat2mqtt.fleet SET told = true WHERE NOT told');
    }
    if (now - tidiedAt >= TIDY_EVERY_MS) {
      tidiedAt = now;
      const gone = await membership.forgetGone();
      const topicOf = (number: number) => topics.of('bridge/process/<number>/state', String(number));
      await link.send(gone.map((number) => clear(topicOf(number))));
    }
  }

  function connect(): Link {
    const next = new Link({
      address: () => brokerAddress(mqtt, mqtt.url, `${installation}_state`),
      will: stateMessage(topics, 'offline'),
      willAfterSeconds: WILL_AFTER_SECONDS,
      subscriptions: [],
      retainAsPublished: [],
      clock,
      log,
      random,
    });
    next.start({
      announcement: () => [stateMessage(topics, 'online')],
      onMessage: () => undefined,
      onDelivered: () => undefined,
      onStatus() {
        published.clear();
        toldAt = NEVER;
        // Another process has taken the session over.
        if (!next.status().connected && !membership.isKeeper()) void stop();
      },
      async restore(read) {
        if ((await read(topics.of('bridge/info'))).length === 0) await republish();
      },
    });
    return next;
  }

  /** The broker has forgotten everything: all accounts are published again. */
  async function republish(): Promise<void> {
    const rows = await database.query(
      `UPDATE heat2mqtt.account SET republish = republish + 1, due_at = least(due_at, now())
      WHERE NOT removed AND last_poll_at IS NOT NULL AND (SELECT told FROM heat2mqtt.fleet) RETURNING id`,
    );
    if (rows.length > 0) log.warn({ accounts: rows.length }, 'the broker has forgotten what was retained');
  }

  async function tellThatDatabaseIsGone(): Promise<void> {
    const last = health();
    if (last === null || link === null) return;
    if (published.get(topics.of('bridge/state')) === 'offline') return;
    toldAt = NEVER;
    const { failuresInARow, fault } = membership.trouble();
    const trouble = {
      isSomeAccountWell: false,
      reasons: [safeWords(fault)],
      failuresInARow,
      nextPollAt: null,
    };
    await send([stateMessage(topics, 'offline'), healthMessage(topics, { ...last, ...trouble }, zone)]);
  }

  async function composeInfo(latest: FleetHealth): Promise<Message[]> {
    const rows = await database.query<{ meter: string; account: string; readingCloses: ReadingCloses }>(
      `SELECT name AS meter, account, coalesce(ledger ->> 'readingCloses', 'same_day') AS "readingCloses" FROM heat2mqtt.series
      WHERE ledger ->> 'complete' = 'true' ORDER BY account, name LIMIT $1`,
      [MOST_METERS],
    );
    const meters = rows.map((one) => ({
      ...one,
      friendlyName: friendlyNameOf(config.meters, { meterIdentifiers: [one.meter] }, one.meter),
      identifiers: [one.meter],
    }));
    const { discovery_prefix: prefix } = mqtt;
    const options = { topics, page: null, constituencies: false, language: homeLanguage(config.language) };
    const info = { startedAt, schedule: config.usage.schedule, zone, health: latest, meters };
    return [
      ...(prefix === false ? [] : announce(bridgeDocument({ prefix, ...options }))),
      infoMessage(topics, info),
    ];
  }

  /** What differs from what was published last. Rejects without a connection. */
  async function send(messages: readonly Message[]): Promise<void> {
    const news = messages.filter(({ topic, payload }) => published.get(topic) !== payload);
    await link?.send(news);
    for (const { topic, payload } of news) published.set(topic, payload);
  }

  /** Without farewell: the will stays with the session that the next one takes over. */
  async function stop(): Promise<void> {
    const last = link;
    link = null;
    await last?.stop([], 0);
  }

  return {
    stop,
    /** To be called every few seconds. Never rejects. */
    async look(): Promise<void> {
      try {
        // No process can become the next keeper while the database is gone: the last one says so.
        if (membership.isDatabaseGone()) await tellThatDatabaseIsGone();
        else if (membership.isKeeper()) await keep();
        else if (membership.trouble().fault === null) await stop();
      } catch (err) {
        log.debug(safeWords(err), 'the keeper of the fleet could not do its work');
      }
    },
  };
}
