// The answers of a fleet's process to requests over MQTT.
import { answerWith, listMessage, listName } from '../constituencies/lists.ts';
import { openPublicList } from '../constituencies/publicList.ts';
import { caveat } from '../domain/constituency.ts';
import { safeWords } from '../foundation/failure.ts';
import { type Handler, notConfigured, readParameters } from '../mqtt/requests.ts';
import { withReasons } from '../publication/messages.ts';
import { REQUESTS } from '../publication/payloads/requests.ts';
import type { ProcessParts } from './run.ts';

interface HandlerParts {
  readonly counts: Pick<ProcessParts['counts'], 'now'>;
  readonly opened: Pick<ProcessParts['opened'], 'database'>;
  readonly link: Pick<ProcessParts['link'], 'publish' | 'refusals'>;
  readonly context: Pick<ProcessParts['context'], 'zone' | 'config' | 'clock' | 'topics'>;
}

/** The handlers of requests over MQTT. */
export function fleetHandlers(parts: HandlerParts): Readonly<Record<string, Handler>> {
  const { counts, opened, link, context } = parts;
  const { zone, config, clock } = context;
  const publicList = config.constituencies ? openPublicList(config.constituencies, clock) : null;
  const skipped = (reason: string, next_at: string) =>
    ({ status: 'skipped', data: { reason, next_at } }) as const;
  return {
    async refresh(parameters) {
      readParameters(REQUESTS.refresh, parameters);
      // Accounts that the provider has told to wait are taken after that.
      const [answer] = await opened.database.query<{ isAccepted: boolean; nextAt: number }>(
        `WITH asked AS (UPDATE heat2mqtt.fleet SET asked_at = now() WHERE asked_at <= now() - interval '5 minutes' RETURNING id),
        woken AS (UPDATE heat2mqtt.account SET wanted = wanted + 1, due_at = least(due_at, now())
          FROM asked WHERE NOT paused AND NOT removed)
        SELECT EXISTS (SELECT FROM asked) AS "isAccepted", asked_at + interval '5 minutes' AS "nextAt" FROM heat2mqtt.fleet`,
      );
      if (answer?.isAccepted !== true) return skipped('cool_down', zone.iso(answer?.nextAt ?? clock.now()));
      // The outcome is on the topics of each account.
      return { status: 'ok', data: { accounts: [] } };
    },
    async backfill() {
      throw notConfigured('A fleet does not read days again on request.');
    },
    async health(parameters) {
      readParameters(REQUESTS.health, parameters);
      const counted = (await counts.now()).health;
      const { state, failures_in_a_row, reasons } = withReasons(counted, link.refusals().map(safeWords));
      return { status: 'ok', data: { state, failures_in_a_row, reasons } };
    },
    /** The list of a house is published on its topic; one with gaps, or of unknown shape, is not. */
    async constituencies(parameters) {
      if (publicList === null)
        throw notConfigured('No constituencies are configured: the section constituencies is missing.');
      const asked = publicList.readQuestion(parameters);
      const { fetches } = publicList;
      if (!fetches.tryStart()) return skipped('rate_limit', zone.iso(clock.now() + fetches.waitMs()));
      const answered = await publicList.read(asked);
      const view = { ...answered, fetchedAt: clock.now(), stale: false };
      const isWhole = caveat(view) === null && (view.list.constituencies ?? []).length > 0;
      const name = isWhole ? listName(view.question) : null;
      if (name !== null) link.publish([listMessage(context, name, view)]);
      // This process does not know earlier publications.
      return answerWith(context, name, view, { fetched: true, changed: name !== null });
    },
  };
}
