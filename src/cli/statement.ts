// heat2mqtt statement: one page about one complete month, from what is on this disk. No request is made.
import { join, resolve } from 'node:path';
import { currencyOf } from '../accounts/extras.ts';
import { chosenMonth } from '../accounts/meter.ts';
import { configuredMeter, knownMeters } from '../accounts/names.ts';
import { rememberLast } from '../accounts/rememberLast.ts';
import { openWitnesses } from '../daemon/witnesses.ts';
import { registerOf } from '../domain/extras.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { openHouse } from '../domain/insight/weather.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { homeLanguage } from '../publication/language.ts';
import type { Statement, StatementFacts } from '../publication/statement/fields.ts';
import { statementPage, statementText } from '../publication/statement/page.ts';
import { completeMonths, statementOf } from '../publication/statement/statement.ts';
import { extrasCodec } from '../store/documents.ts';
import { billedLedgers, pickAccount } from './account.ts';
import { type Io, refusal, wrongUsage } from './command.ts';
import type { Command, Given, ValueOf } from './commands.ts';
import { ledgersOf, weatherOnDisk } from './onDisk.ts';
import { type Household, loadSettings, type Settings } from './settings.ts';
import { writeFile } from './writing.ts';

export const statement: Command<'statement'> = async (given, io) => {
  const { options } = given;
  const { output, all, format = output === undefined ? 'text' : 'html' } = options;
  if (all && options.account !== undefined)
    throw wrongUsage('--all and --account: found both; allowed: one of them.');
  if (all && output === undefined)
    throw wrongUsage(
      '--all: found no --output; allowed: with --output DIR, where a sheet for each meter goes.',
    );
  const settings = await loadSettings(given, io);
  // A household has one disk for all of its accounts.
  const read = rememberLast((household: Settings) => readDisk(household, io));
  let worst: number = EXIT.fine;
  for await (const { id, open } of householdsOf(settings, options)) {
    const sheets = await open()
      .then(async (household) =>
        statementsOf(await factsOf(id, await read(household), io), given, settings, io),
      )
      .catch((err: unknown) => {
        // One account without a whole month does not take the sheets of the others away.
        if (!(err instanceof Failure) || !all) throw err;
        io.err(`${id}: ${err.message}\n`);
        worst = err.exitCode;
        return [];
      });
    if (output === undefined) io.out(documentOf(sheets, format, settings, io));
    else for (const sheet of sheets) await keepSheet(output, sheet, format, settings, io);
  }
  return worst;
};

/** `--account` names one, `--all` means all; a household needs neither, and gets the first one. */
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

type Format = ValueOf<'statement', 'format'>;

const ENDING: Readonly<Record<Format, string>> = { text: 'txt', json: 'json', html: 'html' };

/** One file of the directory, which is made where there is none: for nobody but the user that types this. */
async function keepSheet(directory: string, sheet: Statement, format: Format, settings: Settings, io: Io) {
  const file = join(resolve(directory), `${sheet.account}-${sheet.meter}-${sheet.month}.${ENDING[format]}`);
  await writeFile(file, documentOf([sheet], format, settings, io));
  io.out(`${file}\n`);
}

/** All of them as one document. */
function documentOf(
  statements: readonly Statement[],
  format: Format,
  { config, zone }: Settings,
  { clock }: Io,
): string {
  const language = homeLanguage(config.language);
  const issuedOn = zone.dayAt(clock.now());
  if (format === 'text') return statements.map((sheet) => statementText(sheet, language, issuedOn)).join('');
  if (format === 'html') return statementPage(statements, language, issuedOn);
  const records = statements.map((sheet) => ({ schema: 1, ...sheet }));
  return `${JSON.stringify(records.length === 1 ? records[0] : records, null, 2)}\n`;
}

/** Throws a Failure when there is none. `facts`: of all meters of an account. */
function statementsOf(
  facts: readonly StatementFacts[],
  { options, words: [month] }: Given<'statement'>,
  { config }: Settings,
  { clock }: Io,
): Statement[] {
  const { late_after_hours: lateAfterHours } = config.usage;
  const chosen = facts.filter(({ meter }) => (options.meter ?? meter.meter) === meter.meter);
  const names = facts.map(({ meter }) => meter.meter).join(', ');
  if (chosen.length === 0)
    throw wrongUsage(`--meter: found ${options.meter?.slice(0, 40)}; allowed: ${names}.`);
  return chosen.map((ofMeter) => {
    const { tenancy, zone } = ofMeter.meter;
    const months = completeMonths(tenancy, { zone, now: clock.now(), lateAfterHours });
    return statementOf(chosenMonth(months, month), ofMeter);
  });
}

type Disk = Awaited<ReturnType<typeof readDisk>>;

/** All that does not belong to one account. */
async function readDisk(settings: Settings, { clock }: Io) {
  const { config, state, names } = settings;
  return {
    ...settings,
    meters: await knownMeters(state, config, names),
    weather: await weatherOnDisk(state, config),
    witnesses: await openWitnesses({ ...settings, clock }, () => undefined),
  };
}

/** The meters of an account, as the documents on this disk have them. Rejects with no_statement when there is none. */
async function factsOf(account: string, disk: Disk, io: Io) {
  const { config, state, meters, weather, witnesses } = disk;
  const { ledgers } = await ledgersOf(meters, config, io, account);
  const complete = ledgers.filter(({ ledger }) => ledger.complete);
  if (complete.length === 0) {
    const message = `No whole history of ${account} is kept yet: there is nothing to state.`;
    throw refusal('no_statement', message, 'A running bridge writes it with its next poll.');
  }
  const extras = (await state.document(`accounts/${account}/extras`, extrasCodec).read())?.value;
  const invoices = extras?.invoices.found ?? null;
  // Without bills the ledgers need not be read once more.
  const billed = invoices === null ? [] : await billedLedgers(meters, disk, account);
  const facts = {
    account,
    invoices,
    checks: billJudge()(invoices?.all ?? [], billed, disk.zone),
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
