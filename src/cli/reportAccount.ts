// What a report says of one account: polls, session, login budget, and each meter's ledger with its newest days.
import { toUnits } from '../domain/amount.ts';
import type { Extra, Extras } from '../domain/extras.ts';
import type { Ledger } from '../domain/ledger.ts';
import { addDays, type Zone } from '../domain/period.ts';
import { totals } from '../domain/totals.ts';
import { contextCodec, journalCodec, loginBudgetCodec, tokensCodec } from '../store/documents.ts';
import { extrasCodec } from '../store/extrasDocument.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';
import { type Cell, tableLines } from './printing.ts';

/** Heading and lines. */
export type Section = readonly [string, readonly string[]];

const NEWEST_DAYS = 14;

export async function reportAccount(
  state: StateDirectory,
  account: string,
  zone: Zone,
  now: number,
): Promise<Section[]> {
  const folder = `accounts/${account}`;
  const at = (time: number | null) => (time === null ? 'never' : zone.iso(time));
  const journal = (await state.document('journal', journalCodec).read())?.accounts[account];
  const tokens = (await state.document(`${folder}/tokens`, tokensCodec).read())?.value;
  const budget = await state.document(`${folder}/login-budget`, loginBudgetCodec).read();
  const context = (await state.document(`${folder}/context`, contextCodec).read())?.value;
  const extras = (await state.document(`${folder}/extras`, extrasCodec).read())?.value;
  const polls = (journal?.polls ?? []).map(([time, code]) => `  ${at(time)} ${code ?? 'ok'}`);
  const lines = [
    journal
      ? `last good poll ${at(journal.lastSuccessAt)}; on ${journal.day}: ${journal.requestsToday} requests, ${journal.loginsToday} logins`
      : 'never polled',
    ...(polls.length > 0 ? ['last polls:', ...polls] : []),
    tokens
      ? `access token until ${at(tokens.accessExpiresAt)}, refresh token until ${tokens.refreshExpiresAt === null ? 'unknown' : at(tokens.refreshExpiresAt)}`
      : 'no tokens kept',
    budget
      ? `logins refused: ${budget.refusals} (${budget.code ?? 'no code'}), next try ${budget.nextAttemptAt === null ? 'once the secret changes or somebody asks' : at(budget.nextAttemptAt)}`
      : 'no login was refused',
    context ? `${context.properties.length} properties known` : 'properties not known yet',
    `extras last asked for: ${extras ? extraWords(extras) : 'never'}`,
  ];
  const files = (await state.list(folder)).filter((name) => name.startsWith('ledger-')).sort();
  const meters: Section[] = [];
  for (const [n, file] of files.entries()) {
    const ledger = await state.document(`${folder}/${file}`, ledgerCodec).read();
    const head = `Account ${account}, meter ${n + 1}`;
    meters.push([head, ledger ? meterLines(ledger, zone, now) : ['its ledger cannot be read']]);
  }
  return [[`Account ${account}`, lines], ...meters];
}

function extraWords({ registers, ...rest }: Extras): string {
  const all: [string, Extra<unknown>][] = [
    ...Object.entries(rest),
    ...Object.values(registers).map((one): [string, Extra<unknown>] => ['register', one]),
  ];
  return all
    .map(([name, { askedOn, off }]) => `${name} ${askedOn ?? 'never'}${off ? ', left out' : ''}`)
    .join('; ');
}

function meterLines({ ledger, timezone, readingCloses }: LedgerDocument, zone: Zone, now: number): string[] {
  const { total, missingDays, newestDay } = totals(ledger, zone.dayAt(now));
  const units = (amount: number | null) => (amount === null ? null : toUnits(amount));
  return [
    `origin ${ledger.origin}, read up to ${ledger.readTo}, history ${ledger.complete ? 'complete' : 'not complete'}, swept ${ledger.sweptOn ?? 'never'}`,
    `days cut in ${timezone}, a reading closes ${readingCloses}`,
    `${ledger.days.size} days, newest ${newestDay ?? 'none'}, ${missingDays} missing, ${ledger.held.size} held back`,
    `totals ${units(total.energy) ?? '–'} kWh, ${units(total.cost) ?? '–'}`,
    ...dayTable(ledger, zone, now),
  ];
}

function dayTable(ledger: Ledger, zone: Zone, now: number): string[] {
  const today = zone.dayAt(now);
  const days = Array.from({ length: NEWEST_DAYS }, (_, n) => addDays(today, n + 1 - NEWEST_DAYS));
  const rows = days.map((day): Cell[] => {
    const record = ledger.days.get(day);
    if (!record) return [day, null, null, null, ledger.held.has(day) ? 'held back' : 'no reading'];
    const { energy, cost, revision, receivedAt } = record;
    const amounts = [energy, cost].map((amount) => (amount === null ? null : toUnits(amount)));
    return [day, ...amounts, revision, zone.iso(receivedAt)];
  });
  return tableLines(['day', 'kWh', 'cost', 'revision', 'received'], rows);
}
