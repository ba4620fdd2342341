// heat2mqtt export and heat2mqtt statement: the ledgers as CSV, JSON or line protocol, and one page about one complete month. Both from
// what is on this disk: no request is made.
import { chosenMonth } from '../accounts/composition.ts';
import { currencyOf } from '../accounts/extras.ts';
import { friendlyNameOf, knownMeters } from '../accounts/names.ts';
import { knownInFull } from '../domain/amount.ts';
import { registerKey } from '../domain/extras.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { openHouse } from '../domain/insight/weather.ts';
import { type Ledger, ledgerSince } from '../domain/ledger.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { periodSums } from '../domain/totals.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { homeLanguage } from '../publication/language.ts';
import { statementPage, statementText } from '../publication/statement/page.ts';
import { completeMonths, type StatementFacts, statementOf } from '../publication/statement/statement.ts';
import { extrasCodec, temperaturesCodec } from '../store/documents.ts';
import type { LedgerDocument } from '../store/ledgerDocument.ts';
import { withoutCustomer } from '../store/privateFiles.ts';
import { loadHousehold, pickAccount } from './account.ts';
import { type Command, choiceOf, type Io, wrongUsage } from './command.ts';
import { print, printJson } from './printing.ts';
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
async function ledgersOf({ config, state }: Settings, io: Io, only: string | null) {
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
    io.err(`Left out, as it is damaged, of a newer version or not readable: ${withoutCustomer(name)}.\n`);
  return { found, unreadable };
}

export const statement: Command = async (given, io) => {
  const { options, words } = given;
  const format = choiceOf('--format', options.format ?? 'text', ['text', 'json', 'html']);
  const settings = await loadHousehold(given, io);
  const { config } = settings;
  const { id } = pickAccount(settings, options.account);
  const all = await factsOf(settings, io, id);
  if (all.length === 0) {
    const message = `No whole history of ${id} is in ${config.state_dir} yet: there is nothing to state.`;
    const hint = 'A running bridge reads it with its first poll.';
    throw failure('no_statement', message, { exit: EXIT.usage, retry: 'later', hint });
  }
  const found = all.filter(({ meter }) => (options.meter ?? meter.meter) === meter.meter);
  const names = all.map(({ meter }) => meter.meter).join(', ');
  if (found.length === 0)
    throw wrongUsage(`--meter: found ${String(options.meter).slice(0, 40)}; allowed: ${names}.`);
  if (found.length > 1 && format === 'html')
    throw wrongUsage(`--meter: found nothing; allowed: ${names}. A page is about one meter.`);
  const statements = found.map((facts) => {
    const { tenancy, zone } = facts.meter;
    const { late_after_hours: lateAfterHours } = config.usage;
    const months = completeMonths(tenancy, { zone, now: io.clock.now(), lateAfterHours });
    return statementOf(chosenMonth(months, words[0]), facts);
  });
  if (format === 'json') {
    const records = statements.map((one) => ({ schema: 1, ...one }));
    printJson(records.length === 1 ? records[0] : records, io);
  } else {
    const written = format === 'html' ? statementPage : statementText;
    const issuedOn = zoneOf(config.usage.timezone).dayAt(io.clock.now());
    for (const one of statements) io.out(written(one, homeLanguage(config.language), issuedOn));
  }
  return EXIT.fine;
};

/** What the documents on this disk tell of the meters of an account. */
async function factsOf(settings: Settings, io: Io, account: string): Promise<StatementFacts[]> {
  const { config, state } = settings;
  const { found } = await ledgersOf(settings, io, account);
  const extras = (await state.document(`accounts/${account}/extras`, extrasCodec).read())?.value;
  const outdoor = (await state.document('outdoor-temperatures', temperaturesCodec).read())?.value;
  const own = found.filter(({ ledger }) => ledger.complete);
  const invoices = extras?.invoices.found ?? null;
  const tenancies = own.map(({ tenancy }) => tenancy);
  const base = config.home_assistant?.degree_day_base ?? null;
  const weather = outdoor === undefined ? null : { temperatures: new Map(outdoor.days), base };
  const facts = {
    account,
    invoices,
    checks: billJudge()(invoices?.all ?? [], tenancies, zoneOf(config.usage.timezone)),
    balance: extras?.balance.found ?? null,
    asked: config.extras,
    statement: config.statement,
  };
  return own.map(({ meter, property, timezone, readingCloses, tenancy }) => ({
    meter: {
      meter,
      friendlyName: friendlyNameOf(config.meters, property, meter),
      tenancy,
      house: weather && openHouse(tenancy.days, weather),
      register: extras?.registers[registerKey(property)]?.found ?? null,
      zone: zoneOf(timezone),
      currency: currencyOf(config, extras?.site.found ?? null),
      readingCloses: readingCloses ?? 'same_day',
    },
    account: { ...facts, zone: zoneOf(timezone) },
  }));
}
