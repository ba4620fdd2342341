// The account that a command is about, its way to the provider beside the running daemon, and what is known of it there.
import { currencyOf } from '../accounts/extras.ts';
import { type KnownMeter, ledgerFile } from '../accounts/names.ts';
import { openUpstream, type Upstream } from '../accounts/upstream.ts';
import type { Account } from '../config/schema.ts';
import type { Ledger } from '../domain/ledger.ts';
import { compareText } from '../domain/order.ts';
import { addDays, isSameZone } from '../domain/period.ts';
import { isSameProperty, type Property } from '../domain/reading.ts';
import { closingOf, DAYS_LOOKED_AT, type ReadingCloses } from '../domain/readingCloses.ts';
import { Failure } from '../foundation/failure.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import { type Io, wrongOption } from './command.ts';
import type { Given } from './commands.ts';
import { tenancyOf } from './onDisk.ts';
import { loadSettings, refuseInFleet, type Settings } from './settings.ts';

type UpstreamOptions = Omit<Parameters<typeof openUpstream>[2], 'isCommand' | 'gate'>;

export interface Opened extends Settings {
  readonly account: Account;
  readonly upstream: Upstream;
}

/** The one account of a household that a command works on: that of `--account`, else the first. Rejects with a Failure. */
export async function openAccount(
  given: Given<'logout'>,
  io: Io,
  more: UpstreamOptions = {},
): Promise<Opened> {
  const settings = await loadHousehold(given, io);
  const account = pickAccount(settings, given.options.account);
  return { ...settings, account, upstream: openUpstreamBeside(settings, io, account, more) };
}

/** Rejects with not_in_fleet, and as `loadSettings` does. */
export async function loadHousehold(given: Given<'run'>, io: Io): Promise<Settings> {
  const settings = await loadSettings(given, io);
  const instead = 'its views answer in SQL, and `heat2mqtt accounts` works on accounts';
  refuseInFleet(settings.config.fleet, 'This command', instead);
  return settings;
}

/** Throws wrong_usage. */
export function pickAccount({ config }: Settings, option?: string): Account {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const allowed = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw wrongOption('--account', option ?? 'nothing', allowed);
}

/** The first account is meant unless another one is named. Its session is shared with a running daemon. */
export const openUpstreamBeside = (
  settings: Settings,
  { clock, scryptCost }: Io,
  account = pickAccount(settings),
  more: UpstreamOptions = {},
): Upstream => openUpstream(account, { ...settings, clock, scryptCost }, { isCommand: true, ...more });

/** The configured value, else the stored one, else the provider's present one, if there is one. */
export async function findCurrency({ config, upstream }: Opened): Promise<string> {
  const stored = (await upstream.extras.read())?.site;
  if (config.provider?.currency || stored || !config.extras.site)
    return currencyOf(config, stored?.found ?? null);
  const site = await upstream.provider.site?.().catch((err) => {
    if (!(err instanceof Failure)) throw err;
  });
  return currencyOf(config, site ?? null);
}

/**
 * The days that the bills of an account are about, as the daemon keeps them: of all its meters, since it moved in. None unless all of
 * them are there and complete. One of several accounts that have a meter keeps its ledger. `meters`: all that the state directory knows.
 */
export async function billedLedgers(
  meters: readonly KnownMeter[],
  { config, zone }: Pick<Settings, 'config' | 'zone'>,
  id: string,
): Promise<readonly Ledger[]> {
  const ledgers: Ledger[] = [];
  for (const { property } of meters.filter(({ account, isListed }) => account === id && isListed)) {
    const ofProperty = meters.filter((meter) => isSameProperty(meter.property, property));
    const documents = await Promise.all(ofProperty.map(({ ledger }) => ledger?.read()));
    const complete = documents.flatMap((document) =>
      document?.ledger.complete && isSameZone(document.timezone, zone.name) ? [document.ledger] : [],
    );
    const [newest] = complete.sort((a, b) => compareText(b.readTo, a.readTo));
    if (!newest) return [];
    ledgers.push(tenancyOf(newest, id, config));
  }
  return ledgers;
}

/** The readings of a property close the day that they are taken on, or the one before. */
interface Closing {
  readonly closes: ReadingCloses;
  /** The source that tells; `unknown`: there is no reading to tell. */
  readonly from: 'configuration' | 'state' | 'readings' | 'unknown';
  /** Newest days that have readings; `null`: they were not asked for. */
  readonly days: number | null;
}

/** The configured value, the daemon's decision, or the one that the provider's readings show now. Rejects with the provider's failures. */
export async function findClosing(
  { config, state, zone, account, upstream }: Opened,
  property: Property,
  { clock }: Io,
): Promise<Closing> {
  const { reading_closes: configured } = config.usage;
  if (configured !== 'auto') return { closes: configured, from: 'configuration', days: null };
  const stored = await state.document(ledgerFile(account.id, property), ledgerCodec).read();
  if (stored?.readingCloses && isSameZone(stored.timezone, zone.name))
    return { closes: stored.readingCloses, from: 'state', days: null };
  const to = addDays(zone.dayAt(clock.now()), 1);
  const span = { from: addDays(to, -DAYS_LOOKED_AT), to };
  const { propertyCustomerId } = property;
  const hours = (await upstream.provider.readingHours?.({ propertyCustomerId, span, zone })) ?? [];
  const days = new Set(hours.map((at) => zone.dayAt(at))).size;
  const closes = closingOf(hours, zone);
  return closes ? { closes, from: 'readings', days } : { closes: 'same_day', from: 'unknown', days };
}

const CLOSED = {
  same_day: 'the day on which it is taken',
  previous_day: 'the day before it is taken',
} as const;
const KNOWN_FROM = {
  configuration: 'as configured',
  state: 'as the history was read',
  readings: 'seen from the times of the newest readings',
  unknown: 'assumed, as long as there are no readings to tell',
} as const;

export const closingWords = ({ closes, from }: Closing): string =>
  `each reading counts for ${CLOSED[closes]} (${KNOWN_FROM[from]})`;
