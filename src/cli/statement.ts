// heat2mqtt statement: one page about one complete month, from what is on this disk. No request is made.
import { chosenMonth } from '../accounts/composition.ts';
import { currencyOf } from '../accounts/extras.ts';
import { friendlyNameOf } from '../accounts/names.ts';
import { registerKey } from '../domain/extras.ts';
import { billJudge } from '../domain/insight/bill.ts';
import { weatherChanges } from '../domain/insight/weather.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { homeLanguage } from '../publication/language.ts';
import { statementPage, statementText } from '../publication/statement/page.ts';
import { completeMonths, type StatementFacts, statementOf } from '../publication/statement/statement.ts';
import { extrasCodec, temperaturesCodec } from '../store/documents.ts';
import { loadHousehold, pickAccount } from './account.ts';
import { type Command, choiceOf, type Io, wrongUsage } from './command.ts';
import { ledgersOf } from './export.ts';
import { printJson } from './printing.ts';
import type { Settings } from './settings.ts';

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
    for (const one of statements) io.out(written(one, homeLanguage(config.language)));
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
      weather,
      changeOver: weatherChanges()(tenancy.days, weather),
      register: extras?.registers[registerKey(property)]?.found ?? null,
      zone: zoneOf(timezone),
      currency: currencyOf(config, extras?.site.found ?? null),
      readingCloses: readingCloses ?? 'same_day',
    },
    account: { ...facts, zone: zoneOf(timezone) },
  }));
}
