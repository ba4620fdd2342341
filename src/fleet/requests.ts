// What a fleet does when asked over MQTT: polls of all accounts, its health, and lists of constituencies.
import type { AccountContext } from '../accounts/context.ts';
import { listAnswer, listMessage, listName } from '../constituencies/onDemand.ts';
import { openPublicList } from '../constituencies/publicList.ts';
import { caveat } from '../domain/constituency.ts';
import { verdict } from '../domain/health.ts';
import { RateLimit } from '../foundation/limits.ts';
import type { Message } from '../mqtt/message.ts';
import { type Handler, notConfigured, readParameters } from '../mqtt/requests.ts';
import { REQUESTS } from '../publication/payloads/requests.ts';
import type { Database } from '../store/database/database.ts';
import type { FleetHealth } from './membership.ts';

interface Parts {
  readonly database: Database;
  readonly health: () => Promise<FleetHealth>;
  readonly publish: (messages: readonly Message[]) => void;
}

const MOST_FETCHES = 30;
const FETCHES_WITHIN_MS = 5 * 60_000;

export function fleetHandlers(
  { database, health, publish }: Parts,
  { zone, config, clock, topics }: Pick<AccountContext, 'zone' | 'config' | 'clock' | 'topics'>,
): Readonly<Record<string, Handler>> {
  const publicList = config.constituencies ? openPublicList(config.constituencies, clock) : null;
  const fetches = new RateLimit(clock, MOST_FETCHES, FETCHES_WITHIN_MS);
  const skipped = (reason: string, nextAt: number) =>
    ({ status: 'skipped', data: { reason, next_at: zone.iso(nextAt) } }) as const;
  return {
    async refresh(parameters) {
      readParameters(REQUESTS.refresh, parameters);
      // Accounts that the provider has told to wait are taken after that.
      const accepted = await database.query(
        `WITH asked AS (UPDATE heat2mqtt.fleet SET asked_at = now() WHERE asked_at <= now() - interval '5 minutes' RETURNING id),
        woken AS (UPDATE heat2mqtt.account SET wanted = wanted + 1, due_at = least(due_at, now())
          FROM asked WHERE NOT paused AND NOT removed)
        SELECT id FROM asked`,
      );
      if (accepted.length === 0) return skipped('cool_down', (await health()).pollNowAt ?? clock.now());
      // What comes of it is on the topics of each account.
      return { status: 'ok', data: { accounts: [] } };
    },
    async backfill() {
      throw notConfigured('A fleet does not read days again on request.');
    },
    async health(parameters) {
      readParameters(REQUESTS.health, parameters);
      const found = await health();
      const { failuresInARow, reasons } = found;
      return { status: 'ok', data: { state: verdict(found), failures_in_a_row: failuresInARow, reasons } };
    },
    /** The list of a house is published on its topic; one with gaps, or of unknown shape, is not. */
    async constituencies(parameters) {
      if (publicList === null)
        throw notConfigured('No constituencies are configured: the section constituencies is missing.');
      const asked = publicList.readQuestion(parameters);
      if (!fetches.tryStart()) return skipped('rate_limit', clock.now() + fetches.waitMs());
      const answered = await publicList.read(asked);
      const view = { ...answered, fetchedAt: clock.now(), stale: false };
      const warning = caveat(answered);
      const isWhole = warning === null && (view.list.constituencies ?? []).length > 0;
      const name = isWhole ? listName(view.question) : null;
      if (name !== null) publish([listMessage(topics, zone, name, view)]);
      // What was published before is not known here.
      const more = { ...(warning === null ? {} : { warning }), fetched: true, changed: name !== null };
      return { status: 'ok', data: { ...listAnswer(topics, zone, name, view), ...more } };
    },
  };
}
