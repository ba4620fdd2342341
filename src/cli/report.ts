// heat2mqtt report: a diagnosis to paste into a bug report, from the configuration and the state directory. No request is made.
import os from 'node:os';
import { showConfig } from '../config/commented.ts';
import { ConfigInvalid } from '../config/faults.ts';
import type { Fleet } from '../config/schema.ts';
import { knownUnits } from '../domain/amount.ts';
import type { Extras } from '../domain/extras.ts';
import { addDays, type Day, type Zone } from '../domain/period.ts';
import { totals } from '../domain/totals.ts';
import { about } from '../foundation/about.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Health } from '../publication/messages.ts';
import * as codecs from '../store/documents.ts';
import { type LedgerDocument, ledgerCodec } from '../store/ledgerDocument.ts';
import type { Codec } from '../store/stateStore.ts';
import type { Io } from './command.ts';
import type { Command } from './commands.ts';
import { askHealth, lookAtFleet } from './healthcheck.ts';
import { type Lines, tableLines, textOf } from './printing.ts';
import { loadSettings, type Settings } from './settings.ts';

/** Lines by their heading. */
type Sections = Readonly<Record<string, Lines>>;

/** That it is well says nothing of the provider. */
const OF_THE_DAEMON =
  'This is about its event loop and its broker. How the polls go is told with each account.';

export const report: Command<'report'> = async (given, io) => {
  try {
    const settings = await loadSettings(given, io);
    const { words } = await askHealth(settings.config, io.clock);
    io.out(await reportText(settings, io, [words, OF_THE_DAEMON]));
    return EXIT.fine;
  } catch (err) {
    if (!(err instanceof ConfigInvalid)) throw err;
    const withoutMeters = err.message.replace(
      /(?<=^meters\.)[^.:]+|(?<=_METERS_)[^:\s)]+?(?=_NAME\b|[:\s)]|$)/gm,
      '…',
    );
    io.out(written({ 'Configuration is invalid': withoutMeters.split('\n') }, io));
    return EXIT.config;
  }
};

