// What a fleet does when asked over MQTT: polls of all accounts, and its health.

import type { Constituencies } from '../constituencies/onDemand.ts';
import { verdict } from '../domain/health.ts';
import type { Zone } from '../domain/period.ts';
import { type Handler, notConfigured, readParameters } from '../mqtt/requests.ts';
import { REQUESTS } from '../publication/payloads/requests.ts';
import type { Database } from '../store/database/database.ts';
import type { FleetHealth } from './members/status.ts';
import type { Jobs } from './work/jobs.ts';

export function fleetHandlers(
  { database, jobs }: { readonly database: Database; readonly jobs: Jobs },
  health: () => Promise<FleetHealth>,
  constituencies: Constituencies | null,
  zone: Zone,
  onFault: (err: unknown) => void,
): Readonly<Record<string, Handler>> {
  return {
    async refresh(parameters) {
      readParameters(REQUESTS.refresh, parameters);
      const accepted = await database.query(
        `UPDATE heat2mqtt.fleet SET asked_at = now() WHERE asked_at <= now() - interval '5 minutes' RETURNING id`,
      );
      if (accepted.length === 0) {
        const { pollNowAt } = await health();
        return { status: 'skipped', data: { reason: 'cool_down', next_at: zone.iso(pollNowAt ?? 0) } };
      }
      const rows = await database.query<{ id: string }>(
        'UPDATE heat2mqtt.account SET wanted = wanted + 1, due_at = now() WHERE NOT paused RETURNING id',
      );
      // What comes of it is on the topics of each account.
      void jobs.wake(rows.map(({ id }) => id)).catch(onFault);
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
    async constituencies(parameters) {
      if (constituencies !== null) return constituencies.answer(parameters);
      throw notConfigured('No constituencies are configured: the section constituencies is missing.');
    },
  };
}
