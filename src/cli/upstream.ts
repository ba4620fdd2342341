// The account that a command is about, and its way to the provider beside the running daemon.
import { currencyOf } from '../accounts/extras.ts';
import { openUpstream, type Upstream } from '../accounts/upstream.ts';
import type { Account } from '../config/schema.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { Failure } from '../foundation/failure.ts';
import { repliesCodec } from '../store/documents.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { type Arguments, type Io, wrongUsage } from './command.ts';
import { loadSettings, openSilentLog, refuseInFleet, type Settings } from './settings.ts';

/** For a command that works on one account of a household. Rejects with a Failure. */
export async function loadWithAccount(given: Arguments, io: Io): Promise<Settings> {
  const settings = await loadSettings(given, io);
  const instead = 'its views answer in SQL, and `heat2mqtt accounts` works on accounts';
  refuseInFleet(settings.config.fleet, 'This command', instead);
  return settings;
}

/** The account of `--account`, else the first. Throws wrong_usage. */
export function pickAccount({ config }: Settings, option: unknown): Account {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const known = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw wrongUsage(`--account: found ${String(option ?? 'nothing').slice(0, 40)}; allowed: ${known}.`);
}

/** Where the accounts of these settings keep what they know. */
export const stateOf = async ({ config, scrubber }: Settings, io: Io): Promise<StateDirectory> =>
  new StateDirectory(config.state_dir, await openSilentLog(scrubber, io));

/** Shares the session with a running daemon. */
export async function openUpstreamBeside(
  settings: Settings,
  account: Account,
  io: Io,
  more: Omit<Parameters<typeof openUpstream>[2], 'isCommand' | 'gate'> = {},
): Promise<Upstream> {
  const { config, scrubber } = settings;
  const log = await openSilentLog(scrubber, io);
  const context = { config, state: await stateOf(settings, io), clock: io.clock, log, scrubber };
  return openUpstream(account, context, { isCommand: true, ...more });
}

/** As configured, else as the daemon has stored it, else as the provider says now, if it does. */
export async function findCurrency({ config }: Settings, upstream: Upstream): Promise<string> {
  const known = (await upstream.extras.read())?.site ?? null;
  if (config.provider?.currency || known || !config.extras.site)
    return currencyOf(config, known?.found ?? null);
  const site = await upstream.provider.site?.().catch((err) => {
    if (err instanceof Failure) return null;
    throw err;
  });
  return currencyOf(config, site ?? null);
}

/** How the fleet is, and documents that its processes share; `null`: there is no fleet. Rejects with a Failure. */
export async function lookAtFleet({ config, scrubber }: Settings, io: Io) {
  const { fleet, usage } = config;
  if (!fleet) return null;
  const { openFleet } = await import('../fleet/open.ts');
  const { readHealth } = await import('../fleet/status.ts');
  const { database, shared, close } = await openFleet(fleet, await openSilentLog(scrubber, io));
  try {
    const health = await readHealth(database, fleet.claim_seconds, zoneOf(usage.timezone));
    return { health, replies: await shared.document('replies', repliesCodec).read() };
  } finally {
    await close();
  }
}