/** `daemon`: how the running daemon is. */
export async function reportText(settings: Settings, io: Io, daemon: readonly string[]): Promise<string> {
  const { config, zone, scrubber } = settings;
  const now = io.clock.now();
  const machine = new Date(now).toString().replace(/ \(.*/, '');
  const kept = config.fleet ? fleetSections(config.fleet, settings) : householdSections(settings, now);
  const sections: Sections = {
    Clock: [
      `${zone.iso(now)} in ${zone.name}; this machine: ${machine}`,
      `up for ${Math.round(os.uptime() / 60)} minutes`,
    ],
    Daemon: daemon,
    Configuration: showConfig(settings, 'stranger').trimEnd().split('\n'),
    ...(await kept.catch((err) => {
      if (!(err instanceof Failure)) throw err;
      return { [config.fleet ? 'Fleet' : 'State directory']: [err.message, err.hint] };
    })),
  };
  return scrubber.scrub(written(sections, io));
}

/** The health of the running daemon, for its own report. */
export const healthLines = ({ state, reasons }: Pick<Health, 'state' | 'reasons'>): string[] => [
  `This report comes from the running daemon, whose health is ${state}.`,
  // Their messages may name a meter.
  ...reasons.map(({ code }) => `  ${code}`),
];

function written(sections: Sections, { env: { HOME = '' } }: Io): string {
  const { release, arch, platform } = process;
  const memory = `${Math.round(os.totalmem() / 1024 / 1024)} MiB`;
  const everySection: Sections = {
    Versions: [
      `${about.name} ${about.version}`,
      `${release.name} ${process.version}`,
      `${platform} ${os.release()} on ${arch}, ${os.cpus().length} cores, ${memory}`,
    ],
    ...sections,
  };
  const parts = Object.entries(everySection).map(([head, lines]) => `## ${head}\n\n${textOf(lines, '    ')}`);
  const text = `# ${about.name} report\n\n${parts.join('\n')}`;
  // The path of a home directory contains a name. In a container it is `/`, or there is none.
  const isNamed = /^\/[^/]/.test(HOME);
  return (isNamed ? text.replaceAll(HOME, '~') : text).replace(/\/(home|Users)\/[^/\s]+/g, '/$1/…');
}

/** The report has the health of the fleet; the details of its accounts are in the database. */
async function fleetSections(fleet: Fleet, settings: Settings): Promise<Sections> {
  const { health, replies } = await lookAtFleet(fleet, settings);
  const { accounts, paused, failing, overdue, oldest_due_at, processes } = health.fleet;
  const lines = [
    `${accounts} account(s): ${paused} paused, ${failing} failing, ${overdue} overdue`,
    oldest_due_at && `the oldest since ${oldest_due_at}`,
    ...processes.map(
      ({ number, version, started_at }) => `process ${number}: ${version}, since ${started_at}`,
    ),
    ...health.reasons.map(({ message }) => message),
  ];
  return { Fleet: lines, ...shapesOf(replies, settings.zone) };
}

async function householdSections(settings: Settings, now: number): Promise<Sections> {
  const { config, state, zone } = settings;
  const sections: Record<string, Lines> = {};
  for (const { id } of config.accounts) {
    const folder = `accounts/${id}`;
    sections[`Account ${id}`] = await accountLines(settings, id);
    const files = (await state.list(folder)).filter((name) => name.startsWith('ledger-')).sort();
    for (const [n, file] of files.entries()) {
      const ledger = await state.document(`${folder}/${file}`, ledgerCodec).read();
      const lines = ledger ? meterLines(ledger, zone, zone.dayAt(now)) : ['its ledger cannot be read'];
      sections[`Account ${id}, meter ${n + 1}`] = lines;
    }
  }
  return { ...sections, ...shapesOf(await state.document('replies', codecs.repliesCodec).read(), zone) };
}

/** Polls, session, login budget and extras. */
async function accountLines({ state, zone }: Settings, account: string): Promise<Lines> {
  const at = (time: number | null, otherwise = 'never') => (time === null ? otherwise : zone.iso(time));
  const read = <T>(name: string, codec: Codec<T>) =>
    state.document(`accounts/${account}/${name}`, codec).read();
  const journal = (await state.document('journal', codecs.journalCodec).read())?.accounts[account];
  const tokens = (await read('tokens', codecs.tokensCodec))?.value;
  const budget = await read('login-budget', codecs.loginBudgetCodec);
  const context = (await read('context', codecs.contextCodec))?.value;
  const extras = (await read('extras', codecs.extrasCodec))?.value;
  const nextTry = at(budget?.nextAttemptAt ?? null, 'once the password changes or a poll is requested');
  return [
    journal
      ? `last good poll ${at(journal.lastSuccessAt)}; on ${journal.day}: ${journal.requestsToday} requests, ${journal.loginsToday} logins`
      : 'never polled',
    journal && journal.polls.length > 0 && 'last polls:',
    ...(journal?.polls ?? []).map(([time, code]) => `  ${at(time)} ${code ?? 'ok'}`),
    tokens
      ? `access token until ${at(tokens.accessExpiresAt)}, refresh token until ${at(tokens.refreshExpiresAt, 'unknown')}`
      : 'no tokens kept',
    ...(budget?.useless ?? []).map(({ at: time, code }) => `login of no use: ${at(time)} ${code}`),
    budget?.state
      ? `logins refused: ${budget.refusals} (${budget.code ?? 'no code'}), next try ${nextTry}`
      : 'no login was refused',
    context ? `${context.properties.length} properties known` : 'properties not known yet',
    `extras last asked for: ${extras ? extrasLine(extras) : 'never'}`,
  ];
}

function extrasLine({ registers, ...rest }: Extras): string {
  const byRegister = Object.values(registers).map((register) => ['register', register] as const);
  return [...Object.entries(rest), ...byRegister]
    .map(([name, { askedOn, off }]) => `${name} ${askedOn ?? 'never'}${off ? ', left out' : ''}`)
    .join('; ');
}

const NEWEST_DAYS = 14;
const COLUMNS = {
  day: 'day',
  kWh: 'kWh',
  cost: 'cost',
  revision: 'revision',
  received: 'received',
} as const;

function meterLines({ ledger, timezone, readingCloses }: LedgerDocument, zone: Zone, today: Day): string[] {
  const { days, quarantined } = ledger;
  const { total, missingDays, newestDay } = totals(ledger, today);
  const newest = Array.from({ length: NEWEST_DAYS }, (_, n) => addDays(today, n + 1 - NEWEST_DAYS));
  const received = (day: Day) => {
    const record = days.get(day);
    if (record) return zone.iso(record.receivedAt);
    return quarantined.has(day) ? 'quarantined' : 'no reading';
  };
  const rows = newest.map((day) => ({
    day,
    kWh: knownUnits(days.get(day)?.energy),
    cost: knownUnits(days.get(day)?.cost),
    revision: days.get(day)?.revision ?? null,
    received: received(day),
  }));
  return [
    `origin ${ledger.origin}, read up to ${ledger.readTo}, history ${ledger.complete ? 'complete' : 'not complete'}, swept ${ledger.sweptOn ?? 'never'}`,
    `days cut in ${timezone}, a reading closes ${readingCloses ?? 'not decided yet'}`,
    `${days.size} days, newest ${newestDay ?? 'none'}, ${missingDays} missing, ${quarantined.size} quarantined`,
    `totals ${knownUnits(total.energy) ?? '–'} kWh, ${knownUnits(total.cost) ?? '–'}`,
    ...tableLines(COLUMNS, rows),
  ];
}

function shapesOf(stored: ReturnType<typeof codecs.repliesCodec.decode> | null, zone: Zone): Sections {
  const lines = Object.entries(stored?.replies ?? {}).flatMap(([what, shapes]) =>
    shapes.flatMap(({ firstSeenAt, status, shape }) => [
      `${what}, HTTP ${status}, first seen ${zone.iso(firstSeenAt)}`,
      ...shape.map((line) => `  ${line}`),
    ]),
  );
  return { 'Shapes of replies (keys and types, no values)': lines.length > 0 ? lines : ['none seen yet'] };
}
