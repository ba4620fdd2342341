// What one process of a fleet does for all: bridge/state, info and health, and a broker that has forgotten everything.
// bridge/state has a connection of its own, which the keeper holds under one client id. Its will waits, so that the next keeper
// takes the session over before a subscriber reads offline; when all are gone, the broker publishes it.
import { createHash } from 'node:crypto';
import { friendlyNameOf } from '../accounts/names.ts';
import type { Reason } from '../domain/health.ts';
import type { ReadingCloses } from '../domain/readingCloses.ts';
import { safeWords } from '../foundation/failure.ts';
import { BaseTopicWatch } from '../mqtt/baseTopicWatch.ts';
import { brokerAddress } from '../mqtt/broker.ts';
import { type Link, openLink } from '../mqtt/link.ts';
import { bridgeDocument } from '../publication/discovery.ts';
import { homeLanguage } from '../publication/language.ts';
import { healthOf, infoMessage, stateMessage, withReasons } from '../publication/messages.ts';
import { type Retained, RetainedDiff } from '../publication/retainedDiff.ts';
import { bridgeSubscriptions, retainedInfo } from '../publication/subscriptions.ts';
import { clear } from '../publication/topics.ts';
import type { Counted } from './membership.ts';
import type { ProcessParts } from './run.ts';

const WILL_AFTER_SECONDS = 30;
const INSTANCE_DIGITS = 32;
/** A process that is not heard of for so long gives its number away. */
const GONE_SECONDS = 120;
/** Meters that bridge/info names: so many as a person can look at. */
const MOST_METERS = 500;

interface SeriesRow {
  readonly meter: string;
  readonly account: string;
  readonly readingCloses: ReadingCloses;
  /** Those of now. */
  readonly identifiers: readonly string[];
}

