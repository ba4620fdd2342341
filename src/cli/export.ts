// heat2mqtt export: the ledgers as CSV, JSON or line protocol, from what is on this disk. No request is made.
import { knownMeters } from '../accounts/names.ts';
import { knownInFull } from '../domain/amount.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { periodSums } from '../domain/totals.ts';
import { EXIT } from '../foundation/failure.ts';
import { loadHousehold, pickAccount } from './account.ts';
import type { Command } from './commands.ts';
import { ledgersOf } from './onDisk.ts';
import { print } from './printing.ts';

const COLUMNS = ['account', 'meter', 'start', 'end', 'energy_kwh', 'cost'];
const REVISIONS = ['revision', 'received_at'];

const exportLedgers: Command<'export'> = async (given, io) => {
  const { options } = given;
  const { interval = 'day', format = 'csv' } = options;
  const settings = await loadHousehold(given, io);
  const { config, state } = settings;
  const only = options.account === undefined ? null : pickAccount(settings, options.account).id;
  const { ledgers, unreadable } = await ledgersOf(await knownMeters(state, config), config, io, only);
  const records = ledgers.flatMap(({ account, meter, tenancy, timezone }) => {
    const zone = zoneOf(timezone);
    return periodSums(tenancy, interval, Number.POSITIVE_INFINITY).map((sum) => ({
      account,
      meter,
      start: zone.iso(zone.startOf(sum.start)),
      end: zone.iso(zone.startOf(sum.end)),
      energy_kwh: knownInFull(sum.energy),
      cost: knownInFull(sum.cost),
      ...(options.revisions ? { revision: sum.revision, received_at: zone.iso(sum.receivedAt) } : {}),
    }));
  });
  if (ledgers.length === 0 && unreadable.length === 0) io.err(`No readings in ${config.state_dir} yet.\n`);
  if (format === 'influx') io.out(records.map(lineOf).join(''));
  else
    print(
      format,
      { records, csv: [...COLUMNS, ...(options.revisions ? REVISIONS : [])], table: () => [] },
      io,
    );
  return unreadable.length === 0 ? EXIT.fine : EXIT.unexpected;
};

type Exported = Record<'account' | 'meter' | 'start', string> & Record<'energy_kwh' | 'cost', number | null>;

/** InfluxDB's line protocol: each period at its own first instant, in nanoseconds. Empty where nothing is known of it. */
function lineOf({ account, meter, start, energy_kwh, cost }: Exported): string {
  const fields = Object.entries({ energy_kwh, cost }).filter(([, value]) => value !== null);
  if (fields.length === 0) return '';
  const values = fields.map(([key, value]) => `${key}=${value}`).join(',');
  return `heat,account=${account},meter=${meter} ${values} ${Date.parse(start)}000000\n`;
}

export { exportLedgers as export };
