// heat2mqtt export and heat2mqtt statement: the ledgers as CSV, JSON or line protocol, and one page about one complete month. Both from
// what is on this disk: no request is made.
import { join, resolve } from 'node:path';
import { currencyOf } from '../accounts/extras.ts';
import { chosenMonth } from '../accounts/meter.ts';
import { configuredMeter, knownMeters } from '../accounts/names.ts';
import type { Config } from '../config/schema.ts';
import { openWitnesses } from '../daemon/witnesses.ts';
import { knownInFull } from '../domain/amount.ts';
import { registerOf } from '../domain/extras.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { openHouse, type Weather } from '../domain/insight/weather.ts';
import { type Ledger, ledgerSince } from '../domain/ledger.ts';
import { zone as zoneOf } from '../domain/period.ts';
import type { Property } from '../domain/reading.ts';
import { periodSums } from '../domain/totals.ts';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import { homeLanguage } from '../publication/language.ts';
import type { Statement } from '../publication/statement/fields.ts';
import { statementPage, statementText } from '../publication/statement/page.ts';
import { completeMonths, type StatementFacts, statementOf } from '../publication/statement/statement.ts';
import { extrasCodec, temperaturesCodec } from '../store/documents.ts';
import type { LedgerDocument } from '../store/ledgerDocument.ts';
import { withoutCustomer } from '../store/privateFiles.ts';
import type { StateStore } from '../store/stateStore.ts';
import { billedLedgers, loadHousehold, pickAccount } from './account.ts';
import { type Io, wrongUsage } from './command.ts';
import type { Command, Given } from './commands.ts';
import { print } from './printing.ts';
import { type Household, type HouseholdSettings, loadSettings, type Settings } from './settings.ts';
import { writeFile } from './writing.ts';

const COLUMNS = ['account', 'meter', 'start', 'end', 'energy_kwh', 'cost'];
const REVISIONS = ['revision', 'received_at'];

