// heat2mqtt export: the ledgers on disk as CSV, JSON or line protocol. No request is made.
import { knownMeters } from '../accounts/names.ts';
import { knownInFull } from '../domain/amount.ts';
import { type Ledger, ledgerSince } from '../domain/ledger.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { periodSums } from '../domain/totals.ts';
import { EXIT } from '../foundation/failure.ts';
import type { LedgerDocument } from '../store/ledgerDocument.ts';
import { loadHousehold, pickAccount } from './account.ts';
import { type Command, choiceOf, type Io } from './command.ts';
import { print } from './printing.ts';
import type { Settings } from './settings.ts';

const COLUMNS = ['account', 'meter', 'start', 'end', 'energy_kwh', 'cost'];
const REVISIONS = ['revision', 'received_at'];

export const exportLedgers: Command = async (given, io) => {
  const { options } = given;
  const interval = choiceOf('--interval', options.interval ?? 'day', ['day', 'week', 'month']);
  const format = choiceOf('--format', options.format ?? 'csv', ['csv', 'json', 'influx']);
  const settings = await loadHousehold(given, io);
  const { config } = settings;
  const only = options.account === undefined ? null : pickAccount(settings, options.account).id;
  const { found, unreadable } = await ledgersOf(settings, io, only);
  const records = found.flatMap(({ account, meter, tenancy, timezone }) => {
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
  if (found.length === 0 && unreadable.length === 0) io.err(`No readings in ${config.state_dir} yet.\n`);
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

/** The ledgers of the `only` account, or of all, under the names that the meters have in topics. `unreadable`: documents, which are told. */
export async function ledgersOf({ config, state }: Settings, io: Io, only: string | null) {
  const found: (LedgerDocument & {
    readonly account: string;
    readonly meter: string;
    readonly property: Property;
    /** The part since `accounts[].history_since`. */
    readonly tenancy: Ledger;
  })[] = [];
  const unreadable: string[] = [];
  for (const { account, name: meter, property, file, ledger } of await knownMeters(state, config)) {
    if (ledger === null || (only ?? account) !== account) continue;
    const document = await ledger.read();
    const since = config.accounts.find(({ id }) => id === account)?.history_since;
    if (document === null) unreadable.push(file);
    else {
      const tenancy = ledgerSince(document.ledger, since ?? document.ledger.origin);
      found.push({ ...document, account, meter, property, tenancy });
    }
  }
  for (const name of unreadable)
    io.err(`Left out, as it is damaged, of a newer version or not readable: ${name}.\n`);
  return { found, unreadable };
}
