// The page of a fleet, in any of its processes: what is retained on the broker, for so many meters as a person can look at.
// Loaded when somebody looks at it for the first time.

import { currencyOf } from '../../accounts/site.ts';
import type { Context } from '../../daemon/context.ts';
import { ledgerCsv } from '../../daemon/monitor/ledgerCsv.ts';
import { type PageSources, servePage } from '../../daemon/monitor/page.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Database } from '../../store/database/database.ts';
import { SignIns } from '../../web/signIn.ts';
import { BrokerDocuments } from './brokerDocuments.ts';
import { MOST_METERS, readMeters } from './meters.ts';

export interface FleetPageParts extends Pick<PageSources, 'requests' | 'logTail' | 'report'> {
  readonly database: Database;
  readonly link: Pick<Link, 'status'>;
  readonly number: number;
}

export function openFleetPage(
  { database, link, number, ...sources }: FleetPageParts,
  forMetrics: Parameters<typeof servePage>[1],
  context: Context,
) {
  const { config, topics, clock, log, zone } = context;
  const filters = async () => {
    const meters = await readMeters(database);
    if (meters.length < MOST_METERS) return [`${topics.base}/#`];
    const accounts = new Set(meters.map(({ account }) => account));
    return [
      `${topics.base}/bridge/#`,
      ...[...accounts].map((account) => `${topics.base}/account/${account}/#`),
      ...meters.map(({ meter }) => `${topics.base}/meter/${meter}/#`),
    ];
  };
  const name = `page_${number}`;
  const documents = new BrokerDocuments({ mqtt: config.mqtt, name, link, filters, clock, log });
  async function ledger(meter: string): Promise<string | null> {
    const rows = await database.query<
      Record<'day', string> &
        Record<'energy' | 'cost', number | null> &
        Record<'revision' | 'received_at', number>
    >(
      `SELECT r.day, r.energy, r.cost, r.revision, r.received_at
      FROM heat2mqtt.reading r JOIN heat2mqtt.series s ON s.id = r.series WHERE s.name = $1`,
      [meter],
    );
    const days = new Map(
      rows.map(({ day, received_at: receivedAt, ...rest }) => [day, { ...rest, receivedAt }]),
    );
    return rows.length === 0
      ? null
      : ledgerCsv({ tenancy: { days }, currency: currencyOf(config, null), zone });
  }
  const page = servePage(
    { ...sources, documents, ledger, signIns: noSignIns(context), energyDashboard: null },
    forMetrics,
    context,
  );
  return { listener: page.listener, stop: () => documents.stop() };
}

/** A person signs in with heat2mqtt login --account ID. */
const noSignIns = ({ clock, log }: Context): SignIns =>
  new SignIns({
    accounts: [],
    redirectUri: undefined,
    signedIn: () => undefined,
    mask: () => undefined,
    iso: String,
    clock,
    log,
  });