export const exportLedgers: Command<'export'> = async (given, io) => {
  const { options } = given;
  const { interval = 'day', format = 'csv' } = options;
  const settings = await loadHousehold(given, io);
  const { config } = settings;
  const only = options.account === undefined ? null : pickAccount(settings, options.account).id;
  const { ledgers, unreadable } = await ledgersOf(settings, io, only);
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

/** The ledgers of the `only` account, or of all, under the names that the meters have in topics. `unreadable`: documents, which are told. */
async function ledgersOf({ config, state, names }: HouseholdSettings, io: Io, only: string | null) {
  const ledgers: (LedgerDocument & {
    readonly account: string;
    readonly meter: string;
    readonly property: Property;
    /** The part since `accounts[].history_since`. */
    readonly tenancy: Ledger;
  })[] = [];
  const unreadable: string[] = [];
  for (const { account, name: meter, property, file, ledger } of await knownMeters(state, config, names)) {
    if (ledger === null || (only ?? account) !== account) continue;
    const document = await ledger.read();
    const since = config.accounts.find(({ id }) => id === account)?.history_since;
    if (document === null) unreadable.push(file);
    else {
      const tenancy = ledgerSince(document.ledger, since ?? document.ledger.origin);
      ledgers.push({ ...document, account, meter, property, tenancy });
    }
  }
  for (const name of unreadable)
    io.err(`Left out, as it is damaged, of a newer version or not readable: ${withoutCustomer(name)}.\n`);
  return { ledgers, unreadable };
}

export const statement: Command<'statement'> = async (given, io) => {
  const { options, words } = given;
  const isKept = options.output !== undefined;
  const format = options.format ?? (isKept ? 'html' : 'text');
  if (options.all && options.account !== undefined)
    throw wrongUsage('--all and --account: found both; allowed: one of them.');
  if (options.all && !isKept)
    throw wrongUsage(
      '--all: found no --output; allowed: with --output DIR, where a sheet for each meter goes.',
    );
  const settings = await loadSettings(given, io);
  const wanted = { month: words[0], meter: options.meter };
  let worst: number = EXIT.fine;
  for await (const { id, open } of householdsOf(settings, options)) {
    const sheetsOf = async (household: HouseholdSettings) => ({
      household,
      statements: await statementsOf(household, io, id, wanted),
    });
    const read = await open()
      .then(sheetsOf)
      .catch((err: unknown) => {
        // One account without a whole month does not take the sheets of the others away.
        if (!(err instanceof Failure) || !options.all) throw err;
        io.err(`${id}: ${err.message}\n`);
        worst = err.exitCode;
        return null;
      });
    if (read === null) continue;
    const { household, statements } = read;
    if (!isKept) io.out(documentOf(statements, format, household, io));
    else
      for (const sheet of statements)
        await keepSheet(options.output, sheet, format, { settings: household, io });
  }
  return worst;
};

/** That of `--account`, or all; of a household the first one. */
async function* householdsOf(
  settings: Settings,
  { account, all }: Given<'statement'>['options'],
): AsyncGenerator<Household> {
  const { fleet, accounts } = settings.config;
  if (fleet === undefined) {
    const chosen = all ? accounts : [pickAccount(settings, account)];
    for (const { id } of chosen) yield { id, open: async () => settings };
    return;
  }
  if (!all && account === undefined)
    throw wrongUsage('Beside a fleet, statement takes --account ID, or --all with --output DIR.');
  const { accountsOfFleet } = await import('./fleetAccounts.ts');
  yield* accountsOfFleet(settings, fleet, account);
}

type Format = NonNullable<Given<'statement'>['options']['format']>;

const ENDING: Readonly<Record<Format, string>> = { text: 'txt', json: 'json', html: 'html' };

/** One file of the directory, which is made where there is none: for nobody but the user that types this. */
async function keepSheet(
  directory: string,
  sheet: Statement,
  format: Format,
  { settings, io }: { readonly settings: Pick<Settings, 'config'>; readonly io: Io },
): Promise<void> {
  const file = join(resolve(directory), `${sheet.account}-${sheet.meter}-${sheet.month}.${ENDING[format]}`);
  const document = documentOf([sheet], format, settings, io);
  await writeFile(file, document);
  io.out(`${file}\n`);
}

/** All of them as one document. */
function documentOf(
  statements: readonly Statement[],
  format: Format,
  { config }: Pick<Settings, 'config'>,
  { clock }: Io,
): string {
  const language = homeLanguage(config.language);
  const issuedOn = zoneOf(config.usage.timezone).dayAt(clock.now());
  if (format === 'text') return statements.map((sheet) => statementText(sheet, language, issuedOn)).join('');
  if (format === 'html') return statementPage(statements, language, issuedOn);
  const records = statements.map((sheet) => ({ schema: 1, ...sheet }));
  return `${JSON.stringify(records.length === 1 ? records[0] : records, null, 2)}\n`;
}

/** Rejects with a Failure when there is none. */
async function statementsOf(
  settings: HouseholdSettings,
  io: Io,
  id: string,
  wanted: { readonly month: string | undefined; readonly meter: string | undefined },
): Promise<Statement[]> {
  const { config } = settings;
  const all = await factsOf(settings, io, id);
  if (all.length === 0) {
    const message = `No whole history of ${id} is kept yet: there is nothing to state.`;
    const hint = 'A running bridge reads it with its first poll.';
    throw failure('no_statement', message, { exit: EXIT.usage, retry: 'later', hint });
  }
  const chosen = all.filter(({ meter }) => (wanted.meter ?? meter.meter) === meter.meter);
  const names = all.map(({ meter }) => meter.meter).join(', ');
  if (chosen.length === 0)
    throw wrongUsage(`--meter: found ${wanted.meter?.slice(0, 40)}; allowed: ${names}.`);
  return chosen.map((facts) => {
    const { tenancy, zone } = facts.meter;
    const { late_after_hours: lateAfterHours } = config.usage;
    const months = completeMonths(tenancy, { zone, now: io.clock.now(), lateAfterHours });
    return statementOf(chosenMonth(months, wanted.month), facts);
  });
}

/** The outdoor temperatures that the daemon has read last; `null`: none. */
export async function weatherOnDisk(state: StateStore, { home_assistant }: Config): Promise<Weather | null> {
  const stored = await state.document('outdoor-temperatures', temperaturesCodec).read();
  if (stored === null) return null;
  return { temperatures: new Map(stored.value.days), base: home_assistant?.degree_day_base ?? null };
}

/** The meters of an account, as the documents on this disk have them. */
async function factsOf(settings: HouseholdSettings, io: Io, account: string): Promise<StatementFacts[]> {
  const { config, state } = settings;
  const { ledgers } = await ledgersOf(settings, io, account);
  const extras = (await state.document(`accounts/${account}/extras`, extrasCodec).read())?.value;
  const witnesses = await openWitnesses({ ...settings, clock: io.clock }, () => undefined);
  const complete = ledgers.filter(({ ledger }) => ledger.complete);
  const invoices = extras?.invoices.found ?? null;
  const weather = await weatherOnDisk(state, config);
  const facts = {
    account,
    invoices,
    checks: billJudge()(invoices?.all ?? [], await billedLedgers(settings, account), settings.zone),
    balance: extras?.balance.found ?? null,
    asked: config.extras,
    statement: config.statement,
  };
  return complete.map(({ meter, property, timezone, readingCloses, tenancy, ledger }) => {
    const configured = configuredMeter(config.meters, property, meter);
    return {
      meter: {
        meter,
        friendlyName: configured?.name ?? null,
        area: configured?.area_m2,
        identifiers: property.meterIdentifiers,
        tenancy,
        house: weather && openHouse(tenancy.days, weather),
        register: extras ? registerOf(extras, property) : null,
        zone: zoneOf(timezone),
        currency: currencyOf(config, extras?.site.found ?? null),
        readingCloses: readingCloses ?? 'same_day',
        witness: witnesses.of(configured?.key, ledger),
      },
      account: { ...facts, zone: zoneOf(timezone) },
    };
  });
}
