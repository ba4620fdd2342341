// The account that a command is about, and its way to the provider beside the running daemon.

import { currencyOf } from '../accounts/site.ts';
import { openUpstream, type Upstream } from '../accounts/upstream.ts';
import type { Account } from '../config/schema.ts';
import type { Visit, VisitedAccount } from '../fleet/accounts/visit.ts';
import { Failure } from '../foundation/failure.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import type { StateStore } from '../store/stateStore.ts';
import { type Arguments, type Io, wrongUsage } from './command.ts';
import { loadSettings, openSilentLog, type Settings } from './settings.ts';

/** The account of `--account`, else the first. Throws wrong_usage. */
export function pickAccount({ config }: Settings, option: unknown): Account {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const known = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw wrongUsage(`--account: found ${String(option ?? 'nothing').slice(0, 40)}; allowed: ${known}.`);
}

/**
 * The settings of a command about one account. In a fleet that of `--account` comes from the database, and is the only one in
 * them. Rejects with a Failure.
 */
export async function loadWithAccount(given: Arguments, io: Io): Promise<Settings> {
  const settings = await loadSettings(given, io);
  const fleet = await visitFleetOf(settings, io);
  return fleet === null ? settings : withVisited(settings, await fleet.account(given.options.account));
}

/** `null`: there is no fleet. What it opens ends with the process. */
export async function visitFleetOf({ config, scrubber }: Settings, io: Io): Promise<Visit | null> {
  if (!config.fleet) return null;
  const { visitFleet } = await import('../fleet/accounts/visit.ts');
  const { clock, interrupted } = io;
  const own = { clock, log: await openSilentLog(scrubber, io), scrubber, interrupted };
  return visitFleet(config.fleet, process.versions.node, own);
}

export const withVisited = (settings: Settings, visited: VisitedAccount): Settings => ({
  ...settings,
  config: { ...settings.config, accounts: [visited.account] },
  visited,
});

/** Where the accounts of these settings keep what they know. */
export const stateOf = async ({ config, scrubber, visited }: Settings, io: Io): Promise<StateStore> =>
  visited?.state ?? new StateDirectory(config.state_dir, await openSilentLog(scrubber, io));

/** Shares the session with a running daemon. */
export async function openUpstreamBeside(
  settings: Settings,
  account: Account,
  io: Io,
  more: Omit<Parameters<typeof openUpstream>[2], 'isCommand' | 'gate'> = {},
): Promise<Upstream> {
  const { config, scrubber, visited } = settings;
  const log = await openSilentLog(scrubber, io);
  const state = await stateOf(settings, io);
  const { clock = io.clock, gate } = visited ?? {};
  return openUpstream(
    account,
    { config, state, clock, log, scrubber },
    { isCommand: true, ...(gate ? { gate } : {}), ...more },
  );
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
