// What one process of a fleet does for all: bridge/state, info and health, and accounts that have lost their job.

import { pageAddress } from '../../config/pageAddress.ts';
import type { Context } from '../../daemon/context.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { Link } from '../../mqtt/link.ts';
import { healthMessage, infoMessage, stateMessage } from '../../publication/bridge.ts';
import { announce, bridgeDocument } from '../../publication/discovery.ts';
import { clear } from '../../publication/topics.ts';
import type { Database } from '../../store/database/database.ts';
import { readMeters } from '../page/meters.ts';
import type { Jobs } from '../work/jobs.ts';
import type { Membership } from './membership.ts';
import { Presence } from './presence.ts';
import type { FleetHealth } from './status.ts';

interface Parts {
  readonly membership: Membership;
  readonly health: () => Promise<FleetHealth>;
  readonly jobs: Jobs;
  readonly database: Database;
  readonly link: Pick<Link, 'publish' | 'send' | 'status'>;
  readonly installation: string;
}

const TELL_EVERY_MS = 15_000;
const TIDY_EVERY_MS = 60_000;
/** A standing job that has not run by then is lost, or late: it is asked for again, and there is one in any case. */
const LOST_AFTER_SECONDS = 120;
const MOST_LOST = 1_000;

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
      if (!membership.isKeeper) {
        if (this.#wasKeeper) await this.#presence.release();
        this.#wasKeeper = false;
        return;
      }
      if (!this.#wasKeeper) this.#published.clear();
      if (!this.#wasKeeper) this.#toldAt = Number.NEGATIVE_INFINITY;
      this.#wasKeeper = true;
      if (await this.#presence.hold()) {
        this.#published.clear();
        await this.#publishAnew();
      }
      if (this.#isTime(this.#toldAt, TELL_EVERY_MS)) await this.#tell();
      if (this.#isTime(this.#tidiedAt, TIDY_EVERY_MS)) await this.#tidy();
    } catch (err) {
      this.#context.log.debug(safeWords(err), 'the keeper of the fleet could not do its work');
    }
  }

  async stop(othersLive: boolean): Promise<void> {
    if (!othersLive) {
      const { topics } = this.#context;
      await this.#parts.link.send([stateMessage(topics, 'offline')]).catch(() => undefined);
    }
    await this.#presence.release();
  }

  async #tell(): Promise<void> {
    const { link, health, database } = this.#parts;
    const { topics, config, zone, clock } = this.#context;
    if (!link.status().connected) return;
    this.#toldAt = clock.monotonic();
    const found = await health();
    const meters = (await readMeters(database)).map((each) => ({
      ...each,
      friendlyName: config.meters[each.meter]?.name ?? null,
      identifiers: [each.meter],
    }));
    const { discovery_prefix: prefix } = config.mqtt;
    const constituencies = config.constituencies !== undefined;
    const options = { topics, page: pageAddress(config), constituencies };
    const bridge = {
      startedAt: this.#startedAt,
      schedule: config.usage.schedule,
      zone,
      health: found,
      meters,
    };
    const messages = [
      ...(prefix === false ? [] : announce(bridgeDocument({ prefix, ...options }))),
      infoMessage(topics, bridge),
      healthMessage(topics, found, zone),
    ].filter(({ topic, payload }) => this.#published.get(topic) !== payload);
    await link.send(messages);
    // From now on a broker without bridge/info has forgotten it.
    await database.query('UPDATE heat2mqtt.fleet SET told = true WHERE NOT told');
    for (const { topic, payload } of messages) this.#published.set(topic, payload);
  }

  /** The broker has forgotten everything: all accounts are polled and published again, as fast as the budget allows. */
  async #publishAnew(): Promise<void> {
    const { database } = this.#parts;
    const rows = await database.query<{ id: string }>(
      `UPDATE heat2mqtt.account SET anew = true, due_at = now()
      WHERE NOT paused AND NOT removed AND last_poll_at IS NOT NULL AND (SELECT told FROM heat2mqtt.fleet)
      RETURNING id`,
    );
    if (rows.length > 0)
      this.#context.log.warn({ accounts: rows.length }, 'the broker has forgotten what was retained');
    this.#wake(rows);
  }

  async #tidy(): Promise<void> {
    const { database, membership, link } = this.#parts;
    const { topics, clock } = this.#context;
    this.#tidiedAt = clock.monotonic();
    const gone = await membership.forgetGone();
    link.publish(gone.map((number) => clear(topics.of('bridge/process/<number>/state', String(number)))));
    const lost = await database.query<{ id: string }>(
      `SELECT id FROM heat2mqtt.account
      WHERE NOT paused AND due_at < now() - make_interval(secs => $1) AND claimed_until < now() LIMIT $2`,
      [LOST_AFTER_SECONDS, MOST_LOST],
    );
    this.#wake(lost);
  }

  /** Takes a while with thousands; whatever is cut off is found again by `#tidy`. */
  #wake(accounts: readonly { readonly id: string }[]): void {
    const { log } = this.#context;
    void this.#parts.jobs
      .wake(accounts.map(({ id }) => id))
      .catch((err) => log.debug({ err }, 'accounts could not be woken'));
  }

  #isTime(last: number, everyMs: number): boolean {
    return this.#context.clock.monotonic() - last >= everyMs;
  }
}