export function openKeeper({ membership, opened, context, link: ownLink }: ProcessParts) {
  const { database, installation } = opened;
  const { config, topics, clock, log, random, zone } = context;
  const { mqtt } = config;
  const startedAt = clock.now();
  const stateTopic = topics.of('bridge/state');
  // Of the fleet, not of this process: what the keeper before it has said is no other installation's.
  const instance = createHash('sha256').update(installation).digest('hex').slice(0, INSTANCE_DIGITS);
  let link: Link | null = null;
  /** What was published on the present connection. */
  let diff = new RetainedDiff();
  let told: Counted | null = null;
  let watch: BaseTopicWatch | null = null;

  /** Everything, whether it has changed or not, at the next look. */
  function tellAgain(): void {
    diff = new RetainedDiff();
    told = null;
  }

  async function keep(counted: Counted): Promise<void> {
    link ??= connect();
    if (!link.status().connected || counted === told) return;
    const info = await composeInfo();
    const reasons = [...brokerReasons(), ...(watch?.reasons() ?? [])];
    const health = topics.message('bridge/health', [], withReasons(counted.health, reasons));
    await tell([stateMessage(topics, 'online'), ...info, health]);
    told = counted;
    const gone = await database.query<{ number: number }>(
      'DELETE FROM heat2mqtt.process WHERE seen_at < now() - make_interval(secs => $1) RETURNING number',
      [GONE_SECONDS],
    );
    const topicOf = (number: number) => topics.of('bridge/process/<number>/state', String(number));
    await link.send(gone.map(({ number }) => clear(topicOf(number))));
  }

  function watchBaseTopic(): BaseTopicWatch {
    return new BaseTopicWatch({
      stateTopic,
      infoTopic: topics.of('bridge/info'),
      instance,
      clock,
      log,
      sayOnline(isAll) {
        // Nobody can tell that the fleet works, and `offline` was our own word.
        if (membership.isDatabaseGone()) return;
        link?.publish([stateMessage(topics, 'online')]);
        if (isAll) tellAgain();
      },
      sayInfo: tellAgain,
      onChange: tellAgain,
    });
  }

  /** Every process has the same user at the broker: what this one may not do, none may. */
  function brokerReasons(): Reason[] {
    const refusals = [...ownLink.refusals(), ...(link?.refusals() ?? [])];
    return [...new Map(refusals.map((refusal) => [refusal.message, safeWords(refusal)])).values()];
  }

  function connect(): Link {
    const hearing = watchBaseTopic();
    watch = hearing;
    const next = openLink({
      address: () => brokerAddress(mqtt, mqtt.url, `${installation}_state`),
      will: stateMessage(topics, 'offline'),
      willAfterSeconds: WILL_AFTER_SECONDS,
      subscriptions: bridgeSubscriptions(topics),
      clock,
      log,
      random,
    });
    next.start({
      announcement: () => [stateMessage(topics, 'online')],
      onMessage: (incoming) => void hearing.hear(incoming),
      onStatus() {
        tellAgain();
        // Another process has taken the session over.
        if (!next.status().connected && !membership.isKeeper()) void stop();
      },
      async restore(read) {
        if ((await read(retainedInfo(topics))) === null) await republish();
      },
    });
    return next;
  }

  /** The broker has forgotten everything, or has never been told: all accounts are published again. */
  async function republish(): Promise<void> {
    const rows = await database.query(
      `UPDATE heat2mqtt.account SET republish = republish + 1, due_at = least(due_at, now())
      WHERE NOT removed AND last_poll_at IS NOT NULL RETURNING id`,
    );
    if (rows.length > 0)
      log.warn({ accounts: rows.length }, 'the broker has nothing retained: published again');
  }

  async function tellThatDatabaseIsGone(last: Counted): Promise<void> {
    told = null;
    // The state of before is no longer true.
    const { state: _state, ...known } = last.health;
    const { failuresInARow = 0, fault } = membership.trouble() ?? {};
    const trouble = { reasons: [safeWords(fault)], failures_in_a_row: failuresInARow, next_poll_at: null };
    const health = topics.message('bridge/health', [], healthOf({ ...known, ...trouble }, false));
    await tell([stateMessage(topics, 'offline'), health]);
  }

  async function composeInfo(): Promise<Retained[]> {
    const rows = await database.query<SeriesRow>(
      `SELECT name AS meter, account, coalesce(ledger ->> 'readingCloses', 'same_day') AS "readingCloses",
        coalesce(ledger -> 'identifiers', json_build_array(name)) AS identifiers FROM heat2mqtt.series
      WHERE ledger ->> 'complete' = 'true' ORDER BY account, name LIMIT $1`,
      [MOST_METERS],
    );
    const meters = rows.map((one) => ({
      ...one,
      friendlyName: friendlyNameOf(config.meters, { meterIdentifiers: one.identifiers }, one.meter),
    }));
    const { discovery_prefix: prefix } = mqtt;
    const options = { topics, page: null, constituencies: false, language: homeLanguage(config.language) };
    const info = { startedAt, instance, schedule: config.usage.schedule, zone, meters };
    return [...(prefix === false ? [] : [bridgeDocument({ prefix, ...options })]), infoMessage(topics, info)];
  }

  /** What differs from what was published last. Rejects without a connection. */
  async function tell(all: readonly Retained[]): Promise<void> {
    await link?.send(diff.take(stateTopic, all));
  }

  /** Without farewell: the will stays with the session that the next one takes over. */
  async function stop(): Promise<void> {
    const last = link;
    link = null;
    watch?.stop();
    watch = null;
    await last?.stop([], 0);
  }

  return {
    stop,
    /** To be called every few seconds. Never rejects. */
    async look(): Promise<void> {
      try {
        const counted = membership.counted();
        // No process can become the next keeper while the database is gone: the last one says so.
        if (counted !== null && membership.isDatabaseGone()) await tellThatDatabaseIsGone(counted);
        else if (counted !== null && membership.isKeeper()) await keep(counted);
        else if (membership.trouble() === null) await stop();
      } catch (err) {
        log.debug(safeWords(err), 'the keeper of the fleet could not do its work');
      }
    },
  };
}
